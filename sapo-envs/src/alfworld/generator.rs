//! Makes new games in the schema of the real ones, each solved before it is returned.
//!
//! A game is fixed by the configuration, the split and its index. Games of one split share rooms: the
//! games of `valid_seen` are played in rooms of the training games with other objects and tasks, those
//! of `valid_unseen` in rooms that no training game has.

mod config;
mod draw;
mod files;
mod ids;
mod layout;
mod pddl;
mod rooms;
mod scene;
pub(crate) mod solver;

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub use self::config::{GeneratorConfig, GeneratorError, Split};
pub use self::files::{pack_lines, write_tw_pddl};
pub use self::rooms::RoomKind;

use self::draw::weighted;
use self::layout::draw_layout;
use self::pddl::{task_sentence, write_problem};
use self::scene::{Wish, draw_items, draw_wish};
use super::rules::RuleSet;
use super::source::PackLine;
use super::world::World;

/// How many games are drawn before the configuration is found impossible.
const ATTEMPTS: u32 = 200;

/// Draws the game number `index` of a split.
///
/// # Errors
/// If the configuration is out of bounds or allows no solvable game.
pub fn generate(
    config: &GeneratorConfig,
    split: Split,
    index: u64,
) -> Result<PackLine, GeneratorError> {
    config.validate()?;
    let mut rng = stream(config.seed, &[split as u64 + 1, index]);
    let drawn = (0..ATTEMPTS).find_map(|_| attempt(config, split, index, &mut rng));
    drawn.ok_or(GeneratorError::NoGame { split: split.name(), index, attempts: ATTEMPTS })
}

fn attempt(
    config: &GeneratorConfig,
    split: Split,
    index: u64,
    rng: &mut ChaCha8Rng,
) -> Option<PackLine> {
    let shares = config.tasks.iter().map(|(_, share)| f64::from(*share));
    let (task, _) = config.tasks[weighted(shares, rng)?];
    let shares = config.rooms.iter().map(|room| f64::from(room.share_of(task)));
    let room = config.rooms[weighted(shares, rng)?];
    let number = room_number(config, split, room, rng);
    let layout = draw_layout(room, config, &mut stream(config.seed, &[0, u64::from(number)]));
    let wish = draw_wish(task, room, &layout, rng)?;
    let items = draw_items(&wish, room, &layout, config, rng);
    let line = PackLine {
        name: game_name(split, &wish, number, index),
        rules: RuleSet::New,
        task: task_sentence(&wish, rng.random_bool(0.5)),
        problem: write_problem(&format!("plan_{}_{index}", split.name()), &layout, &items, &wish),
        walkthrough: Vec::new(),
    };
    solved(line, config.max_walkthrough)
}

/// Rooms that only unseen games have follow those of the training games.
fn room_number(
    config: &GeneratorConfig,
    split: Split,
    room: RoomKind,
    rng: &mut ChaCha8Rng,
) -> u32 {
    let unseen = (config.layouts / 5).max(1);
    let offset = match split {
        Split::Train | Split::ValidSeen => rng.random_range(0..config.layouts),
        Split::ValidUnseen => config.layouts + rng.random_range(0..unseen),
    };
    room.first_number() + offset
}

fn game_name(split: Split, wish: &Wish, room: u32, index: u64) -> String {
    let Wish { task, object, target } = wish;
    let task = task.name();
    format!("{}/{task}-{object}-None-{target}-{room}/trial_G{index:06}", split.name())
}

/// The game with its walkthrough, if the engine confirms that it needs one and that it wins.
fn solved(mut line: PackLine, max_walkthrough: usize) -> Option<PackLine> {
    let game = Arc::new(line.to_game().ok()?);
    let mut world = World::new(Arc::clone(&game));
    let walkthrough = solver::solve(&game)?;
    if world.won() || walkthrough.len() > max_walkthrough {
        return None;
    }
    walkthrough.iter().for_each(|command| {
        world.step(command);
    });
    line.walkthrough = walkthrough;
    world.won().then_some(line)
}

/// An own stream of random numbers for each purpose, so that one draw more here moves nothing there.
fn stream(seed: u64, purpose: &[u64]) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for &number in purpose {
        let key = rng.random::<u64>() ^ number;
        rng = ChaCha8Rng::seed_from_u64(key);
    }
    rng
}

#[cfg(test)]
mod tests;
