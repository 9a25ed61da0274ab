//! The rule sets that the engine was written for, and how a game's texts are recognised as one of them.
//!
//! A game file carries the whole domain and grammar. They are the same in every game of a release but for
//! one line, the task; so the texts are hashed once and later ones are compared byte for byte.

use std::sync::RwLock;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::AlfWorldError;

/// The version of the world: which release's rules a game follows. Recorded with every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleSet {
    /// Today's release: `move x to y`, `help`, "You arrive at bed 1."
    New,
    /// The older release: `put x in/on y`, no `help`, "You arrive at loc 31."
    Old,
    /// The earliest text found in the older release: as [`RuleSet::Old`], but one receptacle open at a
    /// time, no list on opening, and `use` wherever the object stands.
    Oldest,
}

/// One pair of texts and the rules that it spells.
struct KnownText {
    sha256: &'static str,
    rules: RuleSet,
}

/// sha256 over domain, a zero byte, and grammar without its task line.
const KNOWN: [KnownText; 4] = [
    KnownText {
        sha256: "3c1e1d526670fc7f079bbd0c608798bbe2d0501d09b1d952e19652ae7b723ff5",
        rules: RuleSet::New,
    },
    // The same rules in other words, as games generated for today's Python stack carry them.
    KnownText {
        sha256: "74fd6094500dd749c4e19a59628b60c25047844d6f54910097a28c8265fc2bcf",
        rules: RuleSet::New,
    },
    KnownText {
        sha256: "93675e4830a9bd2e8c1eb562116635acde5837d96b4525f8042f6edd38fb69d0",
        rules: RuleSet::Old,
    },
    KnownText {
        sha256: "ff68d5250efa169a6b29bd0a27eeff37a2e407859c1448d8417f8416aeea6b56",
        rules: RuleSet::Oldest,
    },
];

impl RuleSet {
    /// Every rule set, newest first.
    pub const ALL: [RuleSet; 3] = [RuleSet::New, RuleSet::Old, RuleSet::Oldest];

    /// The name in packs and reports.
    pub fn name(self) -> &'static str {
        match self {
            RuleSet::New => "new",
            RuleSet::Old => "old",
            RuleSet::Oldest => "oldest",
        }
    }

    /// The digest of the texts that define the rules: the version of the environment.
    pub fn sha256(self) -> &'static str {
        KNOWN.iter().find(|known| known.rules == self).map_or("", |known| known.sha256)
    }

    /// Whether `help` is a command.
    pub(crate) fn has_help(self) -> bool {
        self == RuleSet::New
    }

    /// How a put is worded: the verb, and the word before the receptacle.
    pub(crate) fn put_words(self) -> (&'static str, &'static str) {
        match self {
            RuleSet::New => ("move", "to"),
            RuleSet::Old | RuleSet::Oldest => ("put", "in/on"),
        }
    }

    /// Whether arriving names the receptacle (or else the spot).
    pub(crate) fn arrives_at_receptacle(self) -> bool {
        self == RuleSet::New
    }

    /// Whether opening a receptacle also lists what is in it.
    pub(crate) fn opening_shows_contents(self) -> bool {
        self != RuleSet::Oldest
    }

    /// Whether all receptacles must be closed before one can be opened.
    pub(crate) fn opens_one_at_a_time(self) -> bool {
        self == RuleSet::Oldest
    }

    /// Whether `use` reaches what stands at the agent's spot (or else what is in a receptacle there).
    pub(crate) fn use_reaches_the_spot(self) -> bool {
        self == RuleSet::Oldest
    }
}

impl std::fmt::Display for RuleSet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What stands before the task: in the introduction, and in the one line of a grammar that differs from
/// game to game.
pub(crate) const TASK_MARK: &str = "Your task is to:";

/// Remembers the texts recognised so far, so that each is hashed once and not once a game.
#[derive(Default)]
pub(crate) struct RuleBook {
    seen: RwLock<Vec<Recognised>>,
}

struct Recognised {
    domain: String,
    before_task: String,
    after_task: String,
    rules: RuleSet,
}

impl RuleBook {
    /// A book that has seen nothing yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The rules of these texts and the line of the grammar that holds the task.
    pub(crate) fn recognise<'a>(
        &self,
        file: &str,
        domain: &str,
        grammar: &'a str,
    ) -> Result<(RuleSet, &'a str), AlfWorldError> {
        let Some((before, task, after)) = split_at_task(grammar) else {
            let message = format!("the grammar has no line with {TASK_MARK:?}");
            return Err(AlfWorldError::Foreign { file: file.to_owned(), message });
        };
        if let Some(rules) = self.remembered(domain, before, after) {
            return Ok((rules, task));
        }
        let hash = digest(domain, before, after);
        let Some(known) = KNOWN.iter().find(|known| known.sha256 == hash) else {
            return Err(AlfWorldError::UnknownRules {
                file: file.to_owned(),
                hash,
                known: known_rules(),
            });
        };
        self.remember(domain, before, after, known.rules);
        Ok((known.rules, task))
    }

    fn remembered(&self, domain: &str, before: &str, after: &str) -> Option<RuleSet> {
        let seen = self.seen.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let same = |text: &&Recognised| {
            text.after_task == after && text.before_task == before && text.domain == domain
        };
        seen.iter().find(same).map(|text| text.rules)
    }

    fn remember(&self, domain: &str, before: &str, after: &str, rules: RuleSet) {
        let mut seen = self.seen.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if seen.len() < KNOWN.len() {
            seen.push(Recognised {
                domain: domain.to_owned(),
                before_task: before.to_owned(),
                after_task: after.to_owned(),
                rules,
            });
        }
    }
}

/// The grammar before its task line, the task line, and the rest.
fn split_at_task(grammar: &str) -> Option<(&str, &str, &str)> {
    let mark = grammar.find(TASK_MARK)?;
    let start = grammar[..mark].rfind('\n').map_or(0, |newline| newline + 1);
    let end = grammar[mark..].find('\n').map_or(grammar.len(), |length| mark + length + 1);
    Some((&grammar[..start], &grammar[start..end], &grammar[end..]))
}

fn digest(domain: &str, before: &str, after: &str) -> String {
    let mut hasher = Sha256::new();
    for part in [domain, "\0", before, after] {
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn known_rules() -> String {
    let entry = |rules: RuleSet| format!("{} ({}…)", rules.name(), &rules.sha256()[..8]);
    RuleSet::ALL.map(entry).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grammar_splits_around_its_task_line() {
        let grammar = "a\n  \"rhs\": \"Your task is to: x.\"\nb\n";
        let (before, task, after) = split_at_task(grammar).unwrap();
        assert_eq!((before, after), ("a\n", "b\n"));
        assert_eq!(task.trim(), "\"rhs\": \"Your task is to: x.\"");
        assert_eq!(split_at_task("nothing"), None);
    }

    #[test]
    fn foreign_rules_are_refused_with_the_file_and_the_rule_sets_known() {
        let error = RuleBook::new().recognise("a/game.tw-pddl", "(domain)", "Your task is to: x.");
        let message = error.unwrap_err().to_string();
        for part in ["a/game.tw-pddl", "new (3c1e1d52…)", "old (93675e48…)", "oldest (ff68d525…)"]
        {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn every_rule_set_has_a_digest() {
        assert!(RuleSet::ALL.iter().all(|rules| rules.sha256().len() == 64));
    }
}
