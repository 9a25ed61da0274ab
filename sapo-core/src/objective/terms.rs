//! The terms that policy-gradient losses are made of, each at its own position or turn.

use burn::prelude::*;
use serde::{Deserialize, Serialize};

/// Log-ratios and KL terms are clamped to this before they are exponentiated.
pub(super) const MAX_LOG_RATIO: f32 = 20.0;

/// The trust region of the probability ratio, `[1 - low, 1 + high]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
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

/// Estimators of the divergence from a reference policy, with `d = log pi_ref - log pi`.
/// Schulman, "Approximating KL divergence" (2020).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KlEstimator {
    /// `-d`: unbiased, of high variance, sometimes negative. As a loss on its own it does nothing on
    /// average: the mean of its gradient over the policy's own tokens is 0.
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
