//! What the expert wants to do, given its belief: a pure function of what it knows.

use std::cmp::Reverse;

use super::Expert;
use super::belief::Receptacle;
use super::task::{Kind, Treatment};
use super::text::{number_of, type_of};
use crate::alfworld::places::{can_contain, likelihood};

impl Expert {
    pub(super) fn wish(&self) -> String {
        match self.belief.holding.as_deref() {
            None => self.obtain(),
            Some(object) if type_of(object) == self.goal.object => self.bring_to_its_end(object),
            Some(object) => self.put_away(object),
        }
    }

    /// What to do when the wish was tried and changed nothing: go where there is something to learn.
    pub(super) fn way_out(&self) -> String {
        let elsewhere = self.names().filter(|name| !self.belief.is_here(name));
        let least_seen = elsewhere.min_by_key(|name| (self.views(name), self.rank_of(name)));
        least_seen.map_or_else(|| "look".to_owned(), |name| format!("go to {name}"))
    }

    fn bring_to_its_end(&self, object: &str) -> String {
        match self.goal.kind {
            Kind::Look => self.light(),
            Kind::Treat(treatment) if !self.belief.is_treated(treatment, object) => {
                self.treat(treatment, object)
            }
            Kind::Place | Kind::Two | Kind::Treat(_) => self.deliver(object),
        }
    }

    fn light(&self) -> String {
        let lamps = self.belief.find(&self.goal.receptacle);
        let untried = lamps.filter(|(lamp, _)| !self.barren.contains(&format!("use {lamp}")));
        let nearest = untried.min_by_key(|(_, place)| !self.belief.is_here(place));
        match nearest {
            Some((lamp, place)) => self.at(place, format!("use {lamp}")),
            None => self.search(&self.goal.receptacle),
        }
    }

    fn treat(&self, treatment: Treatment, object: &str) -> String {
        let of_type = |tool: &&str| self.nearest(|name| type_of(name) == *tool);
        match treatment.tools().iter().find_map(of_type) {
            Some(tool) => self.at(tool, format!("{} {object} with {tool}", treatment.verb())),
            None => self.way_out(),
        }
    }

    fn deliver(&self, object: &str) -> String {
        let open_to_it = |name: &&str| !self.belief.refuses(name, object);
        let goals = self.names().filter(|name| self.is_goal(name)).filter(open_to_it);
        let best = goals.min_by_key(|name| {
            let joins = self.goal.kind == Kind::Two && self.targets_in(name) > 0;
            (!joins, self.belief.effort(name), self.rank_of(name))
        });
        match best {
            Some(place) => self.inside(place, self.belief.put(object, place)),
            None => self.way_out(),
        }
    }

    /// Gets hold of an object that still has to be brought somewhere.
    fn obtain(&self) -> String {
        let known = self.belief.find(&self.goal.object).filter(|(object, place)| {
            !self.is_settled(object, place)
                && !self.barren.contains(&format!("take {object} from {place}"))
        });
        let best = known.min_by_key(|(object, place)| {
            (!self.is_treated(object), self.belief.effort(place), number_of(object))
        });
        match best {
            Some((object, place)) => self.inside(place, format!("take {object} from {place}")),
            None => self.search(&self.goal.object),
        }
    }

    fn is_treated(&self, object: &str) -> bool {
        matches!(self.goal.kind, Kind::Treat(treatment) if self.belief.is_treated(treatment, object))
    }

    /// Whether the object already is where it shall be.
    fn is_settled(&self, object: &str, place: &str) -> bool {
        match self.goal.kind {
            Kind::Look => false,
            Kind::Place => self.is_goal(place),
            Kind::Treat(_) => self.is_goal(place) && self.is_treated(object),
            Kind::Two => self.meeting_place().is_some_and(|place| {
                let holder = self.belief.receptacles.get(place);
                holder.is_some_and(|receptacle| receptacle.contents.contains(object))
            }),
        }
    }

    /// Where the two objects come together: both must be in the same receptacle.
    fn meeting_place(&self) -> Option<&str> {
        let begun = self.names().filter(|name| self.is_goal(name) && self.targets_in(name) > 0);
        begun.min_by_key(|name| (Reverse(self.targets_in(name)), self.rank_of(name)))
    }

    fn targets_in(&self, place: &str) -> usize {
        self.belief.receptacles.get(place).map_or(0, |receptacle| {
            let contents = receptacle.contents.iter();
            contents.filter(|object| type_of(object) == self.goal.object).count()
        })
    }

    /// Puts down something that is only in the way.
    fn put_away(&self, object: &str) -> String {
        let kind = type_of(object);
        let open_to_it = self.names().filter(|name| !self.belief.refuses(name, object));
        let best = open_to_it.min_by_key(|name| {
            let unlikely = !can_contain(type_of(name), kind);
            let promise = self.promise(&self.goal.object, name);
            (unlikely, self.belief.effort(name), Reverse(promise), self.rank_of(name))
        });
        match best {
            Some(place) => self.inside(place, self.belief.put(object, place)),
            None => self.way_out(),
        }
    }

    /// Looks into the receptacle that promises most a step.
    fn search(&self, kind: &str) -> String {
        let unseen = self.names().filter(|name| self.views(name) == 0);
        let best =
            unseen.max_by_key(|name| (self.promise(kind, name), Reverse(self.rank_of(name))));
        match best {
            Some(place) => self.look_into(place),
            None => self.search_again(),
        }
    }

    fn search_again(&self) -> String {
        let place = self.names().min_by_key(|name| (self.views(name), self.rank_of(name)));
        place.map_or_else(|| "look".to_owned(), |place| self.look_into(place))
    }

    /// The chance to find such an object there, for each step it takes; 0 once it has been seen.
    fn promise(&self, kind: &str, place: &str) -> u32 {
        const SCALE: u32 = 60;
        if self.views(place) > 0 {
            return 0;
        }
        let per_cent = likelihood(kind, type_of(place));
        per_cent * SCALE / self.belief.effort(place).max(1)
    }

    fn look_into(&self, place: &str) -> String {
        self.inside(place, format!("examine {place}"))
    }

    /// `action` once the agent stands at `place`, else the way there.
    fn at(&self, place: &str, action: String) -> String {
        if self.belief.is_here(place) { action } else { format!("go to {place}") }
    }

    /// `action` once the agent can reach into `place`, else the step that leads there.
    fn inside(&self, place: &str, action: String) -> String {
        if self.belief.is_here(place) && self.belief.needs_opening(place) {
            format!("open {place}")
        } else {
            self.at(place, action)
        }
    }

    fn nearest(&self, wanted: impl Fn(&str) -> bool) -> Option<&str> {
        let found = self.names().filter(|name| wanted(name));
        found.min_by_key(|name| (!self.belief.is_here(name), self.rank_of(name)))
    }

    /// Whether the task names receptacles of this type; sinks within bathtubs are named after these.
    fn is_goal(&self, name: &str) -> bool {
        let wanted = self.goal.receptacle.as_str();
        let stand_in = wanted == "sinkbasin" && !self.names().any(|name| type_of(name) == wanted);
        type_of(name) == if stand_in { "bathtubbasin" } else { wanted }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.belief.receptacles.keys().map(String::as_str)
    }

    fn views(&self, place: &str) -> u32 {
        self.belief.receptacles.get(place).map_or(0, |Receptacle { views, .. }| *views)
    }

    fn rank_of(&self, place: &str) -> usize {
        self.rank.get(place).copied().unwrap_or(usize::MAX)
    }
}
