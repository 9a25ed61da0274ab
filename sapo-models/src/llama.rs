//! Llama and what is shaped like it: bias only where `attention_bias` and `mlp_bias` ask for it.

use crate::config::ModelConfig;
use crate::wiring::Wiring;

pub(crate) fn wiring(config: &ModelConfig) -> Wiring {
    let bias = config.attention_bias;
    Wiring { qkv_bias: bias, output_bias: bias, qk_norm: false }
}
