//! A critic in training: it values the turns of an iteration, then learns what they were worth.

use burn::module::{Module, ModuleDisplay};
use burn::optim::GradientsParams;
use burn::prelude::*;
use serde::{Deserialize, Serialize};

use super::scoring::turns_by_stream;
use super::{Learner, device_of};
use crate::algorithm::{TargetSummary, Targets, TurnTarget};
use crate::batch::{MicroBatch, StepTotals, TrainStream};
use crate::critic::Critic;
use crate::episode::Episode;
use crate::error::Error;
use crate::model::CausalLm;
use crate::objective::clipped_regression;
use crate::pass::Pass;

/// What a critic learned from an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticReport {
    /// `1/2 mean_t max((v - u)^2, (v_clip - u)^2)`, `u = yV / R_max`, averaged over the optimizer steps.
    pub value_loss: f32,
    /// The global gradient norm before clipping, averaged over the optimizer steps.
    pub gradient_norm: f32,
    /// The learning rate of the last optimizer step.
    pub learning_rate: f64,
    /// Optimizer steps taken.
    pub steps: usize,
    /// Optimizer steps left out because a gradient was not finite.
    pub skipped_steps: usize,
}

impl<M: CausalLm + Module + ModuleDisplay> Learner<Critic<M>> {
    /// Writes the critic's `V / R_max` into every turn of `episodes`: a forward pass over all streams,
    /// which has to come before the targets are made.
    ///
    /// # Errors
    /// If there is no episode, if one contradicts itself or was played with another vocabulary.
    pub fn appraise(&self, episodes: &mut [Episode]) -> Result<(), Error> {
        let streams = TrainStream::collect(episodes, &no_targets(episodes))?;
        self.check(&streams)?;
        let values = self.values(&streams);
        for (turn, value) in episodes.iter_mut().flat_map(turns_by_stream).zip(values) {
            turn.value = value;
        }
        Ok(())
    }

    /// Learns the value targets of the episodes of iteration `iteration`, counted from 0.
    ///
    /// A value that has moved by more than `value_clip` from what [`appraise`](Self::appraise) wrote is
    /// pulled no further.
    ///
    /// # Errors
    /// As [`appraise`](Self::appraise); the critic is then as it was.
    ///
    /// # Panics
    /// If there is not one target a turn.
    pub fn fit(
        &mut self,
        episodes: &[Episode],
        targets: &Targets,
        value_clip: f32,
        iteration: usize,
    ) -> Result<CriticReport, Error> {
        let streams = TrainStream::collect(episodes, targets)?;
        self.check(&streams)?;
        let mut report = CriticReport::default();
        let steps = self.plan(&streams, iteration);
        for (index, step) in steps.iter().enumerate() {
            let chosen: Vec<&TrainStream> = step.iter().map(|&stream| &streams[stream]).collect();
            let (gradients, loss) = self.value_gradients(&chosen, value_clip);
            let progress = iteration as f64 + (index as f64 + 0.5) / steps.len() as f64;
            let rate = self.config.schedule.rate(progress);
            let norm = self.descend(gradients, rate);
            report.add(loss, norm, rate);
        }
        Ok(report.averaged())
    }

    /// The gradient of the value loss of one optimizer step, summed over its micro-batches, and that
    /// loss.
    pub fn value_gradients(
        &self,
        streams: &[&TrainStream],
        value_clip: f32,
    ) -> (GradientsParams, f32) {
        let device = device_of(self.model());
        let totals = StepTotals::of(streams.iter().copied());
        let groups = self.micro_batches(streams.iter().copied());
        let checkpointing = self.checkpointing();
        let (gradients, losses) = self.sum_gradients(groups, |critic, group, sum| {
            let group: Vec<&TrainStream> = group.iter().map(|&index| streams[index]).collect();
            let batch = MicroBatch::new(&group, totals, &device);
            let mut pass = Pass::new(critic, checkpointing);
            let hidden = pass.hidden(batch.block(), batch.context_places());
            let loss = value_loss(critic.read(hidden), &batch, value_clip);
            let share = loss.clone().detach();
            pass.backward(loss, sum);
            share
        });
        (gradients, Tensor::cat(losses, 0).sum().into_scalar::<f32>())
    }

    /// What the critic says of the turns of `streams`, in order.
    fn values(&self, streams: &[TrainStream]) -> Vec<f32> {
        let critic = self.model().valid();
        let device = device_of(&critic);
        let mut values = vec![Vec::new(); streams.len()];
        for group in self.micro_batches(streams.iter()) {
            let rows: Vec<&TrainStream> = group.iter().map(|&index| &streams[index]).collect();
            let batch = MicroBatch::new(&rows, StepTotals::of(rows.iter().copied()), &device);
            let read = critic.values(&batch).to_data();
            let mut read = read.iter::<f32>();
            for index in group {
                values[index] = read.by_ref().take(streams[index].turns.len()).collect();
            }
        }
        values.concat()
    }
}

/// The share of `batch` in the value loss of its optimizer step. `[1]`
fn value_loss(values: Tensor<1>, batch: &MicroBatch, value_clip: f32) -> Tensor<1> {
    let (old, targets) = (batch.loss.old_values.clone(), batch.loss.value_targets.clone());
    let errors = clipped_regression(values, old, targets, value_clip);
    (errors * batch.loss.turn_weights.clone()).sum()
}

fn no_targets(episodes: &[Episode]) -> Targets {
    let blank = |episode: &Episode| vec![TurnTarget::default(); episode.turns.len()];
    Targets { turns: episodes.iter().map(blank).collect(), summary: TargetSummary::default() }
}

impl CriticReport {
    fn add(&mut self, loss: f32, gradient_norm: f32, rate: f64) {
        if gradient_norm.is_finite() {
            self.value_loss += loss;
            self.gradient_norm += gradient_norm;
            self.learning_rate = rate;
            self.steps += 1;
        } else {
            self.skipped_steps += 1;
        }
    }

    /// Sums over optimizer steps as means.
    fn averaged(self) -> Self {
        let steps = self.steps.max(1) as f32;
        let (value_loss, gradient_norm) = (self.value_loss / steps, self.gradient_norm / steps);
        CriticReport { value_loss, gradient_norm, ..self }
    }
}

#[cfg(test)]
mod tests;
