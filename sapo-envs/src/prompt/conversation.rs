//! The append-only form: one chat an episode, one message an observation.

use sapo_core::env::{Message, Prompt};

use super::{ActionList, Scene};

/// Prompts that only ever add to the chat, so that the model's cache is kept between turns.
///
/// The first message is the world's first observation, after the instructions if there are any; each
/// later message is the next observation as the world words it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// What the agent is told before the first observation.
    pub instructions: Option<String>,
    /// Whether and how every message lists the admissible actions, after a line break.
    pub actions: Option<ActionList>,
}

impl Conversation {
    /// The prompt of a scene.
    pub fn prompt(&self, scene: Scene<'_>) -> Prompt {
        let seen = self.message(scene);
        match (&self.instructions, scene.past.is_empty()) {
            (_, false) => Prompt::Continue(vec![Message::user(seen)]),
            (None, true) => Prompt::Fresh(vec![Message::user(seen)]),
            (Some(instructions), true) => {
                Prompt::Fresh(vec![Message::user(format!("{instructions}\n\n{seen}"))])
            }
        }
    }

    fn message(&self, Scene { now, .. }: Scene<'_>) -> String {
        match &self.actions {
            Some(list) if !now.admissible.is_empty() => {
                format!("{}\n{}", now.text, list.write(&now.admissible))
            }
            _ => now.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use sapo_core::env::Observation;

    use super::*;
    use crate::prompt::PastTurn;

    fn now() -> Observation {
        Observation { text: "A door.".into(), admissible: vec!["open".into(), "help".into()] }
    }

    fn scene<'a>(past: &'a [PastTurn], now: &'a Observation) -> Scene<'a> {
        Scene { task: "get out", past, now }
    }

    #[test]
    fn the_first_message_holds_the_instructions_and_opens_a_stream() {
        let form = Conversation { instructions: Some("Act.".into()), actions: None };
        let prompt = form.prompt(scene(&[], &now()));
        assert_eq!(prompt, Prompt::Fresh(vec![Message::user("Act.\n\nA door.")]));
    }

    #[test]
    fn later_messages_are_the_observation_alone() {
        let form = Conversation { instructions: Some("Act.".into()), actions: None };
        let past = [PastTurn { observation: "A wall.".into(), action: "wait".into() }];
        let prompt = form.prompt(scene(&past, &now()));
        assert_eq!(prompt, Prompt::Continue(vec![Message::user("A door.")]));
    }

    #[test]
    fn admissible_actions_are_listed_where_asked_for() {
        let list = ActionList { hidden: vec!["help".into()], ..ActionList::default() };
        let form = Conversation { instructions: None, actions: Some(list) };
        let prompt = form.prompt(scene(&[], &now()));
        assert_eq!(prompt, Prompt::Fresh(vec![Message::user("A door.\nopen")]));
        let nothing = Observation { text: "The end.".into(), admissible: vec![] };
        let prompt = form.prompt(scene(&[], &nothing));
        assert_eq!(prompt, Prompt::Fresh(vec![Message::user("The end.")]));
    }
}
