//! Warm starts: next-token learning from streams that somebody else played.

use burn::module::Module;
use burn::prelude::*;
use serde::{Deserialize, Serialize};

use crate::batch::{TokenBlock, float_tensor, group_by_length, int_tensor};
use crate::learner::{Learner, device_of};
use crate::model::CausalLm;
use crate::pass::Pass;
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

/// What a step of imitation did. `docs/metrics.md` defines each number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImitationReport {
    /// Weighted mean cross-entropy before the step, in nats.
    pub loss: f32,
    /// Global gradient norm before clipping.
    pub gradient_norm: f32,
}

impl<M: CausalLm + Module> Learner<M> {
    /// One optimizer step on the weighted mean cross-entropy of `lessons`, at learning rate `rate`.
    ///
    /// Where nothing in them counts, nothing happens and the report is 0. A step whose gradient is not
    /// finite is left out; its report says so with its norm.
    ///
    /// # Panics
    /// If a lesson has not one weight a token, or a token that the model does not have.
    pub fn imitate(
        &mut self,
        softmax: &ActionSoftmax,
        lessons: &[&Lesson],
        rate: f64,
    ) -> ImitationReport {
        let vocabulary = self.model().vocabulary();
        lessons.iter().for_each(|lesson| lesson.check(vocabulary));
        let total: f32 = lessons.iter().map(|lesson| lesson.weight()).sum();
        if total <= 0.0 {
            return ImitationReport::default();
        }
        let device = device_of(self.model());
        let lengths: Vec<usize> = lessons.iter().map(|lesson| lesson.tokens.len()).collect();
        let groups: Vec<Vec<usize>> = group_by_length(&lengths, self.micro_batch_tokens())
            .into_iter()
            .filter(|group| group.iter().any(|&index| lessons[index].weight() > 0.0))
            .collect();
        let checkpointing = self.checkpointing();
        let (gradients, losses) = self.sum_gradients(groups, |model, group, sum| {
            let group: Vec<&Lesson> = group.iter().map(|&index| lessons[index]).collect();
            let mut pass = Pass::new(model, checkpointing);
            let loss = cross_entropy(&mut pass, softmax, &group, total, &device);
            pass.backward(loss.clone(), sum);
            loss.detach()
        });
        let loss = Tensor::cat(losses, 0).sum().into_scalar::<f32>();
        let gradient_norm = self.descend(gradients, rate);
        ImitationReport { loss, gradient_norm }
    }
}

impl Lesson {
    fn check(&self, vocabulary: usize) {
        let (tokens, weights) = (self.tokens.len(), self.weights.len());
        assert_eq!(tokens, weights, "a lesson of {tokens} tokens has {weights} weights");
        let largest = self.tokens.iter().copied().max().unwrap_or(0);
        // Not every device notices by itself.
        let known = (largest as usize) < vocabulary;
        assert!(known, "token {largest} of a lesson is outside the model's {vocabulary} logits");
    }

    /// The sum of the weights of the tokens that are predicted.
    fn weight(&self) -> f32 {
        self.weights.iter().skip(1).sum()
    }
}

/// What is predicted, and where, in a padded block of lessons.
struct NextTokens {
    /// Indices into the block's tokens, row after row.
    places: Vec<i32>,
    /// The token that follows each place.
    following: Vec<i32>,
    /// The weight of each place in the loss.
    weights: Vec<f32>,
}

impl NextTokens {
    /// The tokens of `lessons` that count.
    fn of(lessons: &[&Lesson], total: f32) -> Self {
        let time = lessons.iter().map(|lesson| lesson.tokens.len()).max().unwrap_or(0);
        let mut next = NextTokens { places: vec![], following: vec![], weights: vec![] };
        for (row, lesson) in lessons.iter().enumerate() {
            for (position, &weight) in lesson.weights.iter().enumerate().skip(1) {
                if weight != 0.0 {
                    next.places.push((row * time + position - 1) as i32);
                    next.following.push(lesson.tokens[position] as i32);
                    next.weights.push(weight / total);
                }
            }
        }
        next
    }
}

/// The share of `lessons` in the weighted mean cross-entropy. `[1]`
fn cross_entropy<M: CausalLm + Module>(
    pass: &mut Pass<'_, M>,
    softmax: &ActionSoftmax,
    lessons: &[&Lesson],
    total: f32,
    device: &Device,
) -> Tensor<1> {
    let rows: Vec<&[u32]> = lessons.iter().map(|lesson| &lesson.tokens[..]).collect();
    let block = TokenBlock::new(&rows, device);
    let NextTokens { places, following, weights } = NextTokens::of(lessons, total);
    let hidden = pass.hidden(&block, int_tensor(places, device));
    let scores = pass.model().score(hidden, int_tensor(following, device), softmax);
    -(scores.log_probs * float_tensor(weights, device)).sum()
}

#[cfg(test)]
mod tests;
