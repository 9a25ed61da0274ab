//! Root mean square norm.

use burn::module::Param;
use burn::prelude::*;
use sapo_kernels::rms_norm;

use crate::error::ModelError;
use crate::source::{WeightSource, vector};

/// `x / sqrt(mean(x^2) + eps) * weight` over the last dimension.
///
/// Burn has the same module, but names its parameter `gamma`, where files say `weight`.
#[derive(Module, Debug)]
pub struct RmsNorm {
    /// The scale of each feature. `[width]`
    pub weight: Param<Tensor<1>>,
    /// Added to the mean square.
    pub epsilon: f64,
}

impl RmsNorm {
    pub(crate) fn build(
        source: &mut dyn WeightSource,
        name: &str,
        width: usize,
        epsilon: f64,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let weight = vector(source, &format!("{name}.weight"), width, device)?;
        Ok(RmsNorm { weight, epsilon })
    }

    /// Normalises each vector of the last dimension; the mean square is taken in f32.
    ///
    /// # Shapes
    /// - input and output: `[.., width]`
    pub fn forward<const D: usize>(&self, input: Tensor<D>) -> Tensor<D> {
        rms_norm(input, self.weight.val(), self.epsilon)
    }
}
