//! What can be wrong with a game, a folder of games or a recording.

use std::path::PathBuf;

/// Everything that the ALFWorld module refuses.
#[derive(Debug, thiserror::Error)]
pub enum AlfWorldError {
    /// A file or folder could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is nothing at the path.
    #[error(
        "no such file or folder: {path}; name a folder with {GAME_FILE} files below it or a .jsonl or .jsonl.zst pack"
    )]
    Missing {
        /// The path that was given.
        path: PathBuf,
    },
    /// The folder or pack holds no games.
    #[error(
        "no games in {path}; name a folder with {GAME_FILE} files below it or a .jsonl or .jsonl.zst pack"
    )]
    NoGames {
        /// The folder or pack.
        path: PathBuf,
    },
    /// The data has games, but none in this split.
    #[error("no games of split {split:?} in {path}; splits found there: {found}")]
    EmptySplit {
        /// The folder or pack.
        path: PathBuf,
        /// The split asked for.
        split: String,
        /// The splits that hold games, with their counts.
        found: String,
    },
    /// The data has no game of that name.
    #[error("no game {game:?} in {path}; {advice}")]
    UnknownGame {
        /// The folder or pack.
        path: PathBuf,
        /// The name asked for.
        game: String,
        /// What to try.
        advice: String,
    },
    /// A file is not what its name promises.
    #[error("{file}: not an ALFWorld game: {message}")]
    Foreign {
        /// The file, with a line number for packs.
        file: String,
        /// What is wrong with it.
        message: String,
    },
    /// The domain and grammar of a game are none that the engine was written for.
    #[error(
        "{file}: unknown rules (sha256 {hash} of domain and grammar); this engine knows the rule sets {known}; \
         download the json_2.1.1 release again, or generate the game with its text"
    )]
    UnknownRules {
        /// The file.
        file: String,
        /// The digest of its rules.
        hash: String,
        /// The rule sets known, with their digests.
        known: String,
    },
    /// The problem text of a game cannot be understood.
    #[error("{file}: problem text, line {line}, column {column}: {message}")]
    Problem {
        /// The game's name.
        file: String,
        /// The line in the problem text, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A recording cannot be understood.
    #[error("{file}, line {line}: not a recorded state: {message}")]
    Transcript {
        /// The recording.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// `step` came before any `reset`.
    #[error("step was called before the first reset; reset the environment with a game first")]
    NotStarted,
}

/// The file name of a game in the releases.
pub const GAME_FILE: &str = "game.tw-pddl";
