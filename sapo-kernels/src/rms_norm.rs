use burn::prelude::*;
use rayon::prelude::*;

use crate::flex::{FlexTensor, Input, Inputs, Kernel, contiguous, like, numbers};
use crate::lanes::{sum_of, vectorized};
use crate::plain;

/// `x / sqrt(mean(x^2) + epsilon) * weight` over the last dimension; the mean is taken in single precision
/// (Zhang and Sennrich, arXiv 1910.07467).
///
/// # Shapes
/// - input and output: `[.., width]`
/// - weight: `[width]`
///
/// # Panics
/// If the widths differ.
pub fn rms_norm<const D: usize>(input: Tensor<D>, weight: Tensor<1>, epsilon: f64) -> Tensor<D> {
    assert_eq!(input.dims()[D - 1..], weight.dims(), "a weight for each number of a row");
    match Inputs::gather([Input::of(&input), Input::of(&weight)]) {
        Some(inputs) => inputs.run(RmsNorm { epsilon: epsilon as f32 }),
        None => plain::rms_norm(input, weight, epsilon),
    }
}

#[derive(Clone, Debug)]
struct RmsNorm {
    epsilon: f32,
}

impl Kernel<2> for RmsNorm {
    type Kept = [FlexTensor; 2];

    fn forward(&self, inputs: [FlexTensor; 2], _is_tracked: bool) -> (FlexTensor, Self::Kept) {
        let [input, weight] = inputs.map(contiguous);
        let width = numbers(&weight).len();
        let step = rows_at_once(width) * width;
        let mut output = vec![0.0; numbers(&input).len()];
        let shares = output.par_chunks_mut(step).zip(numbers(&input).par_chunks(step));
        shares.for_each(|(outputs, inputs)| {
            let rows = outputs.chunks_exact_mut(width).zip(inputs.chunks_exact(width));
            vectorized(|| {
                for (output, input) in rows {
                    let inverse = self.inverse(input);
                    for ((output, &x), &w) in output.iter_mut().zip(input).zip(numbers(&weight)) {
                        *output = x * inverse * w;
                    }
                }
            });
        });
        (like(&input, output), [input, weight])
    }

    /// With `r = 1 / sqrt(mean(x^2) + epsilon)` and `h = g w`:
    /// `dx = r (h - x r^2 mean(h x))`, `dw = sum over rows of g x r`.
    fn backward(
        &self,
        [input, weight]: Self::Kept,
        gradient: FlexTensor,
        _wanted: [bool; 2],
    ) -> [FlexTensor; 2] {
        let gradient = contiguous(gradient);
        let weights = numbers(&weight);
        let width = weights.len();
        let step = rows_at_once(width) * width;
        let mut of_input = vec![0.0; numbers(&input).len()];
        let shares = of_input.par_chunks_mut(step).zip(numbers(&input).par_chunks(step));
        let shares = shares.zip(numbers(&gradient).par_chunks(step));
        let of_weight: Vec<Vec<f32>> = shares
            .map(|((outputs, inputs), gradients)| self.derive(outputs, inputs, gradients, weights))
            .collect();
        let of_weight = of_weight.into_iter().fold(vec![0.0; width], |mut sum, part| {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            sum
        });
        [like(&input, of_input), like(&weight, of_weight)]
    }
}

/// How many rows are taken together: whatever the number of threads, so that sums do not depend on it.
fn rows_at_once(width: usize) -> usize {
    (1_usize << 15).div_ceil(width)
}

impl RmsNorm {
    /// Writes the gradients of some rows and returns those of the weights from them.
    fn derive(
        &self,
        of_input: &mut [f32],
        inputs: &[f32],
        gradients: &[f32],
        weights: &[f32],
    ) -> Vec<f32> {
        let width = weights.len();
        let mut of_weight = vec![0.0; width];
        let rows = of_input.chunks_exact_mut(width).zip(inputs.chunks_exact(width));
        vectorized(|| {
            for ((output, input), gradient) in rows.zip(gradients.chunks_exact(width)) {
                let inverse = self.inverse(input);
                for (index, output) in output.iter_mut().enumerate() {
                    *output = gradient[index] * weights[index];
                    of_weight[index] += gradient[index] * input[index] * inverse;
                }
                let along = sum_of(output, input, |h, x| h * x) / width as f32;
                for (output, &x) in output.iter_mut().zip(input) {
                    *output = inverse * (*output - x * inverse * inverse * along);
                }
            }
        });
        of_weight
    }

    #[inline(always)]
    fn inverse(&self, row: &[f32]) -> f32 {
        let mean_square = sum_of(row, row, |x, _| x * x) / row.len() as f32;
        1.0 / (mean_square + self.epsilon).sqrt()
    }
}
