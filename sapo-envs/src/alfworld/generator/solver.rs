//! Finds a walkthrough with full knowledge of the game.
//!
//! The games have no traps for a player that takes nothing needless, so that no search through states
//! is wanted: each way to choose objects and receptacles gives one plan, and the shortest is taken.

use crate::alfworld::commands::{Action, word};
use crate::alfworld::game::{Ability, Appliance, Game, Target};
use crate::alfworld::state::Property;

/// The commands of a short solution. None if the goal is of no kind that this solver knows.
pub(crate) fn solve(game: &Game) -> Option<Vec<String>> {
    let plans = match game.goal.as_slice() {
        [Target::Placed { objects, receptacles, needs, copies }] => {
            let objects: Vec<usize> = indices(game).filter(|&o| objects.contains(o)).collect();
            plans_to_place(game, &objects, receptacles, needs, *copies)
        }
        [Target::Lit { lamps }, Target::Holding { objects }]
        | [Target::Holding { objects }, Target::Lit { lamps }] => {
            let lamps: Vec<usize> = indices(game).filter(|&o| lamps.contains(o)).collect();
            let objects: Vec<usize> = indices(game).filter(|&o| objects.contains(o)).collect();
            plans_to_look(game, &objects, &lamps)
        }
        _ => return None,
    };
    let shortest = plans.into_iter().min_by_key(|plan| plan.actions.len())?;
    let say =
        |action: &Action| word(*action, game.rules, &game.object_names, &game.receptacle_names);
    Some(shortest.actions.iter().map(say).collect())
}

fn indices(game: &Game) -> impl Iterator<Item = usize> {
    0..game.object_names.len()
}

fn plans_to_place<'a>(
    game: &'a Game,
    objects: &[usize],
    receptacles: &[usize],
    needs: &[Property],
    copies: u32,
) -> Vec<Plan<'a>> {
    let plan = |chosen: &[usize], receptacle: usize| {
        let mut plan = Plan::new(game);
        for &object in chosen {
            let settled = needs.is_empty() && game.start.inside.contains(receptacle, object);
            if !settled {
                plan.bring(object, needs, receptacle)?;
            }
        }
        Some(plan)
    };
    let mut plans = Vec::new();
    for &receptacle in receptacles {
        for &first in objects {
            if copies == 1 {
                plans.extend(plan(&[first], receptacle));
            } else {
                let others = objects.iter().filter(|&&second| second != first);
                plans.extend(others.filter_map(|&second| plan(&[first, second], receptacle)));
            }
        }
    }
    plans
}

fn plans_to_look<'a>(game: &'a Game, objects: &[usize], lamps: &[usize]) -> Vec<Plan<'a>> {
    let mut plans = Vec::new();
    for &object in objects {
        for &lamp in lamps {
            plans.extend(holders(game, lamp).filter_map(|holder| {
                let mut plan = Plan::new(game);
                plan.take(object)?;
                plan.go(holder);
                plan.push(Action::Use { object: number(lamp)? });
                Some(plan)
            }));
        }
    }
    plans
}

fn holders(game: &Game, object: usize) -> impl Iterator<Item = usize> {
    let all = 0..game.receptacles.len();
    all.filter(move |&receptacle| game.start.inside.contains(receptacle, object))
}

fn number(index: usize) -> Option<u16> {
    u16::try_from(index).ok()
}

/// A sequence of actions, and where it leaves the agent.
#[derive(Clone)]
struct Plan<'a> {
    game: &'a Game,
    place: usize,
    opened: Vec<usize>,
    actions: Vec<Action>,
}

impl<'a> Plan<'a> {
    fn new(game: &'a Game) -> Self {
        Plan { game, place: game.start.place, opened: Vec::new(), actions: Vec::new() }
    }

    fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    fn go(&mut self, receptacle: usize) {
        let place = self.game.receptacles[receptacle].place;
        if place != self.place {
            self.place = place;
            self.actions.extend(number(receptacle).map(|receptacle| Action::GoTo { receptacle }));
        }
    }

    /// Goes there and opens it.
    fn reach(&mut self, receptacle: usize) {
        self.go(receptacle);
        let accessible = self.game.is_accessible(&self.game.start, receptacle);
        if !accessible && !self.opened.contains(&receptacle) {
            self.opened.push(receptacle);
            self.actions.extend(number(receptacle).map(|receptacle| Action::Open { receptacle }));
        }
    }

    fn take(&mut self, object: usize) -> Option<()> {
        if !self.game.can(Ability::Pickupable, object) {
            return None;
        }
        let holder = holders(self.game, object).min_by_key(|&holder| self.cost(holder))?;
        self.reach(holder);
        self.push(Action::Take { object: number(object)?, receptacle: number(holder)? });
        Some(())
    }

    fn cost(&self, receptacle: usize) -> usize {
        let mut trial = self.clone();
        trial.reach(receptacle);
        trial.actions.len()
    }

    fn bring(&mut self, object: usize, needs: &[Property], receptacle: usize) -> Option<()> {
        if !self.game.fits.contains(receptacle, object) {
            return None;
        }
        self.take(object)?;
        for &need in needs {
            self.treat(object, need)?;
        }
        self.reach(receptacle);
        self.push(Action::Put { object: number(object)?, receptacle: number(receptacle)? });
        Some(())
    }

    fn treat(&mut self, object: usize, need: Property) -> Option<()> {
        let (ability, appliance) = match need {
            Property::Clean => (Ability::Cleanable, Appliance::Sink),
            Property::Hot => (Ability::Heatable, Appliance::Microwave),
            Property::Cool => (Ability::Coolable, Appliance::Fridge),
            Property::Sliced | Property::Toggled => return None,
        };
        if !self.game.can(ability, object) {
            return None;
        }
        let receptacles = self.game.receptacles.iter().enumerate();
        let fitting = receptacles.filter(|(_, r)| r.appliance == Some(appliance));
        let (tool, _) = fitting.min_by_key(|(_, r)| r.place != self.place)?;
        self.go(tool);
        let (object, receptacle) = (number(object)?, number(tool)?);
        self.push(match appliance {
            Appliance::Sink => Action::Clean { object, receptacle },
            Appliance::Microwave => Action::Heat { object, receptacle },
            Appliance::Fridge => Action::Cool { object, receptacle },
        });
        Some(())
    }
}
