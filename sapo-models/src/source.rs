//! [`WeightSource`]: where a decoder's numbers come from when it is put together, and its projections.

use burn::module::Param;
use burn::nn::Linear;
use burn::prelude::*;
use sapo_kernels::matmul;

use crate::error::ModelError;

/// Hands out weights by their Hugging Face names.
pub(crate) trait WeightSource {
    /// The values of tensor `name`, row by row, in the shape that Hugging Face stores.
    fn floats(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError>;
}

/// A vector of weights.
pub(crate) fn vector(
    source: &mut dyn WeightSource,
    name: &str,
    length: usize,
    device: &Device,
) -> Result<Param<Tensor<1>>, ModelError> {
    let values = source.floats(name, &[length])?;
    Ok(Param::from_tensor(Tensor::from_data(TensorData::new(values, [length]), device)))
}

/// A matrix of weights as it is stored.
pub(crate) fn matrix(
    source: &mut dyn WeightSource,
    name: &str,
    shape: [usize; 2],
    device: &Device,
) -> Result<Param<Tensor<2>>, ModelError> {
    let values = source.floats(name, &shape)?;
    Ok(Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device)))
}

/// A projection. Hugging Face stores `[output, input]`, Burn multiplies by `[input, output]`.
pub(crate) fn linear(
    source: &mut dyn WeightSource,
    name: &str,
    [input, output]: [usize; 2],
    has_bias: bool,
    device: &Device,
) -> Result<Linear, ModelError> {
    let stored = source.floats(&format!("{name}.weight"), &[output, input])?;
    // Transposed here, once, so that parameters, gradients and moments all lie contiguous in memory.
    let values = transpose(&stored, [output, input]);
    let weight = Tensor::from_data(TensorData::new(values, [input, output]), device);
    let bias = match has_bias {
        true => Some(vector(source, &format!("{name}.bias"), output, device)?),
        false => None,
    };
    Ok(Linear { weight: Param::from_tensor(weight), bias })
}

/// What `layer` makes of `input`.
///
/// # Shapes
/// - input: `[tokens, input]`
/// - output: `[tokens, output]`
pub(crate) fn project(layer: &Linear, input: Tensor<2>) -> Tensor<2> {
    let output = matmul(input, layer.weight.val());
    match &layer.bias {
        Some(bias) => output + bias.val().unsqueeze(),
        None => output,
    }
}

/// The transpose of a matrix of `rows` x `columns` that is stored row by row.
pub(crate) fn transpose(values: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
    const TILE: usize = 32;
    let mut out = vec![0.0; values.len()];
    for row_start in (0..rows).step_by(TILE) {
        for column_start in (0..columns).step_by(TILE) {
            for row in row_start..rows.min(row_start + TILE) {
                for column in column_start..columns.min(column_start + TILE) {
                    out[column * rows + row] = values[row * columns + column];
                }
            }
        }
    }
    out
}
