//! Single-Rollout Autoregressive Policy Optimization (Liang, Feng, An and Liu, arXiv 2608.19842).
//!
//! Not Soft Adaptive Policy Optimization (arXiv 2511.20347), which other libraries also call `sapo`.
//!
//! One causal model is actor and critic. `V(s_t)` is read off two reserved logits at the last context
//! position of turn `t`, `Q(s_t, a_t)` at its last response position; generalised advantages over turns
//! need no group of rollouts of the same task.

use serde::{Deserialize, Serialize};

use super::{Algorithm, TargetSummary, Targets, TurnTarget};
use crate::advantage::{
    Deviation, Discount, Moments, explained_variance, generalized_advantages, normalize,
    sarsa_targets,
};
use crate::episode::{End, Episode};
use crate::objective::{Evaluation, LossBatch, LossOutput, Objective};
use crate::value::{ActionSoftmax, Readout};

/// What stands behind the last turn of an episode that met its time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// Nothing: the limit is part of the task.
    #[default]
    Terminal,
    /// The value of the last observation.
    Bootstrap,
}

/// How advantages are made comparable over a batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Normalization {
    /// The deviation that is divided by.
    pub deviation: Deviation,
    /// What is added to it.
    pub epsilon: f64,
}

impl Default for Normalization {
    fn default() -> Self {
        Normalization { deviation: Deviation::Population, epsilon: 1e-8 }
    }
}

/// SAPO's settings; the defaults are the paper's where it states them.
#[derive(Clone, Debug, PartialEq)]
pub struct Sapo {
    /// `gamma` and `lambda`, over turns.
    pub discount: Discount,
    /// `R_max`, by which returns are scaled into the readout's range.
    pub max_return: f32,
    /// `c_inv`, taken off the advantage of a turn whose reply had not the form that was asked for.
    pub invalid_action_penalty: f32,
    /// What stands behind the last turn of a truncated episode.
    pub truncation: Truncation,
    /// How advantages are normalized over all turns of the batch.
    pub normalization: Normalization,
    /// The loss.
    pub objective: Objective,
    /// The distribution over actions.
    pub softmax: ActionSoftmax,
}

impl Sapo {
    /// SAPO with default settings over `softmax`.
    pub fn new(softmax: ActionSoftmax) -> Self {
        Sapo {
            discount: Discount::default(),
            max_return: 10.0,
            invalid_action_penalty: 0.1,
            truncation: Truncation::default(),
            normalization: Normalization::default(),
            objective: Objective::default(),
            softmax,
        }
    }

    /// Estimates for one episode, before advantages are compared with those of others.
    fn estimate(&self, episode: &Episode) -> Vec<Estimate> {
        let scale = self.max_return;
        let rewards: Vec<f32> = episode.turns.iter().map(|turn| turn.reward).collect();
        let values: Vec<f32> = episode.turns.iter().map(|turn| turn.value * scale).collect();
        let action_values: Vec<f32> =
            episode.turns.iter().map(|turn| turn.action_value * scale).collect();
        let bootstrap = match (self.truncation, episode.end) {
            (Truncation::Bootstrap, End::Truncated { value: Some(value) }) => value * scale,
            _ => 0.0,
        };
        let advantages = generalized_advantages(&rewards, &values, bootstrap, self.discount);
        let targets = sarsa_targets(&rewards, &action_values, bootstrap, self.discount.gamma);
        (0..rewards.len())
            .map(|turn| Estimate {
                value: values[turn],
                action_value: action_values[turn],
                value_target: values[turn] + advantages[turn],
                action_value_target: targets[turn],
                advantage: match episode.turns[turn].valid {
                    true => advantages[turn],
                    false => advantages[turn] - self.invalid_action_penalty,
                },
            })
            .collect()
    }

    fn summarize(&self, estimates: &[Estimate], degenerate: bool) -> TargetSummary {
        let column = |read: fn(&Estimate) -> f32| estimates.iter().map(read).collect::<Vec<_>>();
        let moments = |numbers: &[f32]| Moments::of(numbers, Deviation::Population);
        let values = column(|e| e.value);
        let action_values = column(|e| e.action_value);
        let advantages = moments(&column(|e| e.advantage));
        let reads = values.iter().chain(&action_values);
        let saturated =
            reads.filter(|&&v| self.readout().is_saturated(v / self.max_return)).count();
        TargetSummary {
            advantage_mean: advantages.mean,
            advantage_std: advantages.std,
            value_mean: moments(&values).mean,
            action_value_mean: moments(&action_values).mean,
            value_explained_variance: explained_variance(&values, &column(|e| e.value_target)),
            action_value_explained_variance: explained_variance(
                &action_values,
                &column(|e| e.action_value_target),
            ),
            saturation: saturated as f64 / (2 * estimates.len()).max(1) as f64,
            degenerate,
        }
    }
}

/// One turn in units of reward.
struct Estimate {
    value: f32,
    action_value: f32,
    value_target: f32,
    action_value_target: f32,
    advantage: f32,
}

impl Algorithm for Sapo {
    fn targets(&self, episodes: &[Episode]) -> Targets {
        let estimates: Vec<Estimate> =
            episodes.iter().flat_map(|episode| self.estimate(episode)).collect();
        let mut advantages: Vec<f32> = estimates.iter().map(|e| e.advantage).collect();
        let Normalization { deviation, epsilon } = self.normalization;
        let degenerate = normalize(&mut advantages, deviation, epsilon);
        let mut targets =
            estimates.iter().zip(advantages).map(|(estimate, advantage)| TurnTarget {
                advantage,
                value: estimate.value_target / self.max_return,
                action_value: estimate.action_value_target / self.max_return,
            });
        let turns = episodes
            .iter()
            .map(|episode| targets.by_ref().take(episode.turns.len()).collect())
            .collect();
        Targets { turns, summary: self.summarize(&estimates, degenerate) }
    }

    fn loss(&self, evaluation: Evaluation, batch: &LossBatch) -> LossOutput {
        self.objective.forward(evaluation, batch)
    }

    fn softmax(&self) -> ActionSoftmax {
        self.softmax
    }

    fn readout(&self) -> Readout {
        self.objective.readout
    }

    fn needs_reference(&self) -> bool {
        self.objective.kl_coefficient != 0.0
    }
}

#[cfg(test)]
mod tests;
