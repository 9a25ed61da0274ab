use burn::backend::TensorMetadata;
use burn::prelude::*;
use rayon::prelude::*;

use crate::flex::{FlexTensor, Input, Inputs, Kernel, contiguous, like, numbers};
use crate::lanes::{exp, max, rows_a_thread, sum_of, vectorized};
use crate::plain;

/// The weights of attention: `softmax(scores + bias)` over the keys, in place where the scores are not
/// used elsewhere. The bias, minus infinity where a key is hidden, has no gradient.
///
/// # Shapes
/// - scores and output: `[rows, groups, heads / groups, time, keys]`
/// - bias: `[rows, 1, 1, time, keys]`
///
/// # Panics
/// If the shapes do not fit.
pub fn masked_softmax(scores: Tensor<5>, bias: Tensor<5>) -> Tensor<5> {
    let [rows, _, _, time, keys] = scores.dims();
    assert_eq!(bias.dims(), [rows, 1, 1, time, keys], "a bias for each row, query and key");
    let kernel = Input::of(&bias.clone().detach()).map(MaskedSoftmax::new);
    match (Inputs::gather([Input::of(&scores)]), kernel) {
        (Some(inputs), Some(kernel)) => {
            drop(scores);
            inputs.run(kernel)
        }
        _ => plain::masked_softmax(scores, bias),
    }
}

#[derive(Clone, Debug)]
struct MaskedSoftmax {
    /// `[rows, 1, 1, time, keys]`
    bias: FlexTensor,
}

impl MaskedSoftmax {
    fn new(bias: Input) -> Self {
        MaskedSoftmax { bias: contiguous(bias.into_plain()) }
    }
}

impl Kernel<1> for MaskedSoftmax {
    type Kept = FlexTensor;

    fn forward(&self, [scores]: [FlexTensor; 1], _is_tracked: bool) -> (FlexTensor, FlexTensor) {
        let scores = contiguous(scores);
        let [_, groups, share, time, keys] = scores.shape().dims();
        let bias = numbers(&self.bias);
        let heads = groups * share;
        let row = |scores: &mut [f32], index: usize| {
            let (row, query) = (index / (heads * time), index % time);
            let start = (row * time + query) * keys;
            softmax(scores, &bias[start..start + keys]);
        };
        let output = in_place(scores, keys, row);
        (output.clone(), output)
    }

    fn backward(
        &self,
        weights: FlexTensor,
        gradient: FlexTensor,
        _wanted: [bool; 1],
    ) -> [FlexTensor; 1] {
        let [_, _, _, _, keys] = weights.shape().dims();
        let weights = numbers(&weights);
        let row = |gradient: &mut [f32], index: usize| {
            backward(gradient, &weights[index * keys..(index + 1) * keys]);
        };
        [in_place(contiguous(gradient), keys, row)]
    }
}

/// Rewrites a tensor row by row, in its own memory if nobody else looks at it.
fn in_place(
    mut tensor: FlexTensor,
    width: usize,
    rewrite: impl Fn(&mut [f32], usize) + Sync,
) -> FlexTensor {
    let rewrite_all = |numbers: &mut [f32]| {
        let step = rows_a_thread(numbers.len() / width, width);
        numbers.par_chunks_mut(step * width).enumerate().for_each(|(chunk, rows)| {
            for (row, numbers) in rows.chunks_exact_mut(width).enumerate() {
                rewrite(numbers, chunk * step + row);
            }
        });
    };
    let count = tensor.shape().num_elements();
    if let Some(storage) = tensor.try_storage_mut::<f32>()
        && storage.len() == count
    {
        rewrite_all(storage);
        return tensor;
    }
    let mut copy = numbers(&tensor).to_vec();
    rewrite_all(&mut copy);
    like(&tensor, copy)
}

fn softmax(scores: &mut [f32], bias: &[f32]) {
    vectorized(|| {
        for (score, &bias) in scores.iter_mut().zip(bias) {
            *score += bias;
        }
        let highest = max(scores);
        for score in scores.iter_mut() {
            *score = exp(*score - highest);
        }
        let scale = 1.0 / sum_of(scores, scores, |weight, _| weight);
        for weight in scores.iter_mut() {
            *weight *= scale;
        }
    });
}

/// `ds = w (g - sum(g w))`
fn backward(gradient: &mut [f32], weights: &[f32]) {
    vectorized(|| {
        let mean = sum_of(gradient, weights, |gradient, weight| gradient * weight);
        for (gradient, &weight) in gradient.iter_mut().zip(weights) {
            *gradient = weight * (*gradient - mean);
        }
    });
}
