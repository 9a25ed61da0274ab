//! Weights in half precision, and the copies in single precision that the optimizer changes.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::prelude::*;
use burn::tensor::{DType, FloatDType};

/// `model` with all its weights in `precision`, each as trainable as before.
pub fn cast<M: Module>(model: M, precision: FloatDType) -> M {
    model.map(&mut Cast(precision))
}

/// The precision of a model's trainable weights, where that is half; those that differ go by the first.
pub(crate) fn half_precision<M: Module>(model: &M) -> Option<FloatDType> {
    let mut first = FirstTrainable(None);
    model.visit(&mut first);
    match first.0 {
        Some(DType::BF16) => Some(FloatDType::BF16),
        Some(DType::F16) => Some(FloatDType::F16),
        _ => None,
    }
}

/// Turns gradients into single precision, in which they are summed: small ones would vanish in a sum of
/// halves.
pub(crate) fn widen<M: Module>(model: &M, gradients: &mut GradientsParams) {
    model.visit(&mut Widen(gradients));
}

struct Cast(FloatDType);

impl ModuleMapper for Cast {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|weights| {
            if weights.dtype() == DType::from(self.0) {
                return weights;
            }
            let is_trainable = weights.is_require_grad();
            let is_autodiff = weights.is_autodiff();
            // Outside of the graph, where the result would not be a leaf.
            let cast = weights.without_autodiff().cast(self.0);
            let cast = if is_autodiff { cast.autodiff() } else { cast };
            cast.set_require_grad(is_trainable)
        })
    }
}

struct FirstTrainable(Option<DType>);

impl ModuleVisitor for FirstTrainable {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.0.is_none() && param.is_require_grad() {
            self.0 = Some(param.val().dtype());
        }
    }
}

struct Widen<'a>(&'a mut GradientsParams);

impl ModuleVisitor for Widen<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.0.remove::<D>(param.id) {
            let gradient = match gradient.dtype() {
                DType::F32 => gradient,
                _ => gradient.cast(FloatDType::F32),
            };
            self.0.register::<D>(param.id, gradient);
        }
    }
}
