//! The append-only form: one chat an episode, one message an observation.

use sapo_core::env::{Message, Prompt};

use super::{ActionList, Scene};

/// Prompts that only ever add to the chat, so that the model's cache is kept between turns.
///
/// Each message is the next observation as the world words it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// Whether and how every message lists the admissible actions, after a line break.
    pub actions: Option<ActionList>,
}

impl Conversation {
    /// The prompt of a scene.
    pub fn prompt(&self, scene: Scene<'_>) -> Prompt {
        let messages = vec![Message::user(self.message(scene))];
        if scene.past.is_empty() { Prompt::Fresh(messages) } else { Prompt::Continue(messages) }
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
    fn the_first_message_opens_a_stream_and_later_ones_continue_it() {
        let form = Conversation::default();
        let message = vec![Message::user("A door.")];
        assert_eq!(form.prompt(scene(&[], &now())), Prompt::Fresh(message.clone()));
        let past = [PastTurn { observation: "A wall.".into(), action: "wait".into() }];
        assert_eq!(form.prompt(scene(&past, &now())), Prompt::Continue(message));
    }

    #[test]
    fn admissible_actions_are_listed_where_asked_for() {
        let list = ActionList { hidden: vec!["help".into()], ..ActionList::default() };
        let form = Conversation { actions: Some(list) };
        let prompt = form.prompt(scene(&[], &now()));
        assert_eq!(prompt, Prompt::Fresh(vec![Message::user("A door.\nopen")]));
        let nothing = Observation { text: "The end.".into(), admissible: vec![] };
        let prompt = form.prompt(scene(&[], &nothing));
        assert_eq!(prompt, Prompt::Fresh(vec![Message::user("The end.")]));
    }
}
