//! Gradients of a whole model: their global norm, and clipping by it.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::prelude::*;
use burn::tensor::FloatDType;

/// Scales all gradients by one factor so that their global norm is at most `max_norm`.
///
/// Returns the norm before clipping; it is not finite if any gradient is not, and the gradients are then
/// left as they are. Burn's own clipping is per parameter.
pub fn clip_global_norm<M: Module>(
    model: &M,
    gradients: &mut GradientsParams,
    max_norm: f32,
) -> f32 {
    let norm = global_norm(model, gradients);
    if norm.is_finite() && norm > max_norm {
        model.visit(&mut Scale { gradients, factor: max_norm / norm });
    }
    norm
}

/// The square root of the sum of squares over all gradients.
pub fn global_norm<M: Module>(model: &M, gradients: &GradientsParams) -> f32 {
    let mut squares = Squares { gradients, sums: Vec::new() };
    model.visit(&mut squares);
    if squares.sums.is_empty() {
        return 0.0;
    }
    let sums = Tensor::cat(squares.sums, 0).to_data();
    sums.iter::<f32>().map(f64::from).sum::<f64>().sqrt() as f32
}

struct Squares<'a> {
    gradients: &'a GradientsParams,
    sums: Vec<Tensor<1>>,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            // Half precision could neither hold nor sum the squares.
            self.sums.push(gradient.cast(FloatDType::F32).square().sum());
        }
    }
}

struct Scale<'a> {
    gradients: &'a mut GradientsParams,
    factor: f32,
}

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            self.gradients.register::<D>(param.id, gradient * self.factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TinyLm, assert_close, floats};

    /// A gradient of 0.5 at each of the 28 weights of `words` and of -1 at each of the 28 of `head`.
    fn gradients(model: &TinyLm, scale: f32) -> GradientsParams {
        let loss = (model.words.val().sum() * 0.5 - model.head.val().sum()) * scale;
        GradientsParams::from_grads(loss.backward(), model)
    }

    // By hand: sqrt(28 (0.25 + 1)) = sqrt(35).
    #[test]
    fn the_global_norm_is_over_all_weights() {
        let model = TinyLm::new(0);
        assert_close(&[global_norm(&model, &gradients(&model, 1.0))], &[35.0_f32.sqrt()], 1e-6);
        assert_eq!(global_norm(&model, &GradientsParams::new()), 0.0);
    }

    #[test]
    fn clipping_scales_all_gradients_by_one_factor() {
        let model = TinyLm::new(0);
        let mut clipped = gradients(&model, 1.0);
        let norm = clip_global_norm(&model, &mut clipped, 0.5);
        assert_close(&[norm], &[35.0_f32.sqrt()], 1e-6);
        assert_close(&[global_norm(&model, &clipped)], &[0.5], 1e-6);
        let words = floats(&clipped.get::<2>(model.words.id).unwrap());
        assert_close(&words, &[0.5 * 0.5 / 35.0_f32.sqrt(); 28], 1e-6);
    }

    #[test]
    fn gradients_within_the_bound_are_left_as_they_are() {
        let model = TinyLm::new(0);
        let mut kept = gradients(&model, 1.0);
        clip_global_norm(&model, &mut kept, 6.0);
        assert_eq!(floats(&kept.get::<2>(model.head.id).unwrap()), [-1.0; 28]);
    }

    #[test]
    fn a_norm_that_is_not_finite_is_told_and_not_divided_by() {
        let model = TinyLm::new(0);
        let mut broken = gradients(&model, f32::INFINITY);
        assert!(!clip_global_norm(&model, &mut broken, 1.0).is_finite());
        assert_eq!(floats(&broken.get::<2>(model.words.id).unwrap()), [f32::INFINITY; 28]);
    }
}
