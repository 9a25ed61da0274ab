//! Which actions a state allows, and what they change.

use super::commands::{Action, Rank};
use super::game::{Ability, Game};
use super::numbering::treat;
use super::state::{Property, State};

/// Lists the admissible commands, in the order of their text.
pub(crate) fn list_admissible(game: &Game, state: &State, list: &mut Vec<Rank>) {
    list.clear();
    list.extend_from_slice(&game.always);
    let elsewhere = game.receptacles.iter().filter(|receptacle| receptacle.place != state.place);
    list.extend(elsewhere.map(|receptacle| receptacle.go_to));
    let mut push = |action: Action| list.extend(game.commands.rank(action));
    for &receptacle in game.here(state) {
        push(Action::ExamineReceptacle { receptacle: receptacle as u16 });
        push_doors(game, state, receptacle, &mut push);
        push_contents(game, state, receptacle, &mut push);
    }
    if game.rules.use_reaches_the_spot() {
        push_usable(game, state.lying_at.columns(state.place), &mut push);
    }
    if let Some(held) = state.held {
        push_held(game, state, held, &mut push);
    }
    list.sort_unstable();
    list.dedup();
}

fn push_doors(game: &Game, state: &State, receptacle: usize, push: &mut impl FnMut(Action)) {
    if !game.receptacles[receptacle].openable {
        return;
    }
    let number = receptacle as u16;
    if state.opened.contains(receptacle) {
        push(Action::Close { receptacle: number });
    } else if !game.rules.opens_one_at_a_time() || state.opened.is_empty() {
        push(Action::Open { receptacle: number });
    }
}

/// What the contents of a receptacle at the agent's spot allow. `use` ignores closed doors.
fn push_contents(game: &Game, state: &State, receptacle: usize, push: &mut impl FnMut(Action)) {
    if state.held.is_none() && game.is_accessible(state, receptacle) {
        for object in state.inside.columns(receptacle) {
            if game.can(Ability::Pickupable, object) {
                push(Action::Take { object: object as u16, receptacle: receptacle as u16 });
            }
        }
    }
    if !game.rules.use_reaches_the_spot() {
        push_usable(game, state.inside.columns(receptacle), push);
    }
}

fn push_usable(game: &Game, objects: impl Iterator<Item = usize>, push: &mut impl FnMut(Action)) {
    for object in objects.filter(|&object| game.can(Ability::Toggleable, object)) {
        push(Action::Use { object: object as u16 });
    }
}

fn push_held(game: &Game, state: &State, held: usize, push: &mut impl FnMut(Action)) {
    let object = held as u16;
    push(Action::ExamineObject { object });
    for &receptacle in game.here(state) {
        if game.fits.contains(receptacle, held) && game.is_accessible(state, receptacle) {
            push(Action::Put { object, receptacle: receptacle as u16 });
        }
        let appliance = game.receptacles[receptacle].appliance;
        if let Some(action) = appliance.and_then(|it| treat(game, it, held, receptacle)) {
            push(action);
        }
    }
    if game.can(Ability::Knife, held) {
        for other in state.lying_at.columns(state.place) {
            if game.can(Ability::Sliceable, other) {
                push(Action::Slice { object: other as u16, knife: object });
            }
        }
    }
}

/// Performs an admissible action.
pub(crate) fn perform(game: &Game, state: &mut State, action: Action) {
    match action {
        Action::Look
        | Action::Inventory
        | Action::Help
        | Action::ExamineReceptacle { .. }
        | Action::ExamineObject { .. } => {}
        Action::GoTo { receptacle } => {
            state.place = game.receptacles[usize::from(receptacle)].place;
        }
        Action::Open { receptacle } => state.opened.insert(receptacle.into()),
        Action::Close { receptacle } => state.opened.remove(receptacle.into()),
        Action::Take { object, receptacle } => take(state, object.into(), receptacle.into()),
        Action::Put { object, receptacle } => put(state, object.into(), receptacle.into()),
        Action::Use { object } => state.gain(Property::Toggled, object.into()),
        Action::Clean { object, .. } => state.gain(Property::Clean, object.into()),
        Action::Heat { object, .. } => {
            state.gain(Property::Hot, object.into());
            state.lose(Property::Cool, object.into());
        }
        Action::Cool { object, .. } => {
            state.gain(Property::Cool, object.into());
            state.lose(Property::Hot, object.into());
        }
        Action::Slice { object, .. } => state.gain(Property::Sliced, object.into()),
    }
}

/// The object leaves the named receptacle and the agent's spot only; it may still be in another.
fn take(state: &mut State, object: usize, receptacle: usize) {
    state.inside.remove(receptacle, object);
    state.taken_from.insert(receptacle, object);
    state.lying_at.remove(state.place, object);
    state.held = Some(object);
}

fn put(state: &mut State, object: usize, receptacle: usize) {
    state.inside.insert(receptacle, object);
    state.taken_from.remove(receptacle, object);
    state.lying_at.insert(state.place, object);
    state.held = None;
}
