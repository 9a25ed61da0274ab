//! Which part of a reply is the action.

/// How actions are read out of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    /// The papers' way, for models that reason: the text between the first `<action>` and the first
    /// `</action>`, in lower case.
    ///
    /// A reply without both tags, as one that was cut short, gives its last `tail_chars` characters and
    /// is invalid. Also invalid is a reply without `<think>` and `</think>` or with a Chinese character.
    /// Whether the world knows the action does not matter.
    Tagged {
        /// How much of a reply without an action block is taken for the action, in characters.
        tail_chars: usize,
    },
    /// The way for small models: the whole reply is the action. It is valid if the world admits it, or,
    /// in a world that lists no actions, if it is not empty.
    Plain,
}

/// What was read out of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projected {
    /// The action.
    pub action: String,
    /// Whether the reply had the form that was asked for.
    pub valid: bool,
}

impl Projection {
    /// Reads the action of `reply`, where the world now admits the actions `admissible`.
    pub fn read(self, reply: &str, admissible: &[String]) -> Projected {
        match self {
            Projection::Tagged { tail_chars } => tagged(reply, tail_chars),
            Projection::Plain => plain(reply, admissible),
        }
    }
}

fn tagged(reply: &str, tail_chars: usize) -> Projected {
    const OPEN: &str = "<action>";
    const CLOSE: &str = "</action>";
    let lower = reply.to_lowercase();
    let (Some(open), Some(close)) = (lower.find(OPEN), lower.find(CLOSE)) else {
        return Projected { action: tail(&lower, tail_chars), valid: false };
    };
    // A block that closes before it opens is empty, as it is in the published code.
    let action = lower.get(open + OPEN.len()..close).unwrap_or_default().trim();
    let reasoned = reply.contains("<think>") && reply.contains("</think>");
    Projected { action: action.into(), valid: reasoned && !reply.chars().any(is_chinese) }
}

fn plain(reply: &str, admissible: &[String]) -> Projected {
    let action = reply.trim().to_owned();
    let valid = match admissible {
        [] => !action.is_empty(),
        listed => listed.contains(&action),
    };
    Projected { action, valid }
}

fn tail(text: &str, chars: usize) -> String {
    let skipped = text.chars().count().saturating_sub(chars);
    text.chars().skip(skipped).collect()
}

fn is_chinese(character: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn papers(reply: &str) -> (String, bool) {
        let Projected { action, valid } = Projection::Tagged { tail_chars: 30 }.read(reply, &[]);
        (action, valid)
    }

    fn plain(reply: &str, admissible: &[&str]) -> (String, bool) {
        let admissible: Vec<String> = admissible.iter().map(|a| a.to_string()).collect();
        let Projected { action, valid } = Projection::Plain.read(reply, &admissible);
        (action, valid)
    }

    #[test]
    fn the_action_is_between_the_first_tags_in_lower_case() {
        let reply = "<think>Hm.</think> <action> Go to Fridge 1 </action><action>look</action>";
        assert_eq!(papers(reply), ("go to fridge 1".into(), true));
        assert_eq!(papers("<think></think><ACTION>look</ACTION>"), ("look".into(), true));
    }

    #[test]
    fn a_well_formed_impossible_action_is_valid() {
        assert_eq!(papers("<think></think><action>fly</action>"), ("fly".into(), true));
    }

    #[test]
    fn a_reply_without_a_block_gives_its_end_and_is_invalid() {
        let reply = "<think>x</think> I would like to go to the Fridge 1";
        assert_eq!(papers(reply), ("would like to go to the fridge 1"[2..].into(), false));
        assert_eq!(papers("look"), ("look".into(), false));
        assert_eq!(papers(""), ("".into(), false));
    }

    #[test]
    fn a_reply_cut_before_its_action_ends_is_invalid() {
        let (action, valid) = papers("<think>x</think><action>go to fridge");
        assert!(!valid);
        assert_eq!(action, "ink>x</think><action>go to fridge"[3..]);
    }

    #[test]
    fn thoughts_are_required_in_lower_case_tags() {
        assert_eq!(papers("<action>look</action>"), ("look".into(), false));
        assert_eq!(papers("<think>x<action>look</action>"), ("look".into(), false));
        assert_eq!(papers("<THINK>x</THINK><action>look</action>"), ("look".into(), false));
        assert_eq!(papers("<action>look</action></think><think>"), ("look".into(), true));
    }

    #[test]
    fn a_chinese_character_makes_a_reply_invalid() {
        assert_eq!(papers("<think>看</think><action>look</action>"), ("look".into(), false));
        assert_eq!(papers("<think>é、ひ</think><action>look</action>"), ("look".into(), true));
    }

    #[test]
    fn tags_in_the_wrong_order_give_an_empty_action() {
        assert_eq!(papers("<think></think></action><action>look"), ("".into(), true));
    }

    #[test]
    fn a_plain_reply_is_the_action_and_is_valid_if_admissible() {
        assert_eq!(plain(" look\n", &["look", "wait"]), ("look".into(), true));
        assert_eq!(plain("Look", &["look"]), ("Look".into(), false));
        assert_eq!(plain("sing", &[]), ("sing".into(), true));
        assert_eq!(plain(" ", &[]), ("".into(), false));
    }

    proptest! {
        #[test]
        fn no_reply_breaks_the_reading(reply in ".{0,40}(<action>|</action>|İ|<think>){0,4}.{0,40}") {
            let projected = Projection::Tagged { tail_chars: 30 }.read(&reply, &[]);
            prop_assert!(projected.valid || projected.action.chars().count() <= 82);
        }
    }
}
