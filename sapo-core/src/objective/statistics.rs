//! What is reported of a loss: on the device while micro-batches are under way, then on the host.

use burn::prelude::*;
use serde::{Deserialize, Serialize};

use super::terms::{MAX_LOG_RATIO, RatioClip};
use super::weighted_sum;

/// The parts of a loss: shares that add up over the micro-batches of an optimizer step. `[1]` each.
#[derive(Clone, Debug)]
pub struct LossParts {
    /// `L_pol`.
    pub policy: Tensor<1>,
    /// `L_V`.
    pub value: Tensor<1>,
    /// `L_Q`.
    pub action_value: Tensor<1>,
    /// `L_KL`; 0 where its coefficient is 0.
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
    pub(super) fn of(log_ratio: Tensor<1>, weights: &Tensor<1>, clip: RatioClip) -> Self {
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
            largest_log_ratio: match log_ratio.dims() {
                [0] => Tensor::zeros([1], &log_ratio.device()),
                _ => log_ratio.abs().max(),
            },
        }
    }
}

impl LossParts {
    pub(super) fn detach(self) -> Self {
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
    ///
    /// # Panics
    /// If a part is not one number.
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
        let numbers: Vec<f32> = numbers.to_data().iter::<f32>().collect();
        let [
            policy_loss,
            value_loss,
            action_value_loss,
            kl,
            entropy,
            clip_fraction,
            approximate_kl,
            largest_log_ratio,
        ] = numbers[..]
        else {
            panic!("8 parts of one number each became {} numbers", numbers.len());
        };
        LossStatistics {
            policy_loss,
            value_loss,
            action_value_loss,
            kl,
            entropy,
            clip_fraction,
            approximate_kl,
            largest_log_ratio,
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
