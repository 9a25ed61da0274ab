//! Qwen3: queries and keys of each head pass a norm before they are rotated; bias only where
//! `attention_bias` asks for it. The head's width stands in the file and does not follow from the
//! model's.

use crate::config::ModelConfig;
use crate::wiring::Wiring;

pub(crate) fn wiring(config: &ModelConfig) -> Wiring {
    let bias = config.attention_bias;
    Wiring { qkv_bias: bias, output_bias: bias, qk_norm: true }
}
