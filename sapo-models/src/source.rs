//! [`WeightSource`]: where a decoder's numbers come from when it is put together.

use burn::module::Param;
use burn::prelude::*;

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
