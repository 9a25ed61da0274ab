//! Rotary positions that rotate the two halves of a head, as Qwen and Llama files expect.
//!
//! ```text
//! angle(p, i) = p / theta^(2i / d)                       i < d / 2
//! y[i]        = x[i] cos - x[i + d/2] sin
//! y[i + d/2]  = x[i + d/2] cos + x[i] sin
//! ```
//! RoFormer, arXiv 2104.09864, equation 34, with the pairs `(i, i + d/2)` in place of `(2i, 2i + 1)`:
//! Burn's own `RotaryEncoding` pairs neighbours and would read these weights wrong.

use burn::module::Module;
use burn::prelude::*;
use burn::tensor::DType;
use sapo_kernels::rotate;

/// The frequencies of one head.
#[derive(Module, Debug)]
pub struct Rope {
    inverse_frequencies: Vec<f32>,
}

impl Rope {
    /// Frequencies for heads of an even width.
    pub fn new(head_dim: usize, theta: f64) -> Self {
        // In f32, as PyTorch computes them.
        let frequency = |i: usize| 1.0 / (theta as f32).powf(2.0 * i as f32 / head_dim as f32);
        Rope { inverse_frequencies: (0..head_dim / 2).map(frequency).collect() }
    }

    /// The rotation of tokens at `positions`, shared by all layers.
    ///
    /// # Shapes
    /// - positions: `[rows, time]`
    pub(crate) fn at(&self, positions: Tensor<2, Int>, dtype: DType) -> Rotation {
        let [rows, time] = positions.dims();
        let half = self.inverse_frequencies.len();
        let device = positions.device();
        let frequencies = TensorData::new(self.inverse_frequencies.clone(), [1, half]);
        let frequencies = Tensor::<2>::from_data(frequencies, &device);
        let angles = positions.reshape([rows * time, 1]).float().cast(DType::F32) * frequencies;
        Rotation { cos: angles.clone().cos().cast(dtype), sin: angles.sin().cast(dtype) }
    }
}

/// Cosines and sines of some tokens. `[tokens, head_dim / 2]`
#[derive(Clone, Debug)]
pub(crate) struct Rotation {
    cos: Tensor<2>,
    sin: Tensor<2>,
}

impl Rotation {
    /// Rotates every head, and multiplies by `scale`.
    ///
    /// # Shapes
    /// - heads and output: `[tokens, heads, head_dim]`
    pub(crate) fn apply(&self, heads: Tensor<3>, scale: f64) -> Tensor<3> {
        rotate(heads, self.cos.clone(), self.sin.clone(), scale)
    }
}
