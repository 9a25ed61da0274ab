//! Linear maps, and the form of them that decoding wants.

use burn::module::Param;
use burn::prelude::*;
use sapo_kernels::PackedMatrix;

use crate::error::ModelError;
use crate::source::{WeightSource, transpose, vector};

/// Measured: products of some thousand rows are a tenth faster by the general routine, of a hundred a
/// fifth slower.
const MOST_ROWS: usize = 256;

/// `x W + b`.
///
/// Burn's `Linear` with, while decoding, a second copy of the weights that is read fastest.
#[derive(Module, Debug)]
pub struct Projection {
    /// `[input, output]`
    pub weight: Param<Tensor<2>>,
    /// `[output]`
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    packed: Option<PackedMatrix>,
}

impl Projection {
    /// Hugging Face stores `[output, input]`, Burn multiplies by `[input, output]`.
    pub(crate) fn build(
        source: &mut dyn WeightSource,
        name: &str,
        [input, output]: [usize; 2],
        has_bias: bool,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let stored = source.floats(&format!("{name}.weight"), &[output, input])?;
        // Transposed here, once, so that parameters, gradients and moments all lie contiguous in memory.
        let values = transpose(&stored, [output, input]);
        let weight = Tensor::from_data(TensorData::new(values, [input, output]), device);
        let bias = match has_bias {
            true => Some(vector(source, &format!("{name}.bias"), output, device)?),
            false => None,
        };
        Ok(Projection { weight: Param::from_tensor(weight), bias, packed: None })
    }

    /// # Shapes
    /// - input: `[tokens, input]`
    /// - output: `[tokens, output]`
    pub(crate) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let output = multiply(input, self.packed.as_ref(), || self.weight.val());
        match &self.bias {
            Some(bias) => output + bias.val().unsqueeze(),
            None => output,
        }
    }

    /// The same for decoding, from weights that will not change.
    pub(crate) fn packed(self) -> Self {
        Projection { packed: PackedMatrix::new(&self.weight.val()), ..self }
    }
}

/// `input` times a matrix, by its packed form where that is faster.
pub(crate) fn multiply(
    input: Tensor<2>,
    packed: Option<&PackedMatrix>,
    matrix: impl FnOnce() -> Tensor<2>,
) -> Tensor<2> {
    match packed {
        Some(packed) if input.dims()[0] <= MOST_ROWS => packed.multiply(input),
        _ => input.matmul(matrix()),
    }
}
