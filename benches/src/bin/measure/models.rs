//! The models that are measured: known shapes with random weights, or a folder.

use std::path::Path;

use burn::prelude::*;
use sapo_models::{Decoder, Family, ModelConfig, ResidualInit, load_model, new_model};

/// A model by the name of its shape, or the one in a folder.
///
/// # Panics
/// If there is no such shape, and no such folder or no model in it.
pub(crate) fn model(name: &str, device: &Device) -> Decoder {
    let config = |vocabulary, hidden, inner, layers, heads| {
        ModelConfig::new(Family::Qwen2, vocabulary, hidden, inner, layers, heads)
    };
    let config = match name {
        "small" => config(32_000, 256, 688, 8, [8, 2]),
        "small-49k" => config(49_152, 256, 688, 8, [8, 2]),
        "mid" => config(4_096, 512, 1_376, 12, [8, 2]),
        "wide-head" => config(151_936, 896, 4_864, 2, [14, 2]),
        folder => {
            let model = load_model(Path::new(folder), device);
            return model.unwrap_or_else(|error| panic!("{folder}: {error}")).decoder;
        }
    };
    new_model(&config, ResidualInit::Plain, 0, device).expect("a sound shape")
}
