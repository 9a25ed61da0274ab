//! Proximal Policy Optimization with a separate critic (Schulman et al., arXiv 1707.06347), its
//! advantages over turns.
//!
//! What SAPO is measured against: the same advantages and the same policy loss, with values of a
//! [`Critic`](crate::Critic) in place of values read off the policy's own logits.
//! [`Learner::appraise`](crate::Learner::appraise) writes them into the turns before an update,
//! [`Learner::fit`](crate::Learner::fit) trains the critic after it.

use super::{Algorithm, Normalization, TargetSummary, Targets, TurnTarget};
use crate::advantage::{
    Deviation, Discount, Moments, explained_variance, generalized_advantages, normalize,
};
use crate::episode::Episode;
use crate::objective::{Evaluation, LossBatch, LossOutput, Objective};
use crate::value::{ActionSoftmax, Readout};

/// PPO's settings; the defaults are SAPO's.
///
/// An episode that met its time limit ends with nothing behind its last turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Ppo {
    /// `gamma` and `lambda`, over turns.
    pub discount: Discount,
    /// `R_max`, by which returns are scaled for the critic.
    pub max_return: f32,
    /// Taken off the advantage of a turn whose reply had not the form that was asked for.
    pub invalid_action_penalty: f32,
    /// How advantages are normalized over all turns of the batch.
    pub normalization: Normalization,
    /// The policy's loss. Its value terms are not used, but for `value_clip`, which is the critic's.
    pub objective: Objective,
    /// Logits are divided by it before the softmax, which is over the whole vocabulary.
    pub temperature: f32,
}

impl Default for Ppo {
    fn default() -> Self {
        Ppo {
            discount: Discount::default(),
            max_return: 10.0,
            invalid_action_penalty: 0.1,
            normalization: Normalization::default(),
            objective: Objective::default(),
            temperature: 1.0,
        }
    }
}

/// One turn in units of reward.
struct Estimate {
    value: f32,
    value_target: f32,
    advantage: f32,
}

impl Ppo {
    /// Estimates for one episode, before advantages are compared with those of others.
    fn estimate(&self, episode: &Episode) -> Vec<Estimate> {
        let rewards: Vec<f32> = episode.turns.iter().map(|turn| turn.reward).collect();
        let values: Vec<f32> =
            episode.turns.iter().map(|turn| turn.value * self.max_return).collect();
        let advantages = generalized_advantages(&rewards, &values, 0.0, self.discount);
        let turns = episode.turns.iter().zip(values).zip(advantages);
        turns
            .map(|((turn, value), advantage)| Estimate {
                value,
                value_target: value + advantage,
                advantage: match turn.valid {
                    true => advantage,
                    false => advantage - self.invalid_action_penalty,
                },
            })
            .collect()
    }

    fn summarize(estimates: &[Estimate], degenerate: bool) -> TargetSummary {
        let column = |read: fn(&Estimate) -> f32| estimates.iter().map(read).collect::<Vec<_>>();
        let values = column(|e| e.value);
        let advantages = Moments::of(&column(|e| e.advantage), Deviation::Population);
        TargetSummary {
            advantage_mean: advantages.mean,
            advantage_std: advantages.std,
            value_mean: Moments::of(&values, Deviation::Population).mean,
            value_explained_variance: explained_variance(&values, &column(|e| e.value_target)),
            degenerate,
            ..TargetSummary::default()
        }
    }
}

impl Algorithm for Ppo {
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
                action_value: 0.0,
            });
        let turns = episodes
            .iter()
            .map(|episode| targets.by_ref().take(episode.turns.len()).collect())
            .collect();
        Targets { turns, summary: Self::summarize(&estimates, degenerate) }
    }

    fn loss(&self, evaluation: Evaluation, batch: &LossBatch) -> LossOutput {
        self.objective.forward_policy(evaluation, batch)
    }

    fn softmax(&self) -> ActionSoftmax {
        ActionSoftmax { value_tokens: None, temperature: self.temperature }
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
