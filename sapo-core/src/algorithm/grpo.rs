//! Group Relative Policy Optimization (Shao et al., arXiv 2402.03300): an episode is credited with how far
//! its return is from those of other episodes of the same task.
//!
//! There are no values. Every response token of an episode has the same advantage, and the loss is a mean
//! over all response tokens of an optimizer step.

use super::{Algorithm, TargetSummary, Targets, TurnTarget};
use crate::advantage::{Deviation, GroupScale, Moments, group_advantages};
use crate::episode::Episode;
use crate::objective::{Evaluation, LossBatch, LossOutput, Objective};
use crate::value::{ActionSoftmax, Readout};

/// GRPO's settings.
///
/// Episodes of equal [`task`](Episode::task) are a group: a batch wants several of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Grpo {
    /// What a difference of returns is divided by.
    pub scale: GroupScale,
    /// The policy's loss. Its value terms are not used.
    pub objective: Objective,
    /// Logits are divided by it before the softmax, which is over the whole vocabulary.
    pub temperature: f32,
}

impl Default for Grpo {
    fn default() -> Self {
        Grpo { scale: GroupScale::default(), objective: Objective::default(), temperature: 1.0 }
    }
}

impl Algorithm for Grpo {
    fn targets(&self, episodes: &[Episode]) -> Targets {
        let returns: Vec<f32> = episodes.iter().map(Episode::total_reward).collect();
        let tasks: Vec<&str> = episodes.iter().map(|episode| episode.task.as_str()).collect();
        let advantages = group_advantages(&returns, &tasks, self.scale);
        let turns = episodes.iter().zip(advantages).map(|(episode, advantage)| {
            vec![TurnTarget { advantage, ..TurnTarget::default() }; episode.turns.len()]
        });
        let turns: Vec<Vec<TurnTarget>> = turns.collect();
        Targets { summary: summarize(&turns), turns }
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

fn summarize(turns: &[Vec<TurnTarget>]) -> TargetSummary {
    let advantages: Vec<f32> = turns.iter().flatten().map(|target| target.advantage).collect();
    let moments = Moments::of(&advantages, Deviation::Population);
    TargetSummary {
        advantage_mean: moments.mean,
        advantage_std: moments.std,
        degenerate: advantages.iter().all(|&advantage| advantage == 0.0),
        ..TargetSummary::default()
    }
}

#[cfg(test)]
mod tests;
