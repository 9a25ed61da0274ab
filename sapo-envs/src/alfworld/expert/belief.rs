//! What the expert believes about the room, drawn from observations alone.

use std::collections::{BTreeMap, BTreeSet};

use super::task::Treatment;
use super::text::{Act, Fact, is_refusal, read_action, read_observation, read_room, type_of};
use crate::alfworld::places::is_openable;

/// Whether something bars the way into a receptacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// Nothing is known yet.
    Unknown,
    /// There is none, or it is open.
    Passable,
    Closed,
}

/// One receptacle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Receptacle {
    /// Receptacles with the same number stand at one spot; `go to` between them is refused.
    spot: usize,
    pub(super) door: Door,
    /// How often its contents were shown.
    pub(super) views: u32,
    pub(super) contents: BTreeSet<String>,
    /// Object types that it would not take.
    refused: BTreeSet<String>,
}

impl Receptacle {
    fn new(spot: usize) -> Self {
        Receptacle {
            spot,
            door: Door::Unknown,
            views: 0,
            contents: BTreeSet::new(),
            refused: BTreeSet::new(),
        }
    }
}

/// In which words the world takes `put`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wording {
    Move,
    PutInOn,
}

/// The room, the agent's spot and hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Belief {
    pub(super) receptacles: BTreeMap<String, Receptacle>,
    /// The spot where the agent stands, unless it still stands where it began.
    here: Option<usize>,
    pub(super) holding: Option<String>,
    treated: BTreeSet<(Treatment, String)>,
    wording: Wording,
}

impl Belief {
    pub(super) fn new(intro: &str) -> Self {
        let names = read_room(intro).into_iter().enumerate();
        let receptacles = names.map(|(spot, name)| (name.to_owned(), Receptacle::new(spot)));
        Belief {
            receptacles: receptacles.collect(),
            here: None,
            holding: None,
            treated: BTreeSet::new(),
            wording: Wording::Move,
        }
    }

    pub(super) fn is_here(&self, receptacle: &str) -> bool {
        self.here.is_some_and(|here| self.receptacles.get(receptacle).map(|r| r.spot) == Some(here))
    }

    /// Whether it must be opened first, as far as can be told.
    pub(super) fn needs_opening(&self, receptacle: &str) -> bool {
        match self.receptacles.get(receptacle).map(|r| r.door) {
            Some(Door::Passable) => false,
            Some(Door::Closed) => true,
            Some(Door::Unknown) | None => is_openable(type_of(receptacle)),
        }
    }

    /// The steps before the hands can reach into it: going there, opening it.
    pub(super) fn effort(&self, receptacle: &str) -> u32 {
        u32::from(!self.is_here(receptacle)) + u32::from(self.needs_opening(receptacle))
    }

    pub(super) fn refuses(&self, receptacle: &str, object: &str) -> bool {
        let known = self.receptacles.get(receptacle);
        known.is_some_and(|r| r.refused.contains(type_of(object)))
    }

    pub(super) fn is_treated(&self, treatment: Treatment, object: &str) -> bool {
        self.treated.contains(&(treatment, object.to_owned()))
    }

    /// All objects of a type that were seen and should still be there, each with its receptacle.
    pub(super) fn find<'a>(
        &'a self,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.receptacles.iter().flat_map(move |(name, receptacle)| {
            let wanted = receptacle.contents.iter().filter(move |object| type_of(object) == kind);
            wanted.map(move |object| (object.as_str(), name.as_str()))
        })
    }

    /// The action that puts an object down, in the rule set's words.
    pub(super) fn put(&self, object: &str, receptacle: &str) -> String {
        match self.wording {
            Wording::Move => format!("move {object} to {receptacle}"),
            Wording::PutInOn => format!("put {object} in/on {receptacle}"),
        }
    }

    /// Takes in what an action, whoever chose it, brought about.
    pub(super) fn update(&mut self, action: &str, observation: &str) {
        let act = read_action(action);
        if is_refusal(observation) {
            self.learn_from_refusal(&act);
        } else {
            for fact in read_observation(observation) {
                self.learn(&act, fact);
            }
        }
    }

    /// Receptacles that the world does not offer to go to are here.
    pub(super) fn notice_admissible(&mut self, admissible: &[String]) {
        let offered = |name: &str| {
            admissible.iter().any(|action| action.strip_prefix("go to ") == Some(name))
        };
        let missing: Vec<String> =
            self.receptacles.keys().filter(|name| !offered(name)).cloned().collect();
        if missing.len() < self.receptacles.len() {
            missing.iter().for_each(|name| self.stand_at(name));
        }
    }

    fn learn_from_refusal(&mut self, act: &Act<'_>) {
        match *act {
            Act::GoTo(place) => self.stand_at(place),
            Act::Open(place) if self.is_here(place) => {
                self.change(place, |receptacle| receptacle.door = Door::Passable);
            }
            Act::Take(object, place) if self.holding.is_none() && self.is_here(place) => {
                self.change(place, |receptacle| {
                    receptacle.contents.remove(object);
                });
            }
            Act::Put(object, place)
                if self.holding.as_deref() == Some(object) && self.is_here(place) =>
            {
                self.learn_from_refused_put(object, place);
            }
            _ => {}
        }
    }

    fn learn_from_refused_put(&mut self, object: &str, place: &str) {
        let barred = self.needs_opening(place);
        self.change(place, |receptacle| {
            if !barred {
                receptacle.refused.insert(type_of(object).to_owned());
            }
        });
    }

    fn learn(&mut self, act: &Act<'_>, fact: Fact<'_>) {
        match fact {
            Fact::Arrived => {
                if let Act::GoTo(place) = *act {
                    self.here = Some(self.spot_of(place));
                }
            }
            Fact::OldWording => self.wording = Wording::PutInOn,
            Fact::Closed(place) => self.change(place, |r| r.door = Door::Closed),
            Fact::Opened(place) => self.change(place, |r| r.door = Door::Passable),
            Fact::Holds(place, objects) => self.see_contents(place, &objects),
            Fact::Taken(object, place) => {
                self.holding = Some(object.to_owned());
                self.change(place, |r| {
                    r.contents.remove(object);
                });
            }
            Fact::Put(object, place) => {
                self.holding = None;
                self.change(place, |r| {
                    r.contents.insert(object.to_owned());
                });
            }
            Fact::Treated(verb, object) => self.treat(verb, object),
            Fact::Carrying(objects) => {
                self.holding = objects.first().map(|&object| object.to_owned());
            }
            Fact::Facing(places) => places.iter().for_each(|place| self.stand_at(place)),
        }
    }

    fn see_contents(&mut self, place: &str, objects: &[&str]) {
        let contents = objects.iter().map(|&object| object.to_owned()).collect();
        self.change(place, |receptacle| {
            receptacle.contents = contents;
            receptacle.views += 1;
            receptacle.door = Door::Passable;
        });
    }

    fn treat(&mut self, verb: &str, object: &str) {
        let Some(treatment) = Treatment::from_verb(verb) else { return };
        self.treated.insert((treatment, object.to_owned()));
        let undone = match treatment {
            Treatment::Clean => return,
            Treatment::Heat => Treatment::Cool,
            Treatment::Cool => Treatment::Heat,
        };
        self.treated.remove(&(undone, object.to_owned()));
    }

    fn change(&mut self, place: &str, change: impl FnOnce(&mut Receptacle)) {
        self.spot_of(place);
        if let Some(receptacle) = self.receptacles.get_mut(place) {
            change(receptacle);
        }
    }

    /// The spot of a receptacle; one that the intro did not name gets a new spot.
    fn spot_of(&mut self, place: &str) -> usize {
        let unused = self.receptacles.values().map(|r| r.spot + 1).max().unwrap_or(0);
        let entry = self.receptacles.entry(place.to_owned());
        entry.or_insert_with(|| Receptacle::new(unused)).spot
    }

    /// The agent stands at this receptacle: it shares its spot with all others that are here.
    fn stand_at(&mut self, place: &str) {
        let Some(spot) = self.receptacles.get(place).map(|r| r.spot) else { return };
        let here = *self.here.get_or_insert(spot);
        for receptacle in self.receptacles.values_mut().filter(|r| r.spot == spot) {
            receptacle.spot = here;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTRO: &str = "You are in the middle of a room. Looking quickly around you, you see a \
                         drawer 2, a drawer 1, and a desk 1.\n\nYour task is to: put a pen in desk.";

    #[test]
    fn a_refused_walk_means_that_the_receptacle_is_here() {
        let mut belief = Belief::new(INTRO);
        belief.update("go to drawer 1", "You arrive at drawer 1. The drawer 1 is closed.");
        assert!(!belief.is_here("drawer 2"));
        belief.update("go to drawer 2", "Nothing happens.");
        assert!(belief.is_here("drawer 2") && belief.is_here("drawer 1"));
        belief.update("go to desk 1", "You arrive at desk 1. On the desk 1, you see nothing.");
        assert!(!belief.is_here("drawer 2"));
        belief.update("go to drawer 2", "You arrive at drawer 2. The drawer 2 is closed.");
        assert!(belief.is_here("drawer 1"), "shared spots are remembered");
    }

    #[test]
    fn places_missing_from_the_admissible_list_are_here() {
        let mut belief = Belief::new(INTRO);
        let admissible: Vec<String> = vec!["go to desk 1".to_owned(), "look".to_owned()];
        belief.notice_admissible(&admissible);
        assert!(belief.is_here("drawer 1") && belief.is_here("drawer 2"));
        assert!(!belief.is_here("desk 1"));
    }

    #[test]
    fn a_walk_to_a_place_that_does_not_exist_teaches_nothing() {
        let mut belief = Belief::new(INTRO);
        let before = belief.clone();
        belief.update("go to fridge 1", "Nothing happens.");
        belief.update("take pen 1 from desk 1", "Nothing happens.");
        assert_eq!(belief, before);
    }

    #[test]
    fn cooling_undoes_heating() {
        let mut belief = Belief::new(INTRO);
        belief.update("heat egg 1 with microwave 1", "You heat the egg 1 using the microwave 1.");
        assert!(belief.is_treated(Treatment::Heat, "egg 1"));
        belief.update("cool egg 1 with fridge 1", "You cool the egg 1 using the fridge 1.");
        assert!(!belief.is_treated(Treatment::Heat, "egg 1"));
        assert!(belief.is_treated(Treatment::Cool, "egg 1"));
    }

    #[test]
    fn the_older_rule_set_is_recognised_by_its_words() {
        let mut belief = Belief::new(INTRO);
        assert_eq!(belief.put("pen 1", "desk 1"), "move pen 1 to desk 1");
        belief.update("go to desk 1", "You arrive at loc 3. On the desk 1, you see nothing.");
        assert_eq!(belief.put("pen 1", "desk 1"), "put pen 1 in/on desk 1");
    }
}
