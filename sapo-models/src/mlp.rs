//! The gated feed-forward block.

use burn::nn::Linear;
use burn::prelude::*;
use sapo_kernels::swiglu;

use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::source::{WeightSource, linear, project};

/// `down(silu(gate(x)) * up(x))`.
#[derive(Module, Debug)]
pub struct Mlp {
    /// `[hidden, intermediate]`
    pub gate_proj: Linear,
    /// `[hidden, intermediate]`
    pub up_proj: Linear,
    /// `[intermediate, hidden]`
    pub down_proj: Linear,
}

impl Mlp {
    pub(crate) fn build(
        source: &mut dyn WeightSource,
        name: &str,
        config: &ModelConfig,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let mut project = |part: &str, shape| {
            linear(source, &format!("{name}.{part}"), shape, config.mlp_bias, device)
        };
        Ok(Mlp {
            gate_proj: project("gate_proj", [hidden, inner])?,
            up_proj: project("up_proj", [hidden, inner])?,
            down_proj: project("down_proj", [inner, hidden])?,
        })
    }

    /// # Shapes
    /// - input and output: `[tokens, hidden]`
    pub(crate) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let gate = project(&self.gate_proj, input.clone());
        project(&self.down_proj, swiglu(gate, project(&self.up_proj, input)))
    }
}
