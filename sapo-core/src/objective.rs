//! The terms that policy-gradient losses are made of, and the joint loss of SAPO.
//!
//! Means are over a whole optimizer step. A micro-batch is given the step's totals with its
//! [`LossBatch`], so its loss is its share of the sum: the shares of any partition add up to the same loss
//! and the same gradient.

use burn::prelude::*;
use serde::{Deserialize, Serialize};

use crate::value::Readout;

/// Log-ratios and KL terms are clamped to this before they are exponentiated.
const MAX_LOG_RATIO: f32 = 20.0;

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

/// What a loss compares an [`Evaluation`] with; all of it constant.
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

/// The trust region of the probability ratio, `[1 - low, 1 + high]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatioClip {
    /// How far below 1 the ratio may still earn.
    pub low: f32,
    /// How far above 1 the ratio may still earn.
    pub high: f32,
}

impl Default for RatioClip {
    fn default() -> Self {
        RatioClip { low: 0.2, high: 0.2 }
    }
}

/// Estimators of the divergence from a reference policy, with `d = log pi_ref - log pi`.
/// Schulman, "Approximating KL divergence" (2020).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KlEstimator {
    /// `-d`: unbiased, of high variance, sometimes negative.
    K1,
    /// `d^2 / 2`: biased, of low variance.
    K2,
    /// `exp(d) - d - 1`: unbiased and never negative.
    #[default]
    K3,
}

impl KlEstimator {
    /// The estimate at each position.
    ///
    /// # Shapes
    /// - log_probs, reference and output: `[tokens]`
    pub fn estimate(self, log_probs: Tensor<1>, reference: Tensor<1>) -> Tensor<1> {
        let difference = (reference - log_probs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO);
        match self {
            KlEstimator::K1 => -difference,
            KlEstimator::K2 => difference.square() / 2.0,
            KlEstimator::K3 => difference.clone().exp() - difference - 1.0,
        }
    }
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
    /// # Panics
    /// If `kl_coefficient` is not 0 and the batch has no reference log-probabilities.
    pub fn forward(&self, evaluation: Evaluation, batch: &LossBatch) -> LossOutput {
        let Evaluation { log_probs, entropy, value_logits, action_value_logits } = evaluation;
        let tokens = &batch.token_weights;
        let turns = &batch.turn_weights;

        let log_ratio = masked(log_probs.clone() - batch.old_log_probs.clone(), tokens);
        let policy = policy_loss(log_ratio.clone(), batch.advantages.clone(), self.clip);
        let policy = weighted_sum(policy, tokens);
        let entropy = weighted_sum(masked(entropy, tokens), tokens);

        let values = masked(self.readout.read(value_logits), turns);
        let value = clipped_regression(
            values.clone(),
            batch.old_values.clone(),
            batch.value_targets.clone(),
            self.value_clip,
        );
        let value = weighted_sum(value, turns);
        let action_values = masked(self.readout.read(action_value_logits), turns);
        let action_value = clipped_regression(
            action_values.clone(),
            batch.old_action_values.clone(),
            batch.action_value_targets.clone(),
            self.action_value_clip,
        );
        let action_value = weighted_sum(action_value, turns);

        let mut loss = policy.clone()
            + value.clone() * self.value_coefficient
            + action_value.clone() * self.action_value_coefficient
            - entropy.clone() * self.entropy_coefficient;
        let mut kl = Tensor::zeros([1], &loss.device());
        if self.kl_coefficient != 0.0 {
            let reference = batch.reference_log_probs.clone().expect(
                "kl_coefficient is not 0, so the batch needs the reference policy's log-probs",
            );
            kl = weighted_sum(
                self.kl_estimator.estimate(masked(log_probs, tokens), masked(reference, tokens)),
                tokens,
            );
            loss = loss + kl.clone() * self.kl_coefficient;
        }
        let parts = LossParts {
            policy,
            value,
            action_value,
            kl,
            entropy,
            ratio: RatioStatistics::of(log_ratio, tokens, self.clip),
        };
        LossOutput { loss, parts: parts.detach() }
    }
}

/// PPO's clipped surrogate at each token, as a loss.
///
/// ```text
/// -min(rho A, clip(rho, 1 - low, 1 + high) A),   rho = exp(log_ratio)
/// ```
/// Schulman et al., arXiv 1707.06347, eq. 7. `log_ratio` is clamped to +-20 first, where the clipped side
/// has long taken over, so that no infinity can arise.
///
/// # Shapes
/// - log_ratio, advantages and output: `[tokens]`
pub fn policy_loss(log_ratio: Tensor<1>, advantages: Tensor<1>, clip: RatioClip) -> Tensor<1> {
    let ratio = log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp();
    let clipped = ratio.clone().clamp(1.0 - clip.low, 1.0 + clip.high);
    -(ratio * advantages.clone()).min_pair(clipped * advantages)
}

/// Clipped squared error at each turn.
///
/// ```text
/// 1/2 max((v - u)^2, (v_clip - u)^2),   v_clip = v_old + clip(v - v_old, -epsilon, epsilon)
/// ```
///
/// # Shapes
/// - all: `[turns]`
pub fn clipped_regression(
    values: Tensor<1>,
    old_values: Tensor<1>,
    targets: Tensor<1>,
    epsilon: f32,
) -> Tensor<1> {
    let moved = (values.clone() - old_values.clone()).clamp(-epsilon, epsilon);
    let clipped = old_values + moved;
    let free = (values - targets.clone()).square();
    free.max_pair((clipped - targets).square()) / 2.0
}

/// `numbers` where the weight is not 0, and 0 elsewhere: whatever stands at padding, even an infinity,
/// reaches neither value nor gradient.
fn masked(numbers: Tensor<1>, weights: &Tensor<1>) -> Tensor<1> {
    numbers.mask_fill(weights.clone().equal_elem(0.0), 0.0)
}

fn weighted_sum(numbers: Tensor<1>, weights: &Tensor<1>) -> Tensor<1> {
    (numbers * weights.clone()).sum()
}

/// The parts of a loss: shares that add up over the micro-batches of an optimizer step. `[1]` each.
#[derive(Clone, Debug)]
pub struct LossParts {
    /// `L_pol`.
    pub policy: Tensor<1>,
    /// `L_V`.
    pub value: Tensor<1>,
    /// `L_Q`.
    pub action_value: Tensor<1>,
    /// `L_KL`; 0 without a reference.
    pub kl: Tensor<1>,
    /// `H`, the mean entropy of the response tokens in nats.
    pub entropy: Tensor<1>,
    /// How far the policy has moved.
    pub ratio: RatioStatistics,
}

/// How far the policy has moved from the one that sampled. `[1]` each.
#[derive(Clone, Debug)]
pub struct RatioStatistics {
    /// The share of tokens whose ratio is outside the trust region.
    pub clip_fraction: Tensor<1>,
    /// The k3 estimate of `KL(pi_old | pi)`: mean of `rho - 1 - log rho`, in nats a token.
    pub approximate_kl: Tensor<1>,
    /// The largest `|log rho|`; a maximum over micro-batches, not a sum.
    pub largest_log_ratio: Tensor<1>,
}

impl RatioStatistics {
    fn of(log_ratio: Tensor<1>, weights: &Tensor<1>, clip: RatioClip) -> Self {
        let log_ratio = log_ratio.detach().clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO);
        let ratio = log_ratio.clone().exp();
        let outside = ratio
            .clone()
            .lower_elem(1.0 - clip.low)
            .bool_or(ratio.clone().greater_elem(1.0 + clip.high))
            .float();
        RatioStatistics {
            clip_fraction: weighted_sum(outside, weights),
            approximate_kl: weighted_sum(ratio - log_ratio.clone() - 1.0, weights),
            largest_log_ratio: log_ratio.abs().max(),
        }
    }
}

impl LossParts {
    fn detach(self) -> Self {
        LossParts {
            policy: self.policy.detach(),
            value: self.value.detach(),
            action_value: self.action_value.detach(),
            kl: self.kl.detach(),
            entropy: self.entropy.detach(),
            ratio: self.ratio,
        }
    }

    /// Brings the numbers to the host in one transfer.
    pub fn read(self) -> LossStatistics {
        let RatioStatistics { clip_fraction, approximate_kl, largest_log_ratio } = self.ratio;
        let numbers = Tensor::cat(
            vec![
                self.policy,
                self.value,
                self.action_value,
                self.kl,
                self.entropy,
                clip_fraction,
                approximate_kl,
                largest_log_ratio,
            ],
            0,
        );
        let mut numbers = numbers.to_data().iter::<f32>().collect::<Vec<_>>().into_iter();
        let mut next = || numbers.next().unwrap_or(f32::NAN);
        LossStatistics {
            policy_loss: next(),
            value_loss: next(),
            action_value_loss: next(),
            kl: next(),
            entropy: next(),
            clip_fraction: next(),
            approximate_kl: next(),
            largest_log_ratio: next(),
        }
    }
}

/// [`LossParts`] on the host. `docs/metrics.md` defines each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LossStatistics {
    /// `L_pol`.
    pub policy_loss: f32,
    /// `L_V`.
    pub value_loss: f32,
    /// `L_Q`.
    pub action_value_loss: f32,
    /// `L_KL`.
    pub kl: f32,
    /// Mean entropy of the response tokens, in nats.
    pub entropy: f32,
    /// Share of tokens outside the trust region.
    pub clip_fraction: f32,
    /// Estimated KL from the sampling policy, in nats a token.
    pub approximate_kl: f32,
    /// The largest `|log rho|`.
    pub largest_log_ratio: f32,
}

impl LossStatistics {
    /// Adds another micro-batch's share of the same optimizer step.
    pub fn add(&mut self, other: &LossStatistics) {
        self.policy_loss += other.policy_loss;
        self.value_loss += other.value_loss;
        self.action_value_loss += other.action_value_loss;
        self.kl += other.kl;
        self.entropy += other.entropy;
        self.clip_fraction += other.clip_fraction;
        self.approximate_kl += other.approximate_kl;
        self.largest_log_ratio = self.largest_log_ratio.max(other.largest_log_ratio);
    }
}
