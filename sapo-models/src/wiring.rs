//! In what the families differ.

use crate::config::{Family, ModelConfig};
use crate::{llama, qwen2, qwen3};

/// Which optional parts an attention block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wiring {
    /// Bias on the query, key and value projections.
    pub(crate) qkv_bias: bool,
    /// Bias on the output projection.
    pub(crate) output_bias: bool,
    /// A norm on the queries and keys of each head.
    pub(crate) qk_norm: bool,
}

impl Wiring {
    pub(crate) fn of(config: &ModelConfig) -> Self {
        match config.family {
            Family::Qwen2 => qwen2::wiring(),
            Family::Qwen3 => qwen3::wiring(config),
            Family::Llama => llama::wiring(config),
        }
    }
}
