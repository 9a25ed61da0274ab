//! The trainer's side: gradients, optimizer, and the update that an iteration's episodes lead to.

mod checkpoint;
mod critic;
mod mini_batches;
mod report;
mod scoring;

use burn::module::Module;
use burn::optim::{AdamWConfig, GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::prelude::*;
use burn::tensor::FloatDType;

pub use self::critic::CriticReport;
pub use self::mini_batches::MiniBatches;
use self::report::timed;
pub use self::report::{UpdateCosts, UpdateReport};
use crate::algorithm::Algorithm;
use crate::batch::{MicroBatch, StepTotals, TrainStream, group_by_length};
use crate::episode::Episode;
use crate::error::Error;
use crate::gradient::clip_global_norm;
use crate::model::CausalLm;
use crate::objective::LossStatistics;
use crate::parallel;
use crate::pass::{Checkpointing, Pass};
use crate::precision::{cast, half_precision};
use crate::schedule::{KlController, Schedule};
use crate::seed;

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
    /// How many tokens, padding included, a micro-batch holds.
    pub micro_batch_tokens: usize,
    /// Whether old log-probabilities and values are computed again before an update, for an actor whose
    /// numbers differ from the model's. Otherwise they are those of the actor.
    pub recompute_old: bool,
    /// Which activations are kept for the backward pass.
    pub checkpointing: Checkpointing,
    /// How many micro-batches are on the way at once, each on a thread of its own. More than 1 is for
    /// processors; it changes results by rounding alone.
    pub workers: usize,
    /// Steers the rate by the divergence of each iteration after the warm-up, where given. It needs at
    /// least two optimizer steps an iteration: the first is measured before anything has moved.
    pub kl_controller: Option<KlController>,
    /// Seeds the order of the streams.
    pub seed: u64,
}

/// A model in training.
#[derive(Debug)]
pub struct Learner<M> {
    model: M,
    /// The weights in single precision, where the model's are in half.
    masters: Option<Masters<M>>,
    optimizer: Optimizer,
    config: LearnerConfig,
}

#[derive(Debug)]
struct Masters<M> {
    model: M,
    /// The precision of the model that learns.
    half: FloatDType,
}

struct Optimizer(ModuleOptimizer);

impl std::fmt::Debug for Optimizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AdamW")
    }
}

impl<M: CausalLm + Module> Learner<M> {
    /// Puts `model`, whose parameters are on a device with autodiff, into training.
    ///
    /// Of weights in half precision the optimizer changes a copy in single precision: most of its changes
    /// would be lost in rounding.
    pub fn new(model: M, config: LearnerConfig) -> Self {
        let optimizer = AdamWConfig::new()
            .with_beta_1(config.beta_1)
            .with_beta_2(config.beta_2)
            .with_epsilon(config.epsilon)
            .with_weight_decay(config.weight_decay)
            .init();
        let masters = half_precision(&model)
            .map(|half| Masters { model: cast(model.clone(), FloatDType::F32), half });
        Learner { model, masters, optimizer: Optimizer(optimizer), config }
    }

    /// Steps by `optimizer` instead of Burn's AdamW; settings of AdamW then count for nothing.
    #[must_use]
    pub fn with_optimizer(self, optimizer: impl burn::optim::Optimizer) -> Self {
        Learner { optimizer: Optimizer(optimizer.into()), ..self }
    }

    /// The model as it is now.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The model with all that it has learned, in single precision: what to write to a file.
    pub fn masters(&self) -> &M {
        self.masters.as_ref().map_or(&self.model, |masters| &masters.model)
    }

    /// Gives back the model with all that it has learned.
    pub fn into_model(self) -> M {
        self.masters.map_or(self.model, |masters| masters.model)
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
    /// `reference` is the frozen policy that the algorithm may want to stay close to; without autodiff
    /// (`model.valid()`) it costs least.
    ///
    /// # Errors
    /// If there is no episode, if one contradicts itself or was played with another vocabulary, or if
    /// the algorithm needs a reference and none is given. The model is then as it was.
    pub fn update<A: Algorithm + Sync>(
        &mut self,
        algorithm: &A,
        episodes: &[Episode],
        reference: Option<&M>,
        iteration: usize,
    ) -> Result<UpdateReport, Error> {
        let mut report = UpdateReport::default();
        let streams = self.prepare(algorithm, episodes, reference, &mut report)?;
        let steps = self.plan(&streams, iteration);
        for (index, step) in steps.iter().enumerate() {
            let chosen: Vec<&TrainStream> = step.iter().map(|&stream| &streams[stream]).collect();
            // The middle of the step's share: neither the first nor the last rate of a run is 0.
            let progress = iteration as f64 + (index as f64 + 0.5) / steps.len() as f64;
            self.step(algorithm, &chosen, progress, &mut report);
        }
        report.average();
        // In the warm-up the rate is low on purpose: that little moves is no reason to raise it.
        let is_warm = iteration as f64 >= self.config.schedule.warmup_iterations;
        match &mut self.config.kl_controller {
            Some(controller) if report.steps > 1 && is_warm => {
                controller.observe(report.loss.approximate_kl);
            }
            _ => {}
        }
        Ok(report)
    }

    /// The streams of `episodes` with all that the loss compares with.
    fn prepare<A: Algorithm>(
        &self,
        algorithm: &A,
        episodes: &[Episode],
        reference: Option<&M>,
        report: &mut UpdateReport,
    ) -> Result<Vec<TrainStream>, Error> {
        let costs = &mut report.costs;
        let mut targets = timed(&mut costs.targets_seconds, || algorithm.targets(episodes));
        let mut streams = TrainStream::collect(episodes, &targets)?;
        self.check(&streams)?;
        let groups = self.micro_batches(streams.iter());
        if self.config.recompute_old {
            costs.add_passes(&groups, |index| &streams[index]);
            let (episodes, deviation) = timed(&mut costs.old_log_probs_seconds, || {
                self.rescore(algorithm, episodes, &streams)
            });
            report.sampler_deviation = Some(deviation);
            targets = timed(&mut costs.targets_seconds, || algorithm.targets(&episodes));
            streams = TrainStream::collect(&episodes, &targets)?;
        }
        report.targets = targets.summary;
        if algorithm.needs_reference() {
            let reference = reference.ok_or(Error::NoReference)?;
            costs.add_passes(&groups, |index| &streams[index]);
            timed(&mut costs.reference_seconds, || {
                self.score_reference(algorithm, reference, &mut streams);
            });
        }
        Ok(streams)
    }

    fn check(&self, streams: &[TrainStream]) -> Result<(), Error> {
        if streams.is_empty() {
            return Err(Error::NoEpisodes);
        }
        let vocabulary = self.model.vocabulary();
        let mut tokens = streams.iter().flat_map(|stream| &stream.tokens);
        match tokens.find(|&&id| id as usize >= vocabulary) {
            Some(&id) => Err(Error::TokenOutside { id, vocabulary }),
            None => Ok(()),
        }
    }

    /// Which streams each optimizer step of an iteration takes.
    fn plan(&self, streams: &[TrainStream], iteration: usize) -> Vec<Vec<usize>> {
        let epoch = |epoch: usize| {
            let mut order: Vec<usize> = (0..streams.len()).collect();
            let path = [iteration as u64, epoch as u64];
            seed::shuffle(&mut order, seed::derive(self.config.seed, &path));
            self.config.mini_batches.split(&order, |stream| streams[stream].turns.len())
        };
        (0..self.config.epochs).flat_map(epoch).collect()
    }

    fn step<A: Algorithm + Sync>(
        &mut self,
        algorithm: &A,
        streams: &[&TrainStream],
        progress: f64,
        report: &mut UpdateReport,
    ) {
        let mut costs = report.costs;
        costs.add_passes(&self.micro_batches(streams.iter().copied()), |index| streams[index]);
        let (gradients, statistics) =
            timed(&mut costs.gradients_seconds, || self.gradients(algorithm, streams));
        let rate = self.config.schedule.rate(progress) * self.rate_scale();
        let norm = timed(&mut costs.optimizer_seconds, || self.descend(gradients, rate));
        report.costs = costs;
        if report.steps + report.skipped_steps == 0 {
            report.first_step_log_ratio = statistics.largest_log_ratio;
        }
        if norm.is_finite() {
            report.add(&statistics, norm, rate);
        } else {
            report.skipped_steps += 1;
        }
    }

    /// Clips `gradients` and takes one optimizer step, unless one of them is not finite. Returns their
    /// global norm before clipping.
    pub(crate) fn descend(&mut self, mut gradients: GradientsParams, rate: f64) -> f32 {
        let norm = clip_global_norm(&self.model, &mut gradients, self.config.max_gradient_norm);
        if norm.is_finite() {
            match self.masters.take() {
                // Moved, not cloned: only a sole owner is changed in place.
                Some(Masters { model, half }) => {
                    let model = self.optimizer.0.step(rate, model, gradients);
                    self.model = cast(model.clone(), half);
                    self.masters = Some(Masters { model, half });
                }
                None => self.model = self.optimizer.0.step(rate, self.model.clone(), gradients),
            }
        }
        norm
    }

    fn set_masters(&mut self, stepped: M) {
        match &mut self.masters {
            Some(masters) => {
                self.model = cast(stepped.clone(), masters.half);
                masters.model = stepped;
            }
            None => self.model = stepped,
        }
    }

    /// The gradient of one optimizer step, summed over its micro-batches, before clipping.
    pub fn gradients<A: Algorithm + Sync>(
        &self,
        algorithm: &A,
        streams: &[&TrainStream],
    ) -> (GradientsParams, LossStatistics) {
        let device = device_of(&self.model);
        let totals = StepTotals::of(streams.iter().copied());
        let groups = self.micro_batches(streams.iter().copied());
        let checkpointing = self.config.checkpointing;
        let (gradients, parts) = self.sum_gradients(groups, |model, group, sum| {
            let group: Vec<&TrainStream> = group.iter().map(|&index| streams[index]).collect();
            let batch = MicroBatch::new(&group, totals, &device);
            let mut pass = Pass::new(model, checkpointing);
            let evaluation = batch.evaluate_in(&mut pass, &algorithm.softmax());
            let output = algorithm.loss(evaluation, &batch.loss);
            pass.backward(output.loss, sum);
            output.parts
        });
        let mut statistics = LossStatistics::default();
        for part in parts {
            statistics.add(&part.read());
        }
        (gradients, statistics)
    }

    /// Sums gradients over `groups`, a share of them on each worker. `add` adds those of one group; what
    /// it returns comes back in an order that the number of workers decides.
    pub(crate) fn sum_gradients<T: Send>(
        &self,
        groups: Vec<Vec<usize>>,
        add: impl Fn(&M, &[usize], &mut GradientsAccumulator<M>) -> T + Sync,
    ) -> (GradientsParams, Vec<T>) {
        let shares = parallel::deal(groups, self.config.workers);
        let is_alone = shares.len() <= 1;
        let shares = shares.into_iter().map(|share| {
            let model = self.model.clone();
            // Passes that share parameters would wait for each other in the graph of gradients.
            let model = if is_alone { model } else { model.fork(&device_of(&self.model)) };
            (share, model)
        });
        let sums = parallel::map(shares.collect(), |(share, model)| {
            let mut accumulator = GradientsAccumulator::new();
            let add = |group: Vec<usize>| add(&model, &group, &mut accumulator);
            let beside: Vec<T> = share.into_iter().map(add).collect();
            (accumulator.grads(), beside)
        });
        let mut accumulator = GradientsAccumulator::new();
        let mut beside = Vec::new();
        for (gradients, others) in sums {
            accumulator.accumulate(&self.model, gradients);
            beside.extend(others);
        }
        (accumulator.grads(), beside)
    }

    fn micro_batches<'a>(&self, streams: impl Iterator<Item = &'a TrainStream>) -> Vec<Vec<usize>> {
        let lengths: Vec<usize> = streams.map(|stream| stream.tokens.len()).collect();
        group_by_length(&lengths, self.config.micro_batch_tokens)
    }

    pub(crate) fn checkpointing(&self) -> Checkpointing {
        self.config.checkpointing
    }

    pub(crate) fn micro_batch_tokens(&self) -> usize {
        self.config.micro_batch_tokens
    }
}

/// The device of a model's parameters, with autodiff if they have it.
pub(crate) fn device_of<M: Module>(model: &M) -> Device {
    model.devices().into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
