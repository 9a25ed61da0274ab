//! Draws a game within a room: what it asks for, and what lies where.

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::config::GeneratorConfig;
use super::draw::{overlap, weighted};
use super::ids::Ids;
use super::layout::{Fixture, Layout};
use super::rooms::{MOST_OF_A_TYPE, RoomKind, Thing};
use crate::alfworld::kind::TaskKind;
use crate::alfworld::places::{can_contain, likelihood};

/// What the game asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) task: TaskKind,
    pub(super) object: &'static str,
    /// The receptacle's type, or the lamp's.
    pub(super) target: &'static str,
}

/// An object at its place.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: &'static str,
    pub(super) id: String,
    /// The index of the receptacle that holds it.
    pub(super) holder: usize,
}

pub(super) const LAMP: &str = "DeskLamp";

pub(super) const HEATABLE: [&str; 8] =
    ["Apple", "Bread", "Cup", "Egg", "Mug", "Plate", "Potato", "Tomato"];
pub(super) const COOLABLE: [&str; 13] = [
    "Apple",
    "Bowl",
    "Bread",
    "Cup",
    "Egg",
    "Lettuce",
    "Mug",
    "Pan",
    "Plate",
    "Pot",
    "Potato",
    "Tomato",
    "WineBottle",
];
pub(super) const CLEANABLE: [&str; 21] = [
    "Apple",
    "Bowl",
    "ButterKnife",
    "Cloth",
    "Cup",
    "DishSponge",
    "Egg",
    "Fork",
    "Kettle",
    "Knife",
    "Ladle",
    "Lettuce",
    "Mug",
    "Pan",
    "Plate",
    "Pot",
    "Potato",
    "SoapBar",
    "Spatula",
    "Spoon",
    "Tomato",
];

/// A task that the room allows. None if it allows none of this type.
pub(super) fn draw_wish(
    task: TaskKind,
    room: RoomKind,
    layout: &Layout,
    rng: &mut ChaCha8Rng,
) -> Option<Wish> {
    let things: Vec<Thing> = room.things().collect();
    let wishes: Vec<Wish> = things
        .iter()
        .filter(|thing| suits(task, thing.name))
        .flat_map(|thing| targets(task, thing.name, layout))
        .collect();
    wishes.choose(rng).copied()
}

fn suits(task: TaskKind, object: &str) -> bool {
    match task {
        TaskKind::PickCleanThenPlaceInRecep => CLEANABLE.contains(&object),
        TaskKind::PickHeatThenPlaceInRecep => HEATABLE.contains(&object),
        TaskKind::PickCoolThenPlaceInRecep => COOLABLE.contains(&object),
        _ => true,
    }
}

/// The wishes for an object of this type, one for each type of receptacle where it may end.
fn targets(task: TaskKind, object: &'static str, layout: &Layout) -> Vec<Wish> {
    let mut kinds: Vec<&'static str> = if task == TaskKind::LookAtObjInLight {
        vec![LAMP]
    } else {
        let kinds = layout.fixtures.iter().map(|fixture| fixture.kind);
        kinds.filter(|kind| can_contain(kind, object)).collect()
    };
    kinds.sort_unstable();
    kinds.dedup();
    let wishes = kinds.into_iter().map(|target| Wish { task, object, target });
    wishes.filter(|wish| has_start_places(wish, layout)).collect()
}

/// Whether the objects of the wish can lie somewhere at the start without fulfilling it.
fn has_start_places(wish: &Wish, layout: &Layout) -> bool {
    let somewhere = |kind| layout.fixtures.iter().any(|f| weight(wish, kind, f) > 0.0);
    somewhere(wish.object) && (wish.task != TaskKind::LookAtObjInLight || somewhere(LAMP))
}

/// How likely the object lies there at the start. What must be carried somewhere is not there yet.
fn weight(wish: &Wish, object: &str, fixture: &Fixture) -> f64 {
    let carried = matches!(wish.task, TaskKind::PickAndPlaceSimple | TaskKind::PickTwoObjAndPlace);
    if carried && object == wish.object && fixture.kind == wish.target {
        return 0.0;
    }
    f64::from(likelihood(object, fixture.kind))
}

/// Fills the room: first with what the task needs, then with what such rooms usually have.
pub(super) fn draw_items(
    wish: &Wish,
    room: RoomKind,
    layout: &Layout,
    config: &GeneratorConfig,
    rng: &mut ChaCha8Rng,
) -> Vec<Item> {
    let size = rng.random_range(overlap(room.usual_objects(), &config.objects));
    let mut ids = Ids::default();
    let mut items = Vec::new();
    for kind in draw_kinds(wish, room, layout, size, rng) {
        let weights = layout.fixtures.iter().map(|fixture| weight(wish, kind, fixture));
        if let Some(holder) = weighted(weights, rng) {
            let id = ids.fresh(rng, |position| format!("{kind}{position}"));
            items.push(Item { kind, id, holder });
        }
    }
    items
}

fn draw_kinds(
    wish: &Wish,
    room: RoomKind,
    layout: &Layout,
    size: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<&'static str> {
    let has_place =
        |thing: &Thing| layout.fixtures.iter().any(|f| weight(wish, thing.name, f) > 0.0);
    let things: Vec<Thing> = room.things().filter(has_place).collect();
    let needed = if wish.task == TaskKind::PickTwoObjAndPlace { 2 } else { 1 };
    let mut kinds = vec![wish.object; needed];
    while kinds.len() < size {
        let weights = things.iter().map(|thing| {
            let count = kinds.iter().filter(|kind| **kind == thing.name).count();
            let rare = thing.usual * 0.05;
            if count < MOST_OF_A_TYPE { (thing.usual - count as f64).max(rare) } else { 0.0 }
        });
        let Some(choice) = weighted(weights, rng) else { break };
        kinds.push(things[choice].name);
    }
    // Lamps are no part of the count; some rooms have one although no task needs it.
    let lamp_fits = layout.fixtures.iter().any(|f| likelihood(LAMP, f.kind) > 0);
    let dark = matches!(room, RoomKind::Kitchen | RoomKind::Bathroom) || !lamp_fits;
    if wish.task == TaskKind::LookAtObjInLight || (!dark && rng.random_bool(0.5)) {
        kinds.push(LAMP);
    }
    kinds
}
