use burn::backend::Flex;
use burn::optim::{AdamWConfig, AdamWState, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::prelude::*;
use rayon::prelude::*;

use crate::flex::{FlexTensor, Input, Inputs, contiguous, numbers};
use crate::lanes::{rows_a_thread, vectorized};

/// AdamW (Loshchilov and Hutter, arXiv 1711.05101): Burn's, in one pass over memory where the device allows
/// it, with the moments changed in place.
///
/// ```text
/// m <- beta_1 m + (1 - beta_1) g,   v <- beta_2 v + (1 - beta_2) g^2
/// p <- (1 - rate decay) p - rate (m / (1 - beta_1^t)) / (sqrt(v / (1 - beta_2^t)) + epsilon)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// `beta_1`
    pub beta_1: f32,
    /// `beta_2`
    pub beta_2: f32,
    /// `epsilon`
    pub epsilon: f32,
    /// Decoupled weight decay.
    pub weight_decay: f32,
}

impl Optimizer for AdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamWState<D>>,
    ) -> (Tensor<D>, Option<AdamWState<D>>) {
        let Some(AdamWState { momentum }) = state else {
            return self.plain(rate, parameter, gradient, None);
        };
        let AdaptiveMomentumState { time, moment_1, moment_2, .. } = momentum;
        let tensors = [&parameter, &gradient, &moment_1, &moment_2].map(Input::of);
        let Some(Inputs::Plain(inputs)) = Inputs::gather(tensors) else {
            let momentum = AdaptiveMomentumState::new(time, moment_1, moment_2);
            return self.plain(rate, parameter, gradient, Some(AdamWState { momentum }));
        };
        // Handles on the same numbers would have them copied.
        drop((parameter, gradient, moment_1, moment_2));
        let time = time + 1;
        let [parameter, moment_1, moment_2] = self.fused(rate, inputs, time);
        let tensor = |primitive| Tensor::from_primitive::<Flex>(primitive);
        let momentum = AdaptiveMomentumState::new(time, tensor(moment_1), tensor(moment_2));
        (tensor(parameter), Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(mut state: AdamWState<D>, device: &Device) -> AdamWState<D> {
        state.momentum = state.momentum.to_device(device);
        state
    }
}

impl AdamW {
    /// Burn's own.
    fn plain<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamWState<D>>,
    ) -> (Tensor<D>, Option<AdamWState<D>>) {
        let AdamW { beta_1, beta_2, epsilon, weight_decay } = *self;
        let plain = AdamWConfig::new()
            .with_beta_1(beta_1)
            .with_beta_2(beta_2)
            .with_epsilon(epsilon)
            .with_weight_decay(weight_decay)
            .build();
        plain.step(rate, parameter, gradient, state)
    }

    fn fused(&self, rate: LearningRate, inputs: [FlexTensor; 4], time: usize) -> [FlexTensor; 3] {
        let [mut parameter, gradient, mut moment_1, mut moment_2] = inputs.map(contiguous);
        let AdamW { beta_1, beta_2, epsilon, weight_decay } = *self;
        let correction = |beta: f32| 1.0 / (1.0 - beta.powi(time as i32));
        let (correction_1, correction_2) = (correction(beta_1), correction(beta_2));
        let kept = (1.0 - rate * f64::from(weight_decay)) as f32;
        let rate = rate as f32;
        let share = rows_a_thread(numbers(&gradient).len(), 1);
        let shares = (parameter.storage_mut::<f32>().par_chunks_mut(share))
            .zip(moment_1.storage_mut::<f32>().par_chunks_mut(share))
            .zip(moment_2.storage_mut::<f32>().par_chunks_mut(share))
            .zip(numbers(&gradient).par_chunks(share));
        shares.for_each(|(((parameters, firsts), seconds), gradients)| {
            vectorized(|| {
                let moments = firsts.iter_mut().zip(seconds);
                for ((p, (m, v)), &g) in parameters.iter_mut().zip(moments).zip(gradients) {
                    *m = beta_1 * *m + (1.0 - beta_1) * g;
                    *v = beta_2 * *v + (1.0 - beta_2) * g * g;
                    let divisor = (*v * correction_2).sqrt() + epsilon;
                    *p = kept * *p - rate * (*m * correction_1) / divisor;
                }
            });
        });
        [parameter, moment_1, moment_2]
    }
}
