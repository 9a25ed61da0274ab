//! Warm starts: next-token learning from streams that somebody else played.

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::prelude::*;

use crate::batch::{TokenBlock, group_by_length};
use crate::learner::Learner;
use crate::model::CausalLm;
use crate::value::ActionSoftmax;

/// A stream to learn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// Token ids, at least two.
    pub tokens: Vec<u32>,
    /// How much each token counts as something to predict; 0 leaves it out. As long as `tokens`; the
    /// first is never predicted.
    pub weights: Vec<f32>,
}

/// What a step of imitation did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImitationReport {
    /// Weighted mean cross-entropy before the step, in nats.
    pub loss: f32,
    /// Global gradient norm before clipping.
    pub gradient_norm: f32,
}

impl<M: CausalLm + Module> Learner<M> {
    /// One optimizer step on the weighted mean cross-entropy of `lessons`, at learning rate `rate`.
    ///
    /// A step whose gradient is not finite is left out; its report says so with its norm.
    pub fn imitate(
        &mut self,
        softmax: &ActionSoftmax,
        lessons: &[&Lesson],
        rate: f64,
    ) -> ImitationReport {
        let total: f32 = lessons.iter().flat_map(|lesson| lesson.weights.iter().skip(1)).sum();
        if total <= 0.0 {
            return ImitationReport::default();
        }
        let lengths: Vec<usize> = lessons.iter().map(|lesson| lesson.tokens.len()).collect();
        let mut accumulator = GradientsAccumulator::new();
        let mut losses = Vec::new();
        for group in group_by_length(&lengths, self.micro_batch_tokens()) {
            let group: Vec<&Lesson> = group.into_iter().map(|index| lessons[index]).collect();
            let Some(loss) = cross_entropy(self.model(), softmax, &group, total, &self.device())
            else {
                continue;
            };
            losses.push(loss.clone().detach());
            let gradients = GradientsParams::from_grads(loss.backward(), self.model());
            accumulator.accumulate(self.model(), gradients);
        }
        let loss = Tensor::cat(losses, 0).sum().into_scalar::<f32>();
        let gradient_norm = self.descend(accumulator.grads(), rate);
        ImitationReport { loss, gradient_norm }
    }
}

/// The share of `lessons` in a mean over a weight of `total`; `None` if nothing in them counts. `[1]`
fn cross_entropy<M: CausalLm>(
    model: &M,
    softmax: &ActionSoftmax,
    lessons: &[&Lesson],
    total: f32,
    device: &Device,
) -> Option<Tensor<1>> {
    let rows: Vec<&[u32]> = lessons.iter().map(|lesson| &lesson.tokens[..]).collect();
    let block = TokenBlock::new(&rows, device);
    let [rows, time] = block.tokens.dims();
    let (mut places, mut following, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for (row, lesson) in lessons.iter().enumerate() {
        for position in 1..lesson.tokens.len() {
            if lesson.weights[position] != 0.0 {
                places.push((row * time + position - 1) as i32);
                following.push(lesson.tokens[position] as i32);
                weights.push(lesson.weights[position] / total);
            }
        }
    }
    let count = places.len();
    if count == 0 {
        return None;
    }
    let int = |numbers| Tensor::<1, Int>::from_data(TensorData::new(numbers, [count]), device);
    let weights = Tensor::<1>::from_data(TensorData::new(weights, [count]), device);
    let hidden = model.hidden(block.tokens.clone(), &block.placement, None);
    let width = hidden.dims()[2];
    let hidden = hidden.reshape([rows * time, width]).select(0, int(places));
    let scores = softmax.score(model.logits(hidden), int(following));
    Some(-(scores.log_probs * weights).sum())
}
