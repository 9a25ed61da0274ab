//! The trainer's side: gradients, optimizer, and the update that an iteration's episodes lead to.

use std::path::Path;

use burn::module::Module;
use burn::optim::{AdamWConfig, GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::prelude::*;
use serde::{Deserialize, Serialize};

use crate::algorithm::{Algorithm, TargetSummary};
use crate::batch::{MicroBatch, StepTotals, TrainStream, group_by_length};
use crate::episode::Episode;
use crate::error::Error;
use crate::gradient::clip_global_norm;
use crate::model::CausalLm;
use crate::objective::LossStatistics;
use crate::schedule::{KlController, Schedule};
use crate::seed;

/// How an iteration's streams are split into optimizer steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MiniBatches {
    /// Into this many steps of about equally many streams.
    Count(usize),
    /// Into steps of at least this many turns.
    Turns(usize),
}

/// Settings of the optimizer.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnerConfig {
    /// Peak rate, warm-up and decay.
    pub schedule: Schedule,
    /// `beta_1` of AdamW.
    pub beta_1: f32,
    /// `beta_2` of AdamW.
    pub beta_2: f32,
    /// `epsilon` of AdamW.
    pub epsilon: f32,
    /// Decoupled weight decay.
    pub weight_decay: f32,
    /// The largest global gradient norm.
    pub max_gradient_norm: f32,
    /// How often an iteration's streams are gone through.
    pub epochs: usize,
    /// How they are split into optimizer steps.
    pub mini_batches: MiniBatches,
    /// How many tokens, padding included, are on the device at once.
    pub micro_batch_tokens: usize,
    /// Steers the rate by the divergence of each iteration, where given.
    pub kl_controller: Option<KlController>,
    /// Seeds the order of the streams.
    pub seed: u64,
}

/// A model in training.
#[derive(Debug)]
pub struct Learner<M> {
    model: M,
    optimizer: Optimizer,
    config: LearnerConfig,
}

struct Optimizer(ModuleOptimizer);

impl std::fmt::Debug for Optimizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AdamW")
    }
}

/// What an update did. `docs/metrics.md` defines each number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UpdateReport {
    /// The targets as a whole.
    pub targets: TargetSummary,
    /// Loss statistics, averaged over the optimizer steps.
    pub loss: LossStatistics,
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

impl<M: CausalLm + Module> Learner<M> {
    /// Puts `model`, whose parameters are on a device with autodiff, into training.
    pub fn new(model: M, config: LearnerConfig) -> Self {
        let optimizer = AdamWConfig::new()
            .with_beta_1(config.beta_1)
            .with_beta_2(config.beta_2)
            .with_epsilon(config.epsilon)
            .with_weight_decay(config.weight_decay)
            .init();
        Learner { model, optimizer: Optimizer(optimizer), config }
    }

    /// The model as it is now.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Gives the model back.
    pub fn into_model(self) -> M {
        self.model
    }

    /// What the scheduled learning rate is multiplied by now.
    pub fn rate_scale(&self) -> f64 {
        self.config.kl_controller.map_or(1.0, |controller| controller.scale)
    }

    /// Restores what [`rate_scale`](Self::rate_scale) gave.
    pub fn set_rate_scale(&mut self, scale: f64) {
        if let Some(controller) = &mut self.config.kl_controller {
            controller.scale = scale;
        }
    }

    /// Learns from the episodes of iteration `iteration`, counted from 0.
    ///
    /// # Errors
    /// If there is no episode, or one contradicts itself.
    pub fn update<A: Algorithm>(
        &mut self,
        algorithm: &A,
        episodes: &[Episode],
        reference: Option<&M>,
        iteration: usize,
    ) -> Result<UpdateReport, Error> {
        let targets = algorithm.targets(episodes);
        let mut streams = TrainStream::collect(episodes, &targets)?;
        if streams.is_empty() {
            return Err(Error::NoEpisodes);
        }
        if algorithm.needs_reference() {
            let reference = reference.expect("the algorithm needs a reference policy");
            self.score_reference(algorithm, reference, &mut streams);
        }
        let mut report = UpdateReport { targets: targets.summary, ..UpdateReport::default() };
        let steps = self.plan(&streams, iteration);
        for (index, step) in steps.iter().enumerate() {
            let chosen: Vec<&TrainStream> = step.iter().map(|&stream| &streams[stream]).collect();
            let progress = iteration as f64 + (index + 1) as f64 / steps.len() as f64;
            self.step(algorithm, &chosen, progress, &mut report);
        }
        report.average();
        if let Some(controller) = &mut self.config.kl_controller {
            controller.observe(report.loss.approximate_kl);
        }
        Ok(report)
    }

    /// Which streams each optimizer step of an iteration takes.
    fn plan(&self, streams: &[TrainStream], iteration: usize) -> Vec<Vec<usize>> {
        let mut steps = Vec::new();
        for epoch in 0..self.config.epochs {
            let mut order: Vec<usize> = (0..streams.len()).collect();
            let path = [iteration as u64, epoch as u64];
            seed::shuffle(&mut order, seed::derive(self.config.seed, &path));
            steps.extend(match self.config.mini_batches {
                MiniBatches::Count(count) => split_evenly(&order, count),
                MiniBatches::Turns(turns) => {
                    split_by_turns(&order, |stream| streams[stream].turns.len(), turns)
                }
            });
        }
        steps
    }

    fn step<A: Algorithm>(
        &mut self,
        algorithm: &A,
        streams: &[&TrainStream],
        progress: f64,
        report: &mut UpdateReport,
    ) {
        let (gradients, statistics) = self.gradients(algorithm, streams);
        let rate = self.config.schedule.rate(progress) * self.rate_scale();
        let norm = self.descend(gradients, rate);
        if report.steps + report.skipped_steps == 0 {
            report.first_step_log_ratio = statistics.largest_log_ratio;
        }
        if !norm.is_finite() {
            report.skipped_steps += 1;
            return;
        }
        report.learning_rate = rate;
        report.gradient_norm += norm;
        report.loss.add(&statistics);
        report.steps += 1;
    }

    /// Clips `gradients` and takes one optimizer step, unless one of them is not finite. Returns their
    /// global norm before clipping.
    pub(crate) fn descend(&mut self, mut gradients: GradientsParams, rate: f64) -> f32 {
        let norm = clip_global_norm(&self.model, &mut gradients, self.config.max_gradient_norm);
        if norm.is_finite() {
            self.model = self.optimizer.0.step(rate, self.model.clone(), gradients);
        }
        norm
    }

    /// The gradient of one optimizer step, summed over its micro-batches, before clipping.
    pub fn gradients<A: Algorithm>(
        &self,
        algorithm: &A,
        streams: &[&TrainStream],
    ) -> (GradientsParams, LossStatistics) {
        let device = self.device();
        let totals = StepTotals::of(streams.iter().copied());
        let mut accumulator = GradientsAccumulator::new();
        let mut parts = Vec::new();
        for group in self.micro_batches(streams) {
            let batch = MicroBatch::new(&group, totals, &device);
            let evaluation = batch.evaluate(&self.model, &algorithm.softmax());
            let output = algorithm.loss(evaluation, &batch.loss);
            let gradients = GradientsParams::from_grads(output.loss.backward(), &self.model);
            accumulator.accumulate(&self.model, gradients);
            parts.push(output.parts);
        }
        let mut statistics = LossStatistics::default();
        for part in parts {
            statistics.add(&part.read());
        }
        (accumulator.grads(), statistics)
    }

    fn score_reference<A: Algorithm>(
        &self,
        algorithm: &A,
        reference: &M,
        streams: &mut [TrainStream],
    ) {
        let device = self.device().without_autodiff();
        let lengths: Vec<usize> = streams.iter().map(|stream| stream.tokens.len()).collect();
        for group in group_by_length(&lengths, self.config.micro_batch_tokens) {
            let rows: Vec<&TrainStream> = group.iter().map(|&index| &streams[index]).collect();
            let totals = StepTotals::of(rows.iter().copied());
            let batch = MicroBatch::new(&rows, totals, &device);
            let scored = batch.evaluate(reference, &algorithm.softmax()).log_probs.to_data();
            let mut scored = scored.iter::<f32>();
            for index in group {
                for turn in &mut streams[index].turns {
                    turn.reference_log_probs = scored.by_ref().take(turn.response.len()).collect();
                }
            }
        }
    }

    fn micro_batches<'a>(&self, streams: &[&'a TrainStream]) -> Vec<Vec<&'a TrainStream>> {
        let lengths: Vec<usize> = streams.iter().map(|stream| stream.tokens.len()).collect();
        group_by_length(&lengths, self.config.micro_batch_tokens)
            .into_iter()
            .map(|group| group.into_iter().map(|index| streams[index]).collect())
            .collect()
    }

    pub(crate) fn micro_batch_tokens(&self) -> usize {
        self.config.micro_batch_tokens
    }

    pub(crate) fn device(&self) -> Device {
        self.model.devices().into_iter().next().unwrap_or_default()
    }

    /// Writes model and optimizer into `folder`, in Burn's own format.
    pub fn save(&self, folder: &Path) -> Result<(), Error> {
        let failed = |path: &Path, error: &dyn std::fmt::Display| Error::Checkpoint {
            path: path.to_owned(),
            message: error.to_string(),
        };
        let model = folder.join(MODEL_FILE);
        self.model.clone().save_file(&model).map_err(|error| failed(&model, &error))?;
        let optimizer = folder.join(OPTIMIZER_FILE);
        self.optimizer.0.save(&optimizer).map_err(|error| failed(&optimizer, &error))
    }

    /// Reads what [`save`](Self::save) wrote; the next step is the one that would have followed.
    pub fn load(self, folder: &Path) -> Result<Self, Error> {
        let failed = |path: &Path, error: &dyn std::fmt::Display| Error::Checkpoint {
            path: path.to_owned(),
            message: error.to_string(),
        };
        let model = folder.join(MODEL_FILE);
        let optimizer = folder.join(OPTIMIZER_FILE);
        Ok(Learner {
            model: self.model.try_load_file(&model).map_err(|error| failed(&model, &error))?,
            optimizer: Optimizer(
                self.optimizer.0.load(&optimizer).map_err(|error| failed(&optimizer, &error))?,
            ),
            config: self.config,
        })
    }
}

const MODEL_FILE: &str = "model.bpk";
const OPTIMIZER_FILE: &str = "optimizer.bpk";

impl UpdateReport {
    fn average(&mut self) {
        let steps = self.steps.max(1) as f32;
        let LossStatistics { largest_log_ratio, .. } = self.loss;
        for sum in [
            &mut self.loss.policy_loss,
            &mut self.loss.value_loss,
            &mut self.loss.action_value_loss,
            &mut self.loss.kl,
            &mut self.loss.entropy,
            &mut self.loss.clip_fraction,
            &mut self.loss.approximate_kl,
            &mut self.gradient_norm,
        ] {
            *sum /= steps;
        }
        self.loss.largest_log_ratio = largest_log_ratio;
    }
}

/// At most `count` parts whose sizes differ by one at most.
fn split_evenly(order: &[usize], count: usize) -> Vec<Vec<usize>> {
    let count = count.clamp(1, order.len().max(1));
    let bounds = |part: usize| part * order.len() / count;
    (0..count).map(|part| order[bounds(part)..bounds(part + 1)].to_vec()).collect()
}

/// Parts of at least `turns` turns; what is left over joins the last.
fn split_by_turns(
    order: &[usize],
    turns_of: impl Fn(usize) -> usize,
    turns: usize,
) -> Vec<Vec<usize>> {
    let mut parts = vec![Vec::new()];
    let mut filled = 0;
    for &stream in order {
        if filled >= turns {
            parts.push(Vec::new());
            filled = 0;
        }
        filled += turns_of(stream);
        parts.last_mut().expect("there is always a part").push(stream);
    }
    if filled < turns && parts.len() > 1 {
        let rest = parts.pop().expect("there are two");
        parts.last_mut().expect("there is one").extend(rest);
    }
    parts
}
