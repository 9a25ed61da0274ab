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
        *self = Echo { words: task.words.clone(), said: 0, right: 0 };
        Ok(self.shown())
    }

    fn step(&mut self, action: &str) -> Result<Step, ToyError> {
        let right = action == self.expert().ok_or(ToyError::NotStarted)?;
        self.said += 1;
        self.right += usize::from(right);
        let ended = self.said == self.words.len();
        Ok(Step {
            observation: self.shown(),
            reward: if right { 1.0 } else { 0.0 },
            status: if ended { Status::Terminated } else { Status::Running },
            score: self.right as f32 / self.words.len() as f32,
            success: self.right == self.words.len(),
        })
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
        let mut success = false;
        while let Some(word) = echo.expert().map(str::to_owned) {
            success = echo.step(&word).unwrap().success;
        }
        assert!(success);
        assert_eq!(echo.step("red").unwrap_err(), ToyError::NotStarted);
    }
}
