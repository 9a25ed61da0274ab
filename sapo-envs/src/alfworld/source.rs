//! The two forms in which games come: a release's `game.tw-pddl`, and a line of a pack.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::build::{Heading, build_game};
use super::error::AlfWorldError;
use super::game::Game;
use super::rules::{RuleBook, RuleSet, TASK_MARK};

/// A release's game file.
#[derive(Deserialize)]
struct GameFile {
    pddl_domain: String,
    grammar: String,
    pddl_problem: String,
    #[serde(default)]
    walkthrough: Option<Vec<String>>,
}

/// A game as one line of a pack: without the texts of domain and grammar, which its rule set names.
///
/// A pack is a JSON-lines file, plain or zstd-compressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackLine {
    /// A name like a path, as in `train/pick_and_place_simple-Mug-None-Desk-1/trial_1`: the folder before
    /// the task is the split, the task's folder tells its type.
    pub name: String,
    /// The rule set that the game follows.
    pub rules: RuleSet,
    /// The task in words, as [`Game::task`] returns it.
    pub task: String,
    /// The PDDL text of the problem.
    pub problem: String,
    /// Commands that win; may be empty.
    #[serde(default)]
    pub walkthrough: Vec<String>,
}

impl PackLine {
    /// Builds the game.
    ///
    /// # Errors
    /// If the text of the problem cannot be understood.
    pub fn to_game(&self) -> Result<Game, AlfWorldError> {
        let heading = Heading {
            name: self.name.clone(),
            rules: self.rules,
            task: task_words(&self.task).to_owned(),
            walkthrough: self.walkthrough.clone(),
        };
        build(heading, &self.problem, &self.name)
    }
}

/// Where one game is read from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GameSource<'a> {
    /// The text of a release's game file.
    File {
        /// What messages call the file.
        file: &'a str,
        /// The game's name: its path below the data's folder.
        name: &'a str,
        /// The file's text.
        text: &'a str,
    },
    /// One line of a pack.
    Pack {
        /// What messages call the line.
        file: &'a str,
        /// The line.
        text: &'a str,
    },
}

impl GameSource<'_> {
    /// Reads the game. The book remembers the rules' texts from one game to the next.
    pub(crate) fn load(&self, book: &RuleBook) -> Result<Game, AlfWorldError> {
        match *self {
            GameSource::File { file, name, text } => load_file(file, name, text, book),
            GameSource::Pack { file, text } => {
                let line: PackLine = parse(file, text)?;
                let task = task_words(&line.task).to_owned();
                let PackLine { name, rules, problem, walkthrough, .. } = line;
                build(Heading { name, rules, task, walkthrough }, &problem, file)
            }
        }
    }
}

/// Reads a release's game file from disk.
pub(crate) fn load_game(path: &Path, name: &str, book: &RuleBook) -> Result<Game, AlfWorldError> {
    let read = |source| AlfWorldError::Read { path: path.to_owned(), source };
    let bytes = std::fs::read(path).map_err(read)?;
    let file = path.display().to_string();
    let text = std::str::from_utf8(&bytes).map_err(|error| AlfWorldError::Foreign {
        file: file.clone(),
        message: error.to_string(),
    })?;
    GameSource::File { file: &file, name, text }.load(book)
}

fn load_file(file: &str, name: &str, text: &str, book: &RuleBook) -> Result<Game, AlfWorldError> {
    let game: GameFile = parse(file, text)?;
    let (rules, task_line) = book.recognise(file, &game.pddl_domain, &game.grammar)?;
    let task = task_of_line(task_line).ok_or_else(|| AlfWorldError::Foreign {
        file: file.to_owned(),
        message: format!("the task line of the grammar is not \"rhs\": \"{TASK_MARK} …\""),
    })?;
    let walkthrough = game.walkthrough.unwrap_or_default();
    let heading = Heading { name: name.to_owned(), rules, task, walkthrough };
    build(heading, &game.pddl_problem, file)
}

fn build(heading: Heading, problem: &str, file: &str) -> Result<Game, AlfWorldError> {
    build_game(heading, problem).map_err(|fault| {
        let (line, column) = fault.line_and_column(problem);
        AlfWorldError::Problem { file: file.to_owned(), line, column, message: fault.message }
    })
}

fn parse<'t, T: Deserialize<'t>>(file: &str, text: &'t str) -> Result<T, AlfWorldError> {
    serde_json::from_str(text).map_err(|error| AlfWorldError::Foreign {
        file: file.to_owned(),
        message: error.to_string(),
    })
}

/// The task's words from the grammar's line `"rhs": "Your task is to: …"`.
fn task_of_line(line: &str) -> Option<String> {
    let value = line.trim().strip_prefix("\"rhs\":")?.trim().trim_end_matches(',');
    let sentence: String = serde_json::from_str(value).ok()?;
    sentence.strip_prefix(TASK_MARK)?;
    Some(task_words(&sentence).to_owned())
}

/// The task without its opening words.
fn task_words(sentence: &str) -> &str {
    let words = sentence.strip_prefix(TASK_MARK).unwrap_or(sentence);
    words.strip_prefix(' ').unwrap_or(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_is_read_from_its_line() {
        let line = "    \"rhs\": \"Your task is to: put a \\\"mug\\\" in desk.\"\n";
        assert_eq!(task_of_line(line).as_deref(), Some("put a \"mug\" in desk."));
        assert_eq!(task_of_line("Your task is to: x"), None);
    }

    #[test]
    fn a_foreign_file_is_named() {
        let book = RuleBook::new();
        for text in ["", "{}", "[1]", "{\"grammar\": 1}"] {
            let source = GameSource::File { file: "x/game.tw-pddl", name: "x", text };
            let message = source.load(&book).unwrap_err().to_string();
            assert!(message.starts_with("x/game.tw-pddl: not an ALFWorld game"), "{message}");
        }
    }

    #[test]
    fn an_unknown_key_of_a_pack_line_is_refused() {
        let text = r#"{"name":"a","rules":"new","task":"t","problem":"","extra":1}"#;
        let source = GameSource::Pack { file: "p.jsonl, line 1", text };
        let message = source.load(&RuleBook::new()).unwrap_err().to_string();
        assert!(message.contains("unknown field `extra`"), "{message}");
    }
}
