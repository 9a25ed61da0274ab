//! A player that acts only on what it has observed.
//!
//! It searches receptacles in the order in which they are likely to hold the object, remembers all
//! that it has seen, takes, treats and puts down the object. It learns from every action that it is
//! told of, whoever chose it: others may act in between, and it goes on from there.

mod belief;
mod policy;
mod task;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use self::belief::Belief;
use self::task::Goal;
use self::text::{number_of, type_of};
use super::places::can_contain;

/// In which order the expert tries receptacles that seem equally good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// By type and number: cabinet 1 before cabinet 2. The easiest play to imitate.
    #[default]
    ByNumber,
    /// In a random order, fixed by this seed.
    Shuffled(u64),
}

/// The intro's task sentence has none of the wordings that the games use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the expert does not understand the task {task:?}; it knows the wordings of ALFWorld's own \
     games, such as \"put a clean mug in desk\": give it an intro that ends with such a task"
)]
pub struct UnknownTask {
    /// The sentence after "Your task is to:", or the whole intro where there is none.
    pub task: String,
}

/// A player that knows the intro, what it has observed since, and where things usually are.
#[derive(Clone, Debug)]
pub struct Expert {
    goal: Goal,
    belief: Belief,
    /// The place of each receptacle in the order of equals.
    rank: BTreeMap<String, usize>,
    /// Actions that changed nothing since the belief last changed.
    barren: BTreeSet<String>,
}

impl Expert {
    /// Reads the room and the task from the first observation.
    ///
    /// # Errors
    /// If the task sentence is missing or has an unknown wording.
    pub fn new(intro: &str, ties: Ties) -> Result<Self, UnknownTask> {
        let sentence = task::sentence(intro).unwrap_or(intro);
        let goal = task::read(sentence).ok_or_else(|| UnknownTask { task: sentence.to_owned() })?;
        let belief = Belief::new(intro);
        let rank = rank(&belief, ties);
        Ok(Expert { goal, belief, rank, barren: BTreeSet::new() })
    }

    /// The action that the expert would perform now.
    pub fn act(&self) -> String {
        let wish = self.wish();
        if self.barren.contains(&wish) { self.way_out() } else { wish }
    }

    /// Learns from an action, its own or somebody else's, and the observation that followed it.
    pub fn observe(&mut self, action: &str, observation: &str) {
        let before = self.belief.clone();
        self.belief.update(action, observation);
        if self.belief == before {
            self.barren.insert(action.to_owned());
        } else {
            self.barren.clear();
        }
    }

    /// Learns from the list of admissible actions which receptacles share the current spot.
    ///
    /// Without this the expert finds out by being refused. An empty list teaches nothing.
    pub fn notice_admissible(&mut self, admissible: &[String]) {
        if !admissible.is_empty() {
            self.belief.notice_admissible(admissible);
        }
    }

    /// The receptacles of the room, in alphabetical order.
    pub fn receptacles(&self) -> impl Iterator<Item = &str> {
        self.belief.receptacles.keys().map(String::as_str)
    }

    /// Whether some receptacle of the room takes such an object back.
    ///
    /// A few, such as a paper towel roll, can be taken but never put down: a trap for random play.
    pub fn could_put_down(&self, object: &str) -> bool {
        self.receptacles().any(|place| can_contain(type_of(place), type_of(object)))
    }

    /// The object's type that the task names, in lower case.
    pub fn target(&self) -> &str {
        &self.goal.object
    }
}

fn rank(belief: &Belief, ties: Ties) -> BTreeMap<String, usize> {
    let mut names: Vec<&String> = belief.receptacles.keys().collect();
    match ties {
        Ties::ByNumber => names.sort_by_key(|name| (type_of(name), number_of(name))),
        Ties::Shuffled(seed) => names.shuffle(&mut ChaCha8Rng::seed_from_u64(seed)),
    }
    names.into_iter().enumerate().map(|(place, name)| (name.clone(), place)).collect()
}

#[cfg(test)]
mod tests;
