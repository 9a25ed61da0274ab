//! The papers' form: each turn is a chat of its own that retells the last turns.

use sapo_core::env::{Message, Prompt};

use super::wording::Field;
use super::{ActionList, PastTurn, Scene, Wording};

/// Prompts with a short memory: one user message with the last turns, the observation and the admissible
/// actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The text of the first turn, which has no past.
    pub first: Wording,
    /// The text of every later turn.
    pub later: Wording,
    /// How many turns are retold, at most; with 0 the first turn's text serves all turns.
    pub turns: usize,
    /// How admissible actions are listed.
    pub actions: ActionList,
}

impl History {
    /// The prompt of a scene.
    pub fn prompt(&self, scene: Scene<'_>) -> Prompt {
        Prompt::Fresh(vec![Message::user(self.text(scene))])
    }

    fn text(&self, scene: Scene<'_>) -> String {
        let has_past = !scene.past.is_empty() && self.turns > 0;
        self.fill(if has_past { &self.later } else { &self.first }, scene)
    }

    fn fill(&self, wording: &Wording, scene: Scene<'_>) -> String {
        let Scene { task, past, now } = scene;
        let forgotten = past.len().saturating_sub(self.turns);
        let retold = &past[forgotten..];
        wording.fill(|field| match field {
            Field::Task => task.into(),
            Field::StepCount => past.len().to_string(),
            Field::HistoryLength => retold.len().to_string(),
            Field::History => retell(retold, forgotten + 1),
            Field::CurrentStep => (past.len() + 1).to_string(),
            Field::Observation => now.text.clone(),
            Field::Actions => self.actions.write(&now.admissible),
        })
    }
}

/// The turns in the form of the published prompts, a line each, counted from `first`.
fn retell(turns: &[PastTurn], first: usize) -> String {
    let lines = turns.iter().zip(first..).map(|(PastTurn { observation, action }, step)| {
        format!("[Observation {step}: '{observation}', Action {step}: '{action}']")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use sapo_core::env::Observation;

    use super::*;

    fn form(turns: usize) -> History {
        History {
            first: "see {current_observation}".parse().unwrap(),
            later: "{task_description}|{step_count}|{history_length}|{action_history}|\
                    {current_step}|{current_observation}|{admissible_actions}"
                .parse()
                .unwrap(),
            turns,
            actions: ActionList { separator: ",".into(), ..ActionList::default() },
        }
    }

    fn text(form: &History, past: usize) -> String {
        let past: Vec<PastTurn> = (1..=past)
            .map(|step| PastTurn { observation: format!("o{step}"), action: format!("a{step}") })
            .collect();
        let now = Observation { text: "here".into(), admissible: vec!["x".into(), "y".into()] };
        match form.prompt(Scene { task: "win", past: &past, now: &now }) {
            Prompt::Fresh(messages) => messages[0].content.clone(),
            Prompt::Continue(_) => panic!("a history prompt is a context of its own"),
        }
    }

    #[test]
    fn the_first_turn_has_its_own_text() {
        assert_eq!(text(&form(2), 0), "see here");
    }

    #[test]
    fn the_last_turns_are_retold_with_their_numbers() {
        assert_eq!(text(&form(2), 1), "win|1|1|[Observation 1: 'o1', Action 1: 'a1']|2|here|x,y");
        assert_eq!(
            text(&form(2), 3),
            "win|3|2|[Observation 2: 'o2', Action 2: 'a2']\n\
             [Observation 3: 'o3', Action 3: 'a3']|4|here|x,y"
        );
    }

    #[test]
    fn without_memory_every_turn_is_like_the_first() {
        assert_eq!(text(&form(0), 3), "see here");
    }
}
