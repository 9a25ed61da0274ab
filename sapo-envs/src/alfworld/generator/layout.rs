//! Draws a room: its receptacles, their doors and spots.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::config::GeneratorConfig;
use super::draw::{overlap, weighted};
use super::ids::{Ids, receptacle_id};
use super::rooms::{Furniture, RoomKind};
use crate::alfworld::places::is_openable;

/// A receptacle of a room.
#[derive(Clone, Debug)]
pub(super) struct Fixture {
    pub(super) kind: &'static str,
    pub(super) id: String,
    pub(super) spot: String,
    pub(super) openable: bool,
}

/// A room without objects. All games in the room with this number have the same.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) fixtures: Vec<Fixture>,
    /// Where the agent starts: no receptacle is there.
    pub(super) start: String,
}

/// One in six cabinets, drawers and safes has no door. Fridges and microwaves always have one.
const DOORLESS: f64 = 1.0 / 6.0;

pub(super) fn draw_layout(
    kind: RoomKind,
    config: &GeneratorConfig,
    rng: &mut ChaCha8Rng,
) -> Layout {
    let size = rng.random_range(overlap(kind.usual_receptacles(), &config.receptacles));
    let mut ids = Ids::default();
    let mut fixtures: Vec<Fixture> = Vec::new();
    for kind in draw_types(kind, size, rng) {
        let shared = fixtures.last().filter(|_| rng.random_bool(config.shared_spots));
        let spot = match shared {
            Some(neighbour) => neighbour.spot.clone(),
            None => ids.spot(rng),
        };
        let id = ids.fresh(rng, |position| receptacle_id(kind, position));
        let always = matches!(kind, "Fridge" | "Microwave");
        let openable = is_openable(kind) && (always || !rng.random_bool(DOORLESS));
        fixtures.push(Fixture { kind, id, spot, openable });
    }
    Layout { fixtures, start: ids.spot(rng) }
}

/// What the room must have, then more of what such rooms usually have until there is enough.
fn draw_types(kind: RoomKind, size: usize, rng: &mut ChaCha8Rng) -> Vec<&'static str> {
    let furniture: Vec<Furniture> = kind.furniture().collect();
    let mut counts: Vec<usize> = furniture.iter().map(|f| f.least).collect();
    while counts.iter().sum::<usize>() < size {
        let weights = furniture.iter().zip(&counts).map(|(f, &count)| {
            if count >= f.most { 0.0 } else { (f.usual - count as f64).max(f.usual * 0.05) }
        });
        let Some(choice) = weighted(weights, rng) else { break };
        counts[choice] += 1;
    }
    let repeated = furniture.iter().zip(counts);
    repeated.flat_map(|(f, count)| std::iter::repeat_n(f.name, count)).collect()
}
