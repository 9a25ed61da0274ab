//! What kind of games are wanted.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::rooms::RoomKind;
use crate::alfworld::kind::TaskKind;

/// Which part of the data a game belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Games to learn from.
    Train,
    /// Other games in the rooms of the training games.
    ValidSeen,
    /// Games in rooms that no training game has.
    ValidUnseen,
}

impl Split {
    /// Every split.
    pub const ALL: [Split; 3] = [Split::Train, Split::ValidSeen, Split::ValidUnseen];

    /// The name of the split's folder.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::ValidSeen => "valid_seen",
            Split::ValidUnseen => "valid_unseen",
        }
    }
}

/// What games to generate. Equal configurations give equal games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorConfig {
    /// Fixes rooms and games.
    pub seed: u64,
    /// The kinds of room; one that suits none of the tasks is not used.
    pub rooms: Vec<RoomKind>,
    /// The types of task, each with its share.
    pub tasks: Vec<(TaskKind, u32)>,
    /// How many receptacles a room has, within what is usual for its kind where the two overlap.
    pub receptacles: RangeInclusive<usize>,
    /// How many objects that can be picked up, likewise.
    pub objects: RangeInclusive<usize>,
    /// The chance that a receptacle stands at the spot of another, from 0 to 1.
    pub shared_spots: f64,
    /// How many different rooms of each kind the training games have, from 1 to 80.
    pub layouts: u32,
    /// Games whose walkthrough has more steps are not made.
    pub max_walkthrough: usize,
}

/// The shares of the real training games.
const REAL_SHARES: [(TaskKind, u32); 6] = [
    (TaskKind::PickAndPlaceSimple, 849),
    (TaskKind::LookAtObjInLight, 339),
    (TaskKind::PickCleanThenPlaceInRecep, 708),
    (TaskKind::PickHeatThenPlaceInRecep, 498),
    (TaskKind::PickCoolThenPlaceInRecep, 579),
    (TaskKind::PickTwoObjAndPlace, 854),
];

impl GeneratorConfig {
    /// Rooms of 3 to 6 receptacles with few objects, all six types of task alike: for quick runs.
    pub fn small(seed: u64) -> Self {
        GeneratorConfig {
            seed,
            rooms: RoomKind::ALL.to_vec(),
            tasks: TaskKind::ALL.map(|task| (task, 1)).to_vec(),
            receptacles: 3..=6,
            objects: 4..=8,
            shared_spots: 0.05,
            layouts: 25,
            max_walkthrough: 8,
        }
    }

    /// Rooms and tasks as the real games have them.
    pub fn real(seed: u64) -> Self {
        GeneratorConfig {
            receptacles: 6..=54,
            objects: 11..=63,
            tasks: REAL_SHARES.to_vec(),
            shared_spots: 0.1,
            ..Self::small(seed)
        }
    }

    /// Whether games can be made at all.
    ///
    /// # Errors
    /// The first field that is out of bounds, with what to write instead.
    pub fn validate(&self) -> Result<(), GeneratorError> {
        let wrong = |field, expected| Err(GeneratorError::Config { field, expected });
        let shares: u64 = self.tasks.iter().map(|(_, share)| u64::from(*share)).sum();
        if !(1..=80).contains(&self.layouts) {
            wrong("layouts", "a number from 1 to 80")
        } else if !(0.0..=1.0).contains(&self.shared_spots) {
            wrong("shared_spots", "a chance from 0 to 1")
        } else if self.receptacles.is_empty() || *self.receptacles.end() > 60 {
            wrong("receptacles", "a range like 6..=10, up to 60")
        } else if self.objects.is_empty() || *self.objects.end() > 70 {
            wrong("objects", "a range like 6..=12, up to 70")
        } else if shares == 0 {
            wrong("tasks", "at least one type of task with a share above 0")
        } else if self.rooms.is_empty() {
            wrong("rooms", "at least one kind of room")
        } else {
            Ok(())
        }
    }
}

/// Why no game could be generated or written.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// A field of the configuration is out of bounds.
    #[error("generator: {field} must be {expected}")]
    Config {
        /// The field.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// Many games were drawn, and none had a task that fits the configuration.
    #[error(
        "generator: no solvable game for {split} number {index} in {attempts} attempts; allow more \
         receptacles, objects, kinds of room or steps (max_walkthrough)"
    )]
    NoGame {
        /// The split's name.
        split: &'static str,
        /// The game's index.
        index: u64,
        /// How many games were drawn.
        attempts: u32,
    },
    /// A file could not be read or written.
    #[error("generator: {path}: {source}")]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The template is not a game file.
    #[error(
        "generator: {path} is no game file to take the domain and grammar from: {problem}; name a \
         game.tw-pddl of a release"
    )]
    Template {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}
