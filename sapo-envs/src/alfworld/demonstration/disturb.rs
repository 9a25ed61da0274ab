//! Actions that the world refuses, of the kinds that a model tries.

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use sapo_core::env::Observation;

use crate::alfworld::expert::Expert;
use crate::alfworld::places::object_types;

/// The kinds of wrong action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// Going to a receptacle that the room does not have.
    NoSuchPlace,
    /// Taking something that is not there.
    AbsentObject,
    /// Taking the right kind of thing from a place where it is not.
    HastyTake,
    /// Opening something from afar.
    OpenFromAfar,
    /// Putting down what is not held.
    EmptyHanded,
    /// Something near to a command.
    NearMiss,
}

const MISTAKES: [Mistake; 6] = [
    Mistake::NoSuchPlace,
    Mistake::AbsentObject,
    Mistake::HastyTake,
    Mistake::OpenFromAfar,
    Mistake::EmptyHanded,
    Mistake::NearMiss,
];

/// How often a wrong action is drawn anew when it turns out to be admissible.
const TRIES: usize = 8;

/// An action that the world should refuse; where it keeps a list of admissible actions, it surely does.
pub(super) fn wrong_action(
    expert: &Expert,
    observation: &Observation,
    rng: &mut ChaCha8Rng,
) -> String {
    let refused = |action: &String| !observation.admissible.contains(action);
    let drawn = (0..TRIES).map(|_| draw(expert, rng)).find(refused);
    drawn.unwrap_or_else(|| "go to nowhere 1".to_owned())
}

fn draw(expert: &Expert, rng: &mut ChaCha8Rng) -> String {
    let places: Vec<&str> = expert.receptacles().collect();
    let place = places.choose(rng).copied().unwrap_or("desk 1");
    let kind = place.split_once(' ').map_or(place, |(kind, _)| kind);
    let types: Vec<&str> = object_types().collect();
    let object = types.choose(rng).map_or_else(|| "mug".to_owned(), |name| name.to_lowercase());
    let number = rng.random_range(1..=3);
    match MISTAKES.choose(rng).copied().unwrap_or(Mistake::NoSuchPlace) {
        Mistake::NoSuchPlace => format!("go to {kind} {}", count(&places, kind) + number),
        Mistake::AbsentObject => format!("take {object} {number} from {place}"),
        Mistake::HastyTake => format!("take {} {number} from {place}", expert.target()),
        Mistake::OpenFromAfar => format!("open {place}"),
        Mistake::EmptyHanded => format!("move {object} {number} to {place}"),
        Mistake::NearMiss => near_miss(place, expert.target(), number, rng),
    }
}

fn count(places: &[&str], kind: &str) -> usize {
    let same = |place: &&&str| place.split_once(' ').is_some_and(|(name, _)| name == kind);
    places.iter().filter(same).count()
}

fn near_miss(place: &str, object: &str, number: usize, rng: &mut ChaCha8Rng) -> String {
    let phrases = [
        format!("goto {place}"),
        format!("go to the {place}"),
        format!("look at {place}"),
        format!("pick up {object} {number}"),
        format!("take {object} {number}"),
        format!("put {object} {number} on {place}"),
        format!("find {object}"),
    ];
    phrases.choose(rng).cloned().unwrap_or_else(|| format!("goto {place}"))
}
