//! The commands of a game, formatted once and numbered in the order of their text, so that a list of
//! numbers in ascending order is a list of commands in the order that players see.

use super::rules::RuleSet;

/// What a command does, with the indices of objects and receptacles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    Look,
    Inventory,
    Help,
    GoTo { receptacle: u16 },
    Open { receptacle: u16 },
    Close { receptacle: u16 },
    ExamineReceptacle { receptacle: u16 },
    ExamineObject { object: u16 },
    Take { object: u16, receptacle: u16 },
    Put { object: u16, receptacle: u16 },
    Use { object: u16 },
    Clean { object: u16, receptacle: u16 },
    Heat { object: u16, receptacle: u16 },
    Cool { object: u16, receptacle: u16 },
    Slice { object: u16, knife: u16 },
}

/// A command's number: its rank by text among all commands of the game.
pub(crate) type Rank = u16;

/// Every command that may become admissible in a game.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commands {
    text: String,
    /// The end of each command's text, by rank.
    ends: Vec<u32>,
    /// The action of each command, by rank.
    actions: Vec<Action>,
    /// Ranks by action, sorted by action.
    ranks: Vec<(Action, Rank)>,
}

impl Commands {
    /// Numbers the commands. None if there are more than [`Rank`] can number.
    pub(crate) fn new(mut written: Vec<(String, Action)>) -> Option<Self> {
        Rank::try_from(written.len()).ok()?;
        written.sort_unstable();
        let mut commands = Commands::default();
        for (rank, (text, action)) in written.iter().enumerate() {
            commands.text.push_str(text);
            commands.ends.push(u32::try_from(commands.text.len()).ok()?);
            commands.actions.push(*action);
            commands.ranks.push((*action, rank as Rank));
        }
        commands.ranks.sort_unstable();
        Some(commands)
    }

    /// The text of a command.
    pub(crate) fn text(&self, rank: Rank) -> &str {
        let rank = usize::from(rank);
        let start = rank.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[rank] as usize]
    }

    /// What a command does.
    pub(crate) fn action(&self, rank: Rank) -> Action {
        self.actions[usize::from(rank)]
    }

    /// The number of the command for an action. None for an action that was never written.
    pub(crate) fn rank(&self, action: Action) -> Option<Rank> {
        let index = self.ranks.binary_search_by_key(&action, |&(action, _)| action).ok()?;
        Some(self.ranks[index].1)
    }
}

/// Words an action under a rule set, given the names of objects and receptacles.
pub(crate) fn word(
    action: Action,
    rules: RuleSet,
    objects: &[String],
    receptacles: &[String],
) -> String {
    let o = |index: u16| objects[usize::from(index)].as_str();
    let r = |index: u16| receptacles[usize::from(index)].as_str();
    match action {
        Action::Look => "look".to_owned(),
        Action::Inventory => "inventory".to_owned(),
        Action::Help => "help".to_owned(),
        Action::GoTo { receptacle } => ["go to ", r(receptacle)].concat(),
        Action::Open { receptacle } => ["open ", r(receptacle)].concat(),
        Action::Close { receptacle } => ["close ", r(receptacle)].concat(),
        Action::ExamineReceptacle { receptacle } => ["examine ", r(receptacle)].concat(),
        Action::ExamineObject { object } => ["examine ", o(object)].concat(),
        Action::Take { object, receptacle } => {
            ["take ", o(object), " from ", r(receptacle)].concat()
        }
        Action::Put { object, receptacle } => {
            let (verb, to) = rules.put_words();
            [verb, " ", o(object), " ", to, " ", r(receptacle)].concat()
        }
        Action::Use { object } => ["use ", o(object)].concat(),
        Action::Clean { object, receptacle } => {
            ["clean ", o(object), " with ", r(receptacle)].concat()
        }
        Action::Heat { object, receptacle } => {
            ["heat ", o(object), " with ", r(receptacle)].concat()
        }
        Action::Cool { object, receptacle } => {
            ["cool ", o(object), " with ", r(receptacle)].concat()
        }
        Action::Slice { object, knife } => ["slice ", o(object), " with ", o(knife)].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_text() {
        let written = vec![
            ("look".to_owned(), Action::Look),
            ("go to bed 2".to_owned(), Action::GoTo { receptacle: 0 }),
            ("go to bed 10".to_owned(), Action::GoTo { receptacle: 1 }),
        ];
        let commands = Commands::new(written).unwrap();
        assert_eq!(
            (0..3).map(|rank| commands.text(rank)).collect::<Vec<_>>(),
            ["go to bed 10", "go to bed 2", "look"]
        );
        assert_eq!(commands.rank(Action::GoTo { receptacle: 0 }), Some(1));
        assert_eq!(commands.action(1), Action::GoTo { receptacle: 0 });
        assert_eq!(commands.rank(Action::Help), None);
    }
}
