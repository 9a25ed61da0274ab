//! Reads what a task sentence asks for.

use crate::alfworld::rules::TASK_MARK;

/// What the agent must bring about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Goal {
    /// The object's type in lower case.
    pub(super) object: String,
    /// The type of the receptacle that must hold it; for [`Kind::Look`], of the lamp.
    pub(super) receptacle: String,
    pub(super) kind: Kind,
}

/// The six task types; cleaning, heating and cooling differ only in the treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Place,
    Treat(Treatment),
    Two,
    Look,
}

/// What may be done to an object before it is put down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Treatment {
    Clean,
    Heat,
    Cool,
}

impl Treatment {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Treatment::Clean => "clean",
            Treatment::Heat => "heat",
            Treatment::Cool => "cool",
        }
    }

    /// The receptacle types that do it. A few sinks are parts of a bathtub and are named after it.
    pub(super) fn tools(self) -> &'static [&'static str] {
        match self {
            Treatment::Clean => &["sinkbasin", "bathtubbasin"],
            Treatment::Heat => &["microwave"],
            Treatment::Cool => &["fridge"],
        }
    }

    pub(super) fn from_verb(verb: &str) -> Option<Self> {
        [Treatment::Clean, Treatment::Heat, Treatment::Cool].into_iter().find(|t| t.verb() == verb)
    }

    fn from_adjective(adjective: &str) -> Option<Self> {
        match adjective {
            "clean" => Some(Treatment::Clean),
            "hot" => Some(Treatment::Heat),
            "cool" => Some(Treatment::Cool),
            _ => None,
        }
    }
}

/// The task sentence within an intro, without its full stop.
pub(super) fn sentence(intro: &str) -> Option<&str> {
    let (_, rest) = intro.split_once(TASK_MARK)?;
    let line = rest.lines().next()?;
    Some(line.trim().trim_end_matches('.'))
}

/// Reads one of the wordings that the games use.
pub(super) fn read(sentence: &str) -> Option<Goal> {
    let words: Vec<&str> = sentence.split_ascii_whitespace().collect();
    let (object, receptacle, kind) = match words[..] {
        ["look", "at", o, "under", "the", lamp] => (o, lamp, Kind::Look),
        ["examine", "the", o, "with", "the", lamp] => (o, lamp, Kind::Look),
        ["put", "two", o, "in" | "on", r] => (o, r, Kind::Two),
        ["find", "two", o, "and", "put", "them", "in" | "on", r] => (o, r, Kind::Two),
        [verb, "a" | "some", o, "and", "put", "it", "in" | "on", r] => {
            (o, r, Kind::Treat(Treatment::from_verb(verb)?))
        }
        ["put", "a" | "some", how, o, "in" | "on", r] => {
            (o, r, Kind::Treat(Treatment::from_adjective(how)?))
        }
        ["put", "a" | "some", o, "in" | "on", r] => (o, r, Kind::Place),
        _ => return None,
    };
    Some(Goal { object: object.to_owned(), receptacle: receptacle.to_owned(), kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(sentence: &str) -> Option<(String, String, Kind)> {
        read(sentence).map(|goal| (goal.object, goal.receptacle, goal.kind))
    }

    fn expected(object: &str, receptacle: &str, kind: Kind) -> Option<(String, String, Kind)> {
        Some((object.to_owned(), receptacle.to_owned(), kind))
    }

    #[test]
    fn all_fourteen_wordings_are_understood() {
        use Treatment::{Clean, Cool, Heat};
        let place = expected("mug", "desk", Kind::Place);
        assert_eq!(goal("put a mug in desk"), place);
        assert_eq!(goal("put some mug on desk"), place);
        for (adjective, verb, treatment) in
            [("clean", "clean", Clean), ("hot", "heat", Heat), ("cool", "cool", Cool)]
        {
            let treated = expected("mug", "desk", Kind::Treat(treatment));
            assert_eq!(goal(&format!("put a {adjective} mug in desk")), treated);
            assert_eq!(goal(&format!("{verb} some mug and put it in desk")), treated);
        }
        let two = expected("mug", "desk", Kind::Two);
        assert_eq!(goal("put two mug in desk"), two);
        assert_eq!(goal("find two mug and put them in desk"), two);
        let look = expected("mug", "desklamp", Kind::Look);
        assert_eq!(goal("look at mug under the desklamp"), look);
        assert_eq!(goal("examine the mug with the desklamp"), look);
    }

    #[test]
    fn other_sentences_are_refused() {
        for odd in ["", "win", "put a red mug in desk", "paint some mug and put it in desk"] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_sentence_is_cut_out_of_the_intro() {
        let intro = "You are in a room.\n\nYour task is to: put a mug in desk.\n";
        assert_eq!(sentence(intro), Some("put a mug in desk"));
        assert_eq!(sentence("You are in a room."), None);
    }
}
