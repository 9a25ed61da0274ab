//! Gradients of a whole model: their global norm, and clipping by it.

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::prelude::*;

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
            self.sums.push(gradient.square().sum());
        }
    }
}

struct Scale<'a> {
    gradients: &'a mut GradientsParams,
    factor: f32,
}

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let id: ParamId = param.id;
        if let Some(gradient) = self.gradients.remove::<D>(id) {
            self.gradients.register::<D>(id, gradient * self.factor);
        }
    }
}
