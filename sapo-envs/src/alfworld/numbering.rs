//! Which commands a game can ever need, written and numbered once.

use super::commands::{Action, Commands, word};
use super::game::{Ability, Appliance, Game};

/// Formats every command that may become admissible, and numbers them.
pub(crate) fn number_commands(game: &mut Game) -> Option<()> {
    let narrow = |index: usize| u16::try_from(index).ok();
    narrow(game.object_names.len())?;
    narrow(game.receptacle_names.len())?;
    let written = possible_actions(game).into_iter();
    let (rules, objects, receptacles) = (game.rules, &game.object_names, &game.receptacle_names);
    let commands = Commands::new(
        written.map(|action| (word(action, rules, objects, receptacles), action)).collect(),
    )?;
    for (index, receptacle) in game.receptacles.iter_mut().enumerate() {
        let number = narrow(index)?;
        receptacle.go_to = commands.rank(Action::GoTo { receptacle: number })?;
        receptacle.examine = commands.rank(Action::ExamineReceptacle { receptacle: number })?;
    }
    game.always = [Action::Look, Action::Inventory, Action::Help]
        .into_iter()
        .filter_map(|action| commands.rank(action))
        .collect();
    game.commands = commands;
    Some(())
}

/// Every action that some state may allow. Indices have been checked to fit.
fn possible_actions(game: &Game) -> Vec<Action> {
    let mut actions = vec![Action::Look, Action::Inventory];
    actions.extend(game.rules.has_help().then_some(Action::Help));
    for index in 0..game.receptacles.len() {
        let receptacle = index as u16;
        actions.push(Action::GoTo { receptacle });
        actions.push(Action::ExamineReceptacle { receptacle });
        if game.receptacles[index].openable {
            actions.extend([Action::Open { receptacle }, Action::Close { receptacle }]);
        }
    }
    for object in 0..game.object_names.len() {
        push_object_actions(game, object, &mut actions);
    }
    actions
}

fn push_object_actions(game: &Game, index: usize, actions: &mut Vec<Action>) {
    let object = index as u16;
    if game.can(Ability::Toggleable, index) {
        actions.push(Action::Use { object });
    }
    if !game.can(Ability::Pickupable, index) {
        return;
    }
    actions.push(Action::ExamineObject { object });
    for (row, place) in game.receptacles.iter().enumerate() {
        let receptacle = row as u16;
        let fits = game.fits.contains(row, index);
        if fits {
            actions.push(Action::Put { object, receptacle });
        }
        if fits || game.start.inside.contains(row, index) {
            actions.push(Action::Take { object, receptacle });
        }
        actions.extend(place.appliance.and_then(|appliance| treat(game, appliance, index, row)));
    }
    if game.can(Ability::Knife, index) {
        let sliceable = game.abilities.columns(Ability::Sliceable as usize);
        actions
            .extend(sliceable.map(|other| Action::Slice { object: other as u16, knife: object }));
    }
}

/// What an appliance does to an object, if it can.
pub(crate) fn treat(
    game: &Game,
    appliance: Appliance,
    object: usize,
    receptacle: usize,
) -> Option<Action> {
    let (object_number, receptacle) = (object as u16, receptacle as u16);
    let (ability, action) = match appliance {
        Appliance::Sink => {
            (Ability::Cleanable, Action::Clean { object: object_number, receptacle })
        }
        Appliance::Microwave => {
            (Ability::Heatable, Action::Heat { object: object_number, receptacle })
        }
        Appliance::Fridge => {
            (Ability::Coolable, Action::Cool { object: object_number, receptacle })
        }
    };
    game.can(ability, object).then_some(action)
}
