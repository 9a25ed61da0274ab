//! What an update did.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::algorithm::TargetSummary;
use crate::batch::TrainStream;
use crate::objective::LossStatistics;

/// What an update did. `docs/metrics.md` defines each number. It is written as one flat record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateReport {
    /// The targets as a whole.
    #[serde(flatten)]
    pub targets: TargetSummary,
    /// Loss statistics, averaged over the optimizer steps.
    #[serde(flatten)]
    pub loss: LossStatistics,
    /// Where the time went.
    #[serde(flatten)]
    pub costs: UpdateCosts,
    /// Where old log-probabilities were computed again: how far they are from the sampler's at most.
    pub sampler_deviation: Option<f32>,
    /// The largest `|log rho|` of the first optimizer step, before anything moved: how far the trainer's
    /// numbers are from the sampler's.
    pub first_step_log_ratio: f32,
    /// The global gradient norm before clipping, averaged over the optimizer steps.
    pub gradient_norm: f32,
    /// The learning rate of the last optimizer step.
    pub learning_rate: f64,
    /// Optimizer steps taken.
    pub steps: usize,
    /// Optimizer steps left out because a gradient was not finite.
    pub skipped_steps: usize,
}

/// What an update took, part by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateCosts {
    /// Computing old log-probabilities and values again.
    pub old_log_probs_seconds: f64,
    /// Scoring by the reference policy.
    pub reference_seconds: f64,
    /// Advantages and targets.
    pub targets_seconds: f64,
    /// Forward and backward passes.
    pub gradients_seconds: f64,
    /// Clipping and the optimizer.
    pub optimizer_seconds: f64,
    /// Forward passes over micro-batches.
    pub forward_passes: usize,
    /// Tokens of those passes, padding included.
    pub forward_tokens: usize,
}

impl UpdateCosts {
    /// Adds a pass over each of `groups`, given by the lengths of their streams.
    pub(super) fn add_passes<'a>(
        &mut self,
        groups: &[Vec<usize>],
        streams: impl Fn(usize) -> &'a TrainStream,
    ) {
        let tokens = |group: &Vec<usize>| {
            let longest = group.iter().map(|&index| streams(index).tokens.len()).max();
            longest.unwrap_or(0) * group.len()
        };
        self.forward_passes += groups.len();
        self.forward_tokens += groups.iter().map(tokens).sum::<usize>();
    }
}

/// What `work` gives; the time that it took is added to `seconds`.
pub(super) fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let clock = Instant::now();
    let result = work();
    *seconds += clock.elapsed().as_secs_f64();
    result
}

impl UpdateReport {
    /// Records an optimizer step that was taken.
    pub(super) fn add(&mut self, statistics: &LossStatistics, gradient_norm: f32, rate: f64) {
        self.loss.add(statistics);
        self.gradient_norm += gradient_norm;
        self.learning_rate = rate;
        self.steps += 1;
    }

    /// Turns the sums over optimizer steps into means; the largest log-ratio stays the largest.
    pub(super) fn average(&mut self) {
        let steps = self.steps.max(1) as f32;
        self.gradient_norm /= steps;
        self.loss = LossStatistics {
            policy_loss: self.loss.policy_loss / steps,
            value_loss: self.loss.value_loss / steps,
            action_value_loss: self.loss.action_value_loss / steps,
            kl: self.loss.kl / steps,
            entropy: self.loss.entropy / steps,
            clip_fraction: self.loss.clip_fraction / steps,
            approximate_kl: self.loss.approximate_kl / steps,
            largest_log_ratio: self.loss.largest_log_ratio,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statistics whose every number is `number`.
    fn statistics(number: f32) -> LossStatistics {
        LossStatistics {
            policy_loss: number,
            value_loss: number,
            action_value_loss: number,
            kl: number,
            entropy: number,
            clip_fraction: number,
            approximate_kl: number,
            largest_log_ratio: number,
        }
    }

    #[test]
    fn a_report_is_the_mean_over_its_steps_but_for_the_largest_ratio_and_the_last_rate() {
        let mut report = UpdateReport::default();
        report.add(&statistics(3.0), 2.0, 0.1);
        report.add(&statistics(1.0), 4.0, 0.2);
        report.average();
        let mean = LossStatistics { largest_log_ratio: 3.0, ..statistics(2.0) };
        assert_eq!(report.loss, mean);
        assert_eq!((report.gradient_norm, report.learning_rate, report.steps), (3.0, 0.2, 2));
    }

    #[test]
    fn a_report_without_steps_holds_no_nan() {
        let mut report = UpdateReport { skipped_steps: 1, ..UpdateReport::default() };
        report.average();
        assert_eq!(report, UpdateReport { skipped_steps: 1, ..UpdateReport::default() });
    }
}
