//! The models that are measured: known shapes with random weights, or a folder.

use std::path::Path;

use burn::prelude::*;
use sapo_models::{Decoder, ResidualInit, load_model, new_model};

/// A model by the name of its shape, or the one in a folder.
///
/// # Panics
/// If there is no such shape, and no such folder or no model in it.
pub(crate) fn model(name: &str, device: &Device) -> Decoder {
    match sapo_benches::shape(name) {
        Some(config) => new_model(&config, ResidualInit::Plain, 0, device).expect("a sound shape"),
        None => {
            let model = load_model(Path::new(name), device);
            model.unwrap_or_else(|error| panic!("{name}: {error}")).decoder
        }
    }
}
