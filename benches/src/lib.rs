//! What the benchmarks share: one fixed world, so that figures of different days compare.

use std::sync::Arc;

use sapo_envs::alfworld::Game;
use sapo_envs::alfworld::generator::{GeneratorConfig, Split, generate};

/// A generated game of the size of real ones.
///
/// # Panics
/// If the generator is broken.
pub fn game() -> Arc<Game> {
    let line = generate(&GeneratorConfig::real(0), Split::Train, 0).expect("a game is generated");
    Arc::new(line.to_game().expect("a generated game is read"))
}
