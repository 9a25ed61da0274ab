use burn::backend::TensorMetadata;
use burn::prelude::*;
use rayon::prelude::*;

use crate::flex::{FlexTensor, Input, Inputs, Kernel, contiguous, like, numbers};
use crate::lanes::{rows_a_thread, vectorized};
use crate::plain;

/// Rotates pairs `(i, i + width / 2)` of each head by its token's angles, and scales the result.
///
/// ```text
/// y[i] = scale (x[i] cos[i] - x[i + d/2] sin[i]),   y[i + d/2] = scale (x[i + d/2] cos[i] + x[i] sin[i])
/// ```
/// Angles are constants: no gradient flows into them.
///
/// # Shapes
/// - input and output: `[tokens, heads, width]`, an even width
/// - cos and sin: `[tokens, width / 2]`
///
/// # Panics
/// If the shapes do not fit.
pub fn rotate(input: Tensor<3>, cos: Tensor<2>, sin: Tensor<2>, scale: f64) -> Tensor<3> {
    let [tokens, _, width] = input.dims();
    let angles = [tokens, width / 2];
    assert!(width.is_multiple_of(2), "heads of an even width");
    assert_eq!([cos.dims(), sin.dims()], [angles; 2], "angles for each token and pair");
    let kernel = Rotate::new(&cos, &sin, scale as f32);
    match (Inputs::gather([Input::of(&input)]), kernel) {
        (Some(inputs), Some(kernel)) => inputs.run(kernel),
        _ => plain::rotate(input, cos, sin, scale),
    }
}

#[derive(Clone, Debug)]
struct Rotate {
    /// `[tokens, width / 2]`
    cos: FlexTensor,
    /// `[tokens, width / 2]`
    sin: FlexTensor,
    scale: f32,
}

impl Rotate {
    fn new(cos: &Tensor<2>, sin: &Tensor<2>, scale: f32) -> Option<Self> {
        let constant = |tensor: &Tensor<2>| Some(contiguous(Input::of(tensor)?.into_plain()));
        Some(Rotate { cos: constant(cos)?, sin: constant(sin)?, scale })
    }

    /// Rotates by the angles times `direction`, which is 1 or -1.
    fn turn(&self, input: &FlexTensor, direction: f32) -> FlexTensor {
        let [tokens, heads, width] = input.shape().dims();
        let half = width / 2;
        let mut output = vec![0.0; tokens * heads * width];
        if output.is_empty() {
            return like(input, output);
        }
        let row = heads * width;
        let step = rows_a_thread(tokens, row);
        let shares = output.par_chunks_mut(step * row).zip(numbers(input).par_chunks(step * row));
        let angles = numbers(&self.cos).par_chunks(step * half);
        let angles = angles.zip(numbers(&self.sin).par_chunks(step * half));
        shares.zip(angles).for_each(|((outputs, inputs), (cos, sin))| {
            let tokens = outputs.chunks_exact_mut(row).zip(inputs.chunks_exact(row));
            let angles = cos.chunks_exact(half).zip(sin.chunks_exact(half));
            vectorized(|| {
                for ((outputs, inputs), (cos, sin)) in tokens.zip(angles) {
                    let heads = outputs.chunks_exact_mut(width).zip(inputs.chunks_exact(width));
                    for (output, input) in heads {
                        let (first, second) = output.split_at_mut(half);
                        let (x, y) = input.split_at(half);
                        for i in 0..half {
                            let (c, s) = (cos[i] * self.scale, sin[i] * self.scale * direction);
                            first[i] = x[i] * c - y[i] * s;
                            second[i] = y[i] * c + x[i] * s;
                        }
                    }
                }
            });
        });
        like(input, output)
    }
}

impl Kernel<1> for Rotate {
    type Kept = ();

    fn forward(&self, [input]: [FlexTensor; 1], _is_tracked: bool) -> (FlexTensor, ()) {
        (self.turn(&contiguous(input), 1.0), ())
    }

    /// The transpose of a rotation turns back.
    fn backward(&self, (): (), gradient: FlexTensor, _wanted: [bool; 1]) -> [FlexTensor; 1] {
        [self.turn(&contiguous(gradient), -1.0)]
    }
}
