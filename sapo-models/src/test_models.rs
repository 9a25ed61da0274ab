//! Small models for tests.

use burn::prelude::*;

use crate::config::{Family, ModelConfig};
use crate::decoder::Decoder;
use crate::init::{ResidualInit, new_model};

/// Two layers, four heads in two groups, 40 logits; weights wide enough to disagree about tokens.
pub(crate) fn tiny_config(family: Family) -> ModelConfig {
    let mut config = ModelConfig::new(family, 40, 16, 24, 2, [4, 2]);
    config.max_position_embeddings = 256;
    config.initializer_range = 0.4;
    config
}

pub(crate) fn tiny(family: Family, seed: u64) -> Decoder {
    new_model(&tiny_config(family), ResidualInit::Plain, seed, &Device::flex()).unwrap()
}
