//! The gated feed-forward block.

use burn::prelude::*;
use sapo_kernels::swiglu;

use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::projection::Projection;
use crate::source::WeightSource;

/// `down(silu(gate(x)) * up(x))`.
#[derive(Module, Debug)]
pub struct Mlp {
    /// `[hidden, intermediate]`
    pub gate_proj: Projection,
    /// `[hidden, intermediate]`
    pub up_proj: Projection,
    /// `[intermediate, hidden]`
    pub down_proj: Projection,
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
            Projection::build(source, &format!("{name}.{part}"), shape, config.mlp_bias, device)
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
        let gate = self.gate_proj.forward(input.clone());
        self.down_proj.forward(swiglu(gate, self.up_proj.forward(input)))
    }

    /// The same for decoding.
    pub(crate) fn packed(self) -> Self {
        Mlp {
            gate_proj: self.gate_proj.packed(),
            up_proj: self.up_proj.packed(),
            down_proj: self.down_proj.packed(),
        }
    }
}
