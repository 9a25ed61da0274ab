//! Measures the environment as training uses it: through [`Environment`], with every list built.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sapo_core::env::{Environment, Observation};

use super::dataset::Dataset;
use super::env::AlfWorld;
use super::error::AlfWorldError;
use super::game::Game;

/// What a benchmark measured, on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlfWorldSpeed {
    /// How many games were loaded.
    pub games: usize,
    /// How many steps were taken.
    pub steps: usize,
    /// Steps a second, with the admissible list and the observation built at each.
    pub steps_per_second: f64,
    /// Milliseconds a reset, of a game that is loaded.
    pub reset_ms: f64,
    /// Milliseconds a load: reading, recognising and parsing one game.
    pub load_ms: f64,
}

/// Loads games of a dataset, spread evenly over it, and plays random admissible actions.
///
/// The same seed plays the same actions.
///
/// # Errors
/// If a game cannot be read.
pub fn bench_alfworld(
    dataset: &Dataset,
    games: usize,
    steps: usize,
    seed: u64,
) -> Result<AlfWorldSpeed, AlfWorldError> {
    let games = games.clamp(1, dataset.len());
    let start = Instant::now();
    let load = |index| dataset.load(index * dataset.len() / games).map(Arc::new);
    let loaded: Vec<Arc<Game>> = (0..games).map(load).collect::<Result<_, _>>()?;
    let load_ms = milliseconds(start.elapsed()) / games as f64;
    let reset_ms = reset_ms(&loaded)?;
    let steps_per_second = steps_per_second(&loaded, steps, seed)?;
    Ok(AlfWorldSpeed { games, steps, steps_per_second, reset_ms, load_ms })
}

fn reset_ms(games: &[Arc<Game>]) -> Result<f64, AlfWorldError> {
    let mut env = AlfWorld::new();
    let rounds = 1000usize.div_ceil(games.len());
    let start = Instant::now();
    for game in std::iter::repeat_n(games, rounds).flatten() {
        black_box(env.reset(game)?);
    }
    Ok(milliseconds(start.elapsed()) / (rounds * games.len()) as f64)
}

/// Each game in turn until its end, and again. Resets count into the time.
fn steps_per_second(games: &[Arc<Game>], steps: usize, seed: u64) -> Result<f64, AlfWorldError> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut env = AlfWorld::new();
    let mut episodes = 0;
    let mut current: Option<Observation> = None;
    let start = Instant::now();
    for _ in 0..steps {
        let observation = match current.take() {
            Some(observation) => observation,
            None => {
                episodes += 1;
                env.reset(&games[episodes % games.len()])?
            }
        };
        let choice = random.random_range(0..observation.admissible.len());
        let step = env.step(&observation.admissible[choice])?;
        current = (!step.status.is_done()).then_some(step.observation);
    }
    Ok(steps as f64 / start.elapsed().as_secs_f64())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
