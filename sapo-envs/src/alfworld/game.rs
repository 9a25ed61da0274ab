//! A game: everything about it that playing does not change, shared by all who play it.

use super::bits::{BitSet, BitTable};
use super::commands::{Commands, Rank};
use super::kind::TaskKind;
use super::problem::Predicate;
use super::rules::RuleSet;
use super::state::{Property, State};

/// What can be done with an object, as a row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ability {
    Pickupable,
    Cleanable,
    Heatable,
    Coolable,
    Sliceable,
    Toggleable,
    /// Things can be in it: it is examined as a vessel.
    Vessel,
    /// It slices.
    Knife,
}

impl Ability {
    pub(crate) const COUNT: usize = 8;
}

/// What a receptacle does to an object in the agent's hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appliance {
    Sink,
    Microwave,
    Fridge,
}

/// A receptacle, at its one place.
#[derive(Clone, Debug)]
pub(crate) struct Receptacle {
    pub(crate) place: usize,
    pub(crate) openable: bool,
    pub(crate) appliance: Option<Appliance>,
    pub(crate) go_to: Rank,
    pub(crate) examine: Rank,
}

/// A spot that the agent can stand at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// The receptacles there, in the order of their raw ids.
    pub(crate) receptacles: Vec<usize>,
}

/// A clause of the goal, over indices.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Placed { objects: BitSet, receptacles: Vec<usize>, needs: Vec<Property>, copies: u32 },
    Lit { lamps: BitSet },
    Holding { objects: BitSet },
    AllClosed,
}

/// An immutable game, built by a [dataset](super::Dataset) or a [pack line](super::PackLine),
/// and shared behind an `Arc`.
///
/// Objects and receptacles are numbered in the order of their raw ids, which is also the order in which
/// messages list them.
#[derive(Clone, Debug)]
pub struct Game {
    pub(crate) name: String,
    pub(crate) rules: RuleSet,
    pub(crate) task: String,
    pub(crate) kind: Option<TaskKind>,
    pub(crate) walkthrough: Vec<String>,
    pub(crate) object_names: Vec<String>,
    pub(crate) receptacle_names: Vec<String>,
    pub(crate) receptacles: Vec<Receptacle>,
    pub(crate) places: Vec<Place>,
    pub(crate) abilities: BitTable,
    /// Receptacle by object: whether it may be put there.
    pub(crate) fits: BitTable,
    /// Vessel by object: what is in it, for ever.
    pub(crate) vessels: BitTable,
    pub(crate) commands: Commands,
    /// The commands that are always admissible.
    pub(crate) always: Vec<Rank>,
    pub(crate) start: State,
    pub(crate) goal: Vec<Target>,
}

impl Game {
    /// The name: the path below the data's folder, or what a pack calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rule set that the game follows.
    pub fn rules(&self) -> RuleSet {
        self.rules
    }

    /// The task in words, as in "clean some lettuce and put it in countertop."
    pub fn task(&self) -> &str {
        &self.task
    }

    /// The task's type, where the name tells it.
    pub fn kind(&self) -> Option<TaskKind> {
        self.kind
    }

    /// A sequence of commands that solves the task, where one was shipped; empty otherwise.
    pub fn walkthrough(&self) -> &[String] {
        &self.walkthrough
    }

    /// The names of the objects, in the order of their raw ids.
    pub fn object_names(&self) -> impl Iterator<Item = &str> {
        self.object_names.iter().map(String::as_str)
    }

    /// The names of the receptacles, in the order of their raw ids.
    pub fn receptacle_names(&self) -> impl Iterator<Item = &str> {
        self.receptacle_names.iter().map(String::as_str)
    }

    pub(crate) fn can(&self, ability: Ability, object: usize) -> bool {
        self.abilities.contains(ability as usize, object)
    }

    /// Whether the receptacle's contents can be reached.
    pub(crate) fn is_accessible(&self, state: &State, receptacle: usize) -> bool {
        !self.receptacles[receptacle].openable || state.opened.contains(receptacle)
    }

    /// The receptacles at the agent's spot.
    pub(crate) fn here(&self, state: &State) -> &[usize] {
        &self.places[state.place].receptacles
    }

    /// Whether the goal holds now.
    pub(crate) fn is_won(&self, state: &State) -> bool {
        self.goal.iter().all(|target| self.holds(target, state))
    }

    fn holds(&self, target: &Target, state: &State) -> bool {
        match target {
            Target::Placed { objects, receptacles, needs, copies } => {
                let enough = |&receptacle: &usize| {
                    count_inside(state, receptacle, objects, needs) >= *copies
                };
                receptacles.iter().any(enough)
            }
            Target::Lit { lamps } => {
                let lit = [Property::Toggled];
                let shines = |&receptacle: &usize| count_inside(state, receptacle, lamps, &lit) > 0;
                self.here(state).iter().any(shines)
            }
            Target::Holding { objects } => state.held.is_some_and(|held| objects.contains(held)),
            Target::AllClosed => state.opened.is_empty(),
        }
    }
}

/// How many of the objects are in the receptacle and have all the properties.
fn count_inside(state: &State, receptacle: usize, objects: &BitSet, needs: &[Property]) -> u32 {
    let inside = state.inside.row(receptacle);
    let words = inside.iter().zip(objects.words()).enumerate();
    let count = |(index, (inside, objects)): (usize, (&u64, &u64))| {
        let all = inside & objects;
        let having = |all, &need: &Property| all & state.properties.row(need as usize)[index];
        needs.iter().fold(all, having).count_ones()
    };
    words.map(count).sum()
}

/// The ability that a fact or a goal speaks of.
pub(crate) fn ability(predicate: Predicate) -> Option<Ability> {
    Some(match predicate {
        Predicate::Pickupable => Ability::Pickupable,
        Predicate::Cleanable => Ability::Cleanable,
        Predicate::Heatable => Ability::Heatable,
        Predicate::Coolable => Ability::Coolable,
        Predicate::Sliceable => Ability::Sliceable,
        Predicate::Toggleable => Ability::Toggleable,
        Predicate::ReceptacleObject => Ability::Vessel,
        _ => return None,
    })
}

/// The property that a fact or a goal speaks of.
pub(crate) fn property(predicate: Predicate) -> Option<Property> {
    Some(match predicate {
        Predicate::Clean => Property::Clean,
        Predicate::Hot => Property::Hot,
        Predicate::Cool => Property::Cool,
        Predicate::Sliced => Property::Sliced,
        Predicate::Toggled => Property::Toggled,
        _ => return None,
    })
}
