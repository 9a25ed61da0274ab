//! The joint loss of SAPO.
//!
//! Means are over a whole optimizer step. A micro-batch is given the step's totals with its
//! [`LossBatch`], so its loss is its share of the sum: the shares of any partition add up to the same loss
//! and the same gradient.

mod statistics;
mod terms;

use burn::prelude::*;
use serde::{Deserialize, Serialize};

pub use self::statistics::{LossParts, LossStatistics, RatioStatistics};
pub use self::terms::{KlEstimator, RatioClip, clipped_regression, policy_loss};
use crate::value::Readout;

/// What the model says now about the positions of a [`LossBatch`].
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// `log pi` of each response token, in nats. `[tokens]`
    pub log_probs: Tensor<1>,
    /// The entropy at each response token, in nats. `[tokens]`
    pub entropy: Tensor<1>,
    /// `z[w+] - z[w-]` at the last context position of each turn. `[turns]`
    pub value_logits: Tensor<1>,
    /// `z[w+] - z[w-]` at the last response position of each turn. `[turns]`
    pub action_value_logits: Tensor<1>,
}

/// What a loss compares an [`Evaluation`] with: constants, on the same device (with autodiff).
#[derive(Clone, Debug)]
pub struct LossBatch {
    /// `log pi_old` of each response token, in nats. `[tokens]`
    pub old_log_probs: Tensor<1>,
    /// `log pi_ref` of each response token, where a reference is used. `[tokens]`
    pub reference_log_probs: Option<Tensor<1>>,
    /// The advantage of the turn that each token belongs to. `[tokens]`
    pub advantages: Tensor<1>,
    /// 1 over the tokens of the optimizer step; 0 at padding. `[tokens]`
    pub token_weights: Tensor<1>,
    /// `V / R_max` when the turn was sampled. `[turns]`
    pub old_values: Tensor<1>,
    /// The target of `V / R_max`. `[turns]`
    pub value_targets: Tensor<1>,
    /// `Q / R_max` when the turn was sampled. `[turns]`
    pub old_action_values: Tensor<1>,
    /// The target of `Q / R_max`. `[turns]`
    pub action_value_targets: Tensor<1>,
    /// 1 over the turns of the optimizer step; 0 at padding. `[turns]`
    pub turn_weights: Tensor<1>,
}

/// The joint loss of SAPO.
///
/// ```text
/// L = L_pol + c_V L_V + c_Q L_Q + beta L_KL - c_H H
/// ```
/// arXiv 2608.19842, "Joint objective".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// `eps_low` and `eps_high`.
    pub clip: RatioClip,
    /// `c_V`, the weight of the value loss.
    pub value_coefficient: f32,
    /// `c_Q`, the weight of the action-value loss.
    pub action_value_coefficient: f32,
    /// `eps_V`, how far `v` may move from its old value before the loss stops pulling.
    pub value_clip: f32,
    /// `eps_Q`, the same for the action value.
    pub action_value_clip: f32,
    /// `beta`, the weight of the divergence from the reference policy; 0 needs no reference.
    pub kl_coefficient: f32,
    /// How that divergence is estimated.
    pub kl_estimator: KlEstimator,
    /// `c_H`, the weight of the entropy bonus.
    pub entropy_coefficient: f32,
    /// How values are read off the logits.
    pub readout: Readout,
}

impl Default for Objective {
    fn default() -> Self {
        Objective {
            clip: RatioClip::default(),
            value_coefficient: 0.5,
            action_value_coefficient: 0.5,
            value_clip: 0.5,
            action_value_clip: 0.5,
            kl_coefficient: 0.01,
            kl_estimator: KlEstimator::K3,
            entropy_coefficient: 0.001,
            readout: Readout::default(),
        }
    }
}

/// A loss and what to report of it.
#[derive(Clone, Debug)]
pub struct LossOutput {
    /// What to differentiate. `[1]`
    pub loss: Tensor<1>,
    /// Its parts, without gradient.
    pub parts: LossParts,
}

impl Objective {
    /// The loss of a micro-batch, as its share of the optimizer step's loss.
    ///
    /// Whatever stands where a weight is 0, even an infinity, reaches neither loss nor gradient.
    ///
    /// # Panics
    /// If `kl_coefficient` is not 0 and the batch has no reference log-probabilities.
    pub fn forward(&self, evaluation: Evaluation, batch: &LossBatch) -> LossOutput {
        let (evaluation, batch) = (evaluation.masked(batch), batch.masked());
        let [value, action_value] = self.value_parts(&evaluation, &batch);
        self.sum(LossParts { value, action_value, ..self.policy_parts(evaluation, &batch) })
    }

    /// [`forward`](Self::forward) for a method that reads no values off the logits: the loss without its
    /// two value terms, whose parts are then 0.
    ///
    /// # Panics
    /// As [`forward`](Self::forward).
    pub fn forward_policy(&self, evaluation: Evaluation, batch: &LossBatch) -> LossOutput {
        self.sum(self.policy_parts(evaluation.masked(batch), &batch.masked()))
    }

    fn sum(&self, parts: LossParts) -> LossOutput {
        let loss = parts.policy.clone()
            + parts.value.clone() * self.value_coefficient
            + parts.action_value.clone() * self.action_value_coefficient
            + parts.kl.clone() * self.kl_coefficient
            - parts.entropy.clone() * self.entropy_coefficient;
        LossOutput { loss, parts: parts.detach() }
    }

    /// `L_V` and `L_Q`. `[1]` each
    fn value_parts(&self, evaluation: &Evaluation, batch: &LossBatch) -> [Tensor<1>; 2] {
        let value = clipped_regression(
            self.readout.read(evaluation.value_logits.clone()),
            batch.old_values.clone(),
            batch.value_targets.clone(),
            self.value_clip,
        );
        let action_value = clipped_regression(
            self.readout.read(evaluation.action_value_logits.clone()),
            batch.old_action_values.clone(),
            batch.action_value_targets.clone(),
            self.action_value_clip,
        );
        [value, action_value].map(|errors| weighted_sum(errors, &batch.turn_weights))
    }

    /// All parts but those of the values, which are 0.
    fn policy_parts(&self, evaluation: Evaluation, batch: &LossBatch) -> LossParts {
        let Evaluation { log_probs, entropy, .. } = evaluation;
        let tokens = &batch.token_weights;
        let log_ratio = log_probs.clone() - batch.old_log_probs.clone();
        let policy = policy_loss(log_ratio.clone(), batch.advantages.clone(), self.clip);
        let nothing = Tensor::zeros([1], &tokens.device());
        LossParts {
            policy: weighted_sum(policy, tokens),
            value: nothing.clone(),
            action_value: nothing,
            kl: weighted_sum(self.divergence(log_probs, batch), tokens),
            entropy: weighted_sum(entropy, tokens),
            ratio: RatioStatistics::of(log_ratio, tokens, self.clip),
        }
    }

    /// The divergence from the reference policy at each token; 0 where it has no weight. `[tokens]`
    fn divergence(&self, log_probs: Tensor<1>, batch: &LossBatch) -> Tensor<1> {
        if self.kl_coefficient == 0.0 {
            return log_probs.zeros_like();
        }
        let reference = batch
            .reference_log_probs
            .clone()
            .expect("kl_coefficient is not 0, so the batch needs the reference policy's log-probs");
        self.kl_estimator.estimate(log_probs, reference)
    }
}

impl Evaluation {
    fn masked(self, batch: &LossBatch) -> Self {
        let (tokens, turns) = (&batch.token_weights, &batch.turn_weights);
        Evaluation {
            log_probs: masked(self.log_probs, tokens),
            entropy: masked(self.entropy, tokens),
            value_logits: masked(self.value_logits, turns),
            action_value_logits: masked(self.action_value_logits, turns),
        }
    }
}

impl LossBatch {
    fn masked(&self) -> Self {
        let tokens = |numbers: &Tensor<1>| masked(numbers.clone(), &self.token_weights);
        let turns = |numbers: &Tensor<1>| masked(numbers.clone(), &self.turn_weights);
        LossBatch {
            old_log_probs: tokens(&self.old_log_probs),
            reference_log_probs: self.reference_log_probs.as_ref().map(tokens),
            advantages: tokens(&self.advantages),
            token_weights: self.token_weights.clone(),
            old_values: turns(&self.old_values),
            value_targets: turns(&self.value_targets),
            old_action_values: turns(&self.old_action_values),
            action_value_targets: turns(&self.action_value_targets),
            turn_weights: self.turn_weights.clone(),
        }
    }
}

/// `numbers` where the weight is not 0, and 0 elsewhere. Multiplying by the weight would not do:
/// `0 * inf` is a NaN.
fn masked(numbers: Tensor<1>, weights: &Tensor<1>) -> Tensor<1> {
    numbers.mask_fill(weights.clone().equal_elem(0.0), 0.0)
}

fn weighted_sum(numbers: Tensor<1>, weights: &Tensor<1>) -> Tensor<1> {
    (numbers * weights.clone()).sum()
}

#[cfg(test)]
mod tests;
