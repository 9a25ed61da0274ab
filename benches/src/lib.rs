//! What the benchmarks share: one fixed world and some fixed shapes, so that figures of different days
//! compare.

use std::sync::Arc;

use sapo_envs::alfworld::Game;
use sapo_envs::alfworld::generator::{GeneratorConfig, Split, generate};
use sapo_models::{Family, ModelConfig};

/// A generated game of the size of real ones.
///
/// # Panics
/// If the generator is broken.
pub fn game() -> Arc<Game> {
    let line = generate(&GeneratorConfig::real(0), Split::Train, 0).expect("a game is generated");
    Arc::new(line.to_game().expect("a generated game is read"))
}

/// The shape of a model that is measured, by its name.
pub fn shape(name: &str) -> Option<ModelConfig> {
    let config = |vocabulary, hidden, inner, layers, heads| {
        Some(ModelConfig::new(Family::Qwen2, vocabulary, hidden, inner, layers, heads))
    };
    match name {
        "small" => config(32_000, 256, 688, 8, [8, 2]),
        "small-49k" => config(49_152, 256, 688, 8, [8, 2]),
        "mid" => config(4_096, 512, 1_376, 12, [8, 2]),
        "wide-head" => config(151_936, 896, 4_864, 2, [14, 2]),
        _ => None,
    }
}
