use burn::prelude::*;
use rayon::prelude::*;

use crate::flex::{FlexTensor, Input, Inputs, Kernel, contiguous, like, numbers};
use crate::lanes::{rows_a_thread, sigmoid, vectorized};
use crate::plain;

/// The gated unit of a decoder's feed-forward block: `silu(gate) * up`, with `silu(x) = x * sigmoid(x)`
/// (Shazeer, "GLU Variants Improve Transformer", arXiv 2002.05202).
///
/// # Shapes
/// - gate, up and output: the same
///
/// # Panics
/// If the shapes differ.
pub fn swiglu<const D: usize>(gate: Tensor<D>, up: Tensor<D>) -> Tensor<D> {
    assert_eq!(gate.dims(), up.dims(), "a gate for each number");
    match Inputs::gather([Input::of(&gate), Input::of(&up)]) {
        Some(inputs) => inputs.run(Swiglu),
        None => plain::swiglu(gate, up),
    }
}

#[derive(Clone, Debug)]
struct Swiglu;

impl Kernel<2> for Swiglu {
    type Kept = [FlexTensor; 2];

    fn forward(&self, inputs: [FlexTensor; 2], _is_tracked: bool) -> (FlexTensor, Self::Kept) {
        let [gate, up] = inputs.map(contiguous);
        let mut output = vec![0.0; numbers(&gate).len()];
        let step = rows_a_thread(output.len(), 1);
        output
            .par_chunks_mut(step)
            .zip(numbers(&gate).par_chunks(step))
            .zip(numbers(&up).par_chunks(step))
            .for_each(|((output, gate), up)| forward(output, gate, up));
        (like(&gate, output), [gate, up])
    }

    fn backward(
        &self,
        [gate, up]: Self::Kept,
        gradient: FlexTensor,
        _wanted: [bool; 2],
    ) -> [FlexTensor; 2] {
        let gradient = contiguous(gradient);
        let count = numbers(&gate).len();
        let (mut of_gate, mut of_up) = (vec![0.0; count], vec![0.0; count]);
        let step = rows_a_thread(count, 1);
        of_gate
            .par_chunks_mut(step)
            .zip(of_up.par_chunks_mut(step))
            .zip(numbers(&gate).par_chunks(step).zip(numbers(&up).par_chunks(step)))
            .zip(numbers(&gradient).par_chunks(step))
            .for_each(|((outputs, (gate, up)), gradient)| backward(outputs, gate, up, gradient));
        [like(&gate, of_gate), like(&up, of_up)]
    }
}

fn forward(output: &mut [f32], gate: &[f32], up: &[f32]) {
    vectorized(|| {
        for ((output, &gate), &up) in output.iter_mut().zip(gate).zip(up) {
            *output = gate * sigmoid(gate) * up;
        }
    });
}

/// With `s = sigmoid(g)`: the derivative of `g s` is `s (1 + g (1 - s))`.
fn backward(
    (of_gate, of_up): (&mut [f32], &mut [f32]),
    gate: &[f32],
    up: &[f32],
    gradient: &[f32],
) {
    vectorized(|| {
        let outputs = of_gate.iter_mut().zip(of_up);
        for (((of_gate, of_up), (&gate, &up)), &gradient) in
            outputs.zip(gate.iter().zip(up)).zip(gradient)
        {
            let open = sigmoid(gate);
            *of_gate = gradient * up * open * (1.0 + gate * (1.0 - open));
            *of_up = gradient * gate * open;
        }
    });
}
