//! Words to be said after the world: the smallest world in which anything can be learned.

use sapo_core::env::{Environment, Observation, Status, Step};

use super::ToyError;

/// The words to be said, one a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EchoTask {
    /// At least one word.
    pub words: Vec<String>,
}

/// Each turn shows a word; the right action is that word.
///
/// The reward is 1 for each word that was said right. The episode ends after the last word, and is solved
/// if all were right.
#[derive(Clone, Debug, Default)]
pub struct Echo {
    words: Vec<String>,
    said: usize,
    right: usize,
    last: Option<Step>,
}

impl Echo {
    /// A world without a task yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The word to be said now; nothing before a reset or after the end.
    pub fn expert(&self) -> Option<&str> {
        self.words.get(self.said).map(String::as_str)
    }

    fn shown(&self) -> Observation {
        let text = self.expert().map_or_else(|| "done".into(), |word| format!("say {word}"));
        Observation { text, admissible: Vec::new() }
    }
}

impl Environment for Echo {
    type Task = EchoTask;
    type Error = ToyError;

    fn reset(&mut self, task: &EchoTask) -> Result<Observation, ToyError> {
        if task.words.is_empty() {
            return Err(ToyError::NoWords);
        }
        *self = Echo { words: task.words.clone(), ..Self::default() };
        Ok(self.shown())
    }

    fn step(&mut self, action: &str) -> Result<Step, ToyError> {
        let Some(word) = self.expert() else {
            return self.last.clone().ok_or(ToyError::NotStarted);
        };
        let right = action == word;
        self.said += 1;
        self.right += usize::from(right);
        let ended = self.said == self.words.len();
        let step = Step {
            observation: self.shown(),
            reward: if right { 1.0 } else { 0.0 },
            status: if ended { Status::Terminated } else { Status::Running },
            score: self.right as f32 / self.words.len() as f32,
            success: self.right == self.words.len(),
        };
        self.last = Some(step.clone());
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> EchoTask {
        EchoTask { words: vec!["red".into(), "blue".into()] }
    }

    #[test]
    fn every_right_word_counts() {
        let mut echo = Echo::new();
        assert_eq!(echo.reset(&task()).unwrap().text, "say red");
        let first = echo.step("blue").unwrap();
        assert_eq!((first.reward, first.status), (0.0, Status::Running));
        let last = echo.step("blue").unwrap();
        assert_eq!((last.reward, last.score, last.success), (1.0, 0.5, false));
        assert_eq!(last.status, Status::Terminated);
    }

    #[test]
    fn the_expert_solves_it() {
        let mut echo = Echo::new();
        echo.reset(&task()).unwrap();
        let mut last = None;
        while let Some(word) = echo.expert().map(str::to_owned) {
            last = Some(echo.step(&word).unwrap());
        }
        assert!(last.as_ref().is_some_and(|step| step.success));
        assert_eq!(echo.step("red").ok(), last);
        assert_eq!(Echo::new().step("red").unwrap_err(), ToyError::NotStarted);
    }
}
