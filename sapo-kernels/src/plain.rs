//! The same operations, composed of Burn's own: for devices without a kernel, and to compare with.

use burn::prelude::*;
use burn::tensor::DType;
use burn::tensor::activation::{silu, softmax};

/// See [`swiglu`](crate::swiglu()).
pub fn swiglu<const D: usize>(gate: Tensor<D>, up: Tensor<D>) -> Tensor<D> {
    silu(gate) * up
}

/// See [`masked_softmax`](crate::masked_softmax).
pub fn masked_softmax(scores: Tensor<5>, bias: Tensor<5>) -> Tensor<5> {
    softmax(scores + bias, 4)
}

/// See [`rms_norm`](crate::rms_norm()).
pub fn rms_norm<const D: usize>(input: Tensor<D>, weight: Tensor<1>, epsilon: f64) -> Tensor<D> {
    let dtype = input.dtype();
    let wide = input.cast(DType::F32);
    let mean_square = wide.clone().square().mean_dim(D - 1);
    let inverse = (mean_square + epsilon).sqrt().recip();
    (wide * inverse).cast(dtype) * weight.unsqueeze()
}

/// See [`rotate`](crate::rotate()).
pub fn rotate(input: Tensor<3>, cos: Tensor<2>, sin: Tensor<2>, scale: f64) -> Tensor<3> {
    let half = input.dims()[2] / 2;
    let (cos, sin) = (cos.unsqueeze_dim(1), sin.unsqueeze_dim(1));
    let first = input.clone().narrow(2, 0, half);
    let second = input.narrow(2, half, half);
    let turned =
        [first.clone() * cos.clone() - second.clone() * sin.clone(), second * cos + first * sin];
    Tensor::cat(turned.to_vec(), 2) * scale
}
