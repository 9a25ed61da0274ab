//! A run from its start to its end: warm start, evaluation, iterations, evaluation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use burn::prelude::*;
use sapo_core::algorithm::Sapo;
use sapo_core::env::Dialogue;
use sapo_core::learner::{Learner, LearnerConfig, MiniBatches};
use sapo_core::precision::cast;
use sapo_core::rollout::{self, RolloutConfig};
use sapo_core::schedule::{KlController, Schedule};
use sapo_core::{algorithm::Truncation, seed};
use sapo_kernels::AdamW;
use sapo_models::Decoder;
use serde::Serialize;

use crate::agent::{Agent, device, readout};
use crate::config::{Dtype, OptimizerSection, RunConfig};
use crate::evaluation::{Evaluation, Settings, evaluate};
use crate::interrupt::Interrupt;
use crate::memory::{LongStreams, ensure_it_fits};
use crate::metrics::Line;
use crate::output::{percent, progress_bar, talk};
use crate::run_folder::{RunFolder, RunState};
use crate::warm_start;
use crate::world::{TaskSet, Use};

/// Sets apart the randomness of a run's parts.
const TASKS: u64 = 2;
const ROLLOUT: u64 = 3;
/// Iterations between checkpoints.
const CHECKPOINT_EVERY: usize = 5;

/// What a run came to.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) run: PathBuf,
    pub(crate) success_before: f64,
    pub(crate) success_after: f64,
    pub(crate) episodes: usize,
    pub(crate) iterations: usize,
    pub(crate) seconds: f64,
    pub(crate) interrupted: bool,
    pub(crate) seed: u64,
    /// Held-out success at the end, by split.
    pub(crate) evaluations: BTreeMap<String, Evaluation>,
}

/// A run under way.
pub(crate) struct Trainer {
    config: RunConfig,
    folder: RunFolder,
    interrupt: Interrupt,
    clock: Instant,
    /// What processes before this one took, in seconds.
    spent_before: f64,
    agent: Agent,
    learner: Learner<Decoder>,
    reference: Option<Decoder>,
    sapo: Sapo,
    tasks: TaskSet,
    held_out: TaskSet,
    state: RunState,
    long_streams: LongStreams,
}

/// How long a call of [`Trainer::run`] goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopAfter(pub(crate) Option<usize>);

impl Trainer {
    /// Sets a new run up in the folder `out`, warm start included; `None` if that was interrupted.
    ///
    /// The folder is made once tasks and model are known to be good: bad input leaves nothing behind.
    pub(crate) fn start(
        config: RunConfig,
        out: Option<&Path>,
        interrupt: Interrupt,
    ) -> Result<Option<Self>> {
        let clock = Instant::now();
        ensure_it_fits(&config)?;
        let device = device(config.device);
        let (tasks, held_out) = task_sets(&config)?;
        let (agent, decoder) = Agent::start(&config, &device, || warm_start::corpus(&config))?;
        let (reply, positions) =
            (config.rollout.max_new_tokens, agent.config.max_position_embeddings);
        ensure!(
            reply < positions,
            "rollout.max_new_tokens is {reply}; the model has {positions} positions for a whole stream"
        );
        let budget = config.optimizer.micro_batch_tokens;
        ensure!(
            budget > reply,
            "optimizer.micro_batch_tokens is {budget}; a stream with one reply of rollout.max_new_tokens, \
             {reply}, does not fit into it"
        );
        let folder = RunFolder::create(out, &config)?;
        talk(format!("run folder: {}", folder.path().display()));
        let decoder = warm_up(&config, &agent, decoder, &interrupt)?;
        if interrupt.is_asked() {
            folder.discard()?;
            return Ok(None);
        }
        // Unrounded: it is the reference policy of a run that is resumed.
        agent.save(&decoder, &folder.start_model(), Dtype::F32)?;
        let (sapo, reference) = method(&config, &agent, &decoder);
        let learner = learner(decoder, &config);
        let state = RunState { rate_scale: 1.0, ..RunState::default() };
        folder.save_checkpoint(&learner, &state)?;
        Ok(Some(Trainer {
            config,
            folder,
            interrupt,
            clock,
            spent_before: 0.0,
            agent,
            learner,
            reference,
            sapo,
            tasks,
            held_out,
            state,
            long_streams: LongStreams::default(),
        }))
    }

    /// Goes on with a run from its newest checkpoint.
    pub(crate) fn resume(
        config: RunConfig,
        folder: RunFolder,
        interrupt: Interrupt,
    ) -> Result<Self> {
        ensure!(
            !folder.is_finished(),
            "{}: the run is finished; `sapo inspect` shows what it came to",
            folder.path().display()
        );
        let clock = Instant::now();
        ensure_it_fits(&config)?;
        let device = device(config.device);
        let (tasks, held_out) = task_sets(&config)?;
        let (checkpoint, state) = folder.newest_checkpoint()?;
        let start = folder.start_model();
        let wanted = readout(&config.sapo);
        let (agent, decoder) = Agent::from_folder(&start, &config.model, Some(wanted), &device)?;
        let (sapo, reference) = method(&config, &agent, &decoder);
        let mut learner = learner(decoder, &config).load(&checkpoint)?;
        learner.set_rate_scale(state.rate_scale);
        folder.rewind_metrics(state.iteration)?;
        folder.remove_summary()?;
        talk(format!("resumed after iteration {}", state.iteration));
        Ok(Trainer {
            config,
            folder,
            interrupt,
            clock,
            spent_before: state.seconds,
            agent,
            learner,
            reference,
            sapo,
            tasks,
            held_out,
            state,
            long_streams: LongStreams::default(),
        })
    }

    /// Iterates to the end of the run, of `stop`, or to an interruption.
    pub(crate) fn run(mut self, stop: StopAfter) -> Result<Summary> {
        if self.state.success_before.is_none() {
            self.evaluate_before()?;
        }
        let first = self.state.iteration;
        let end = stop.0.map_or(self.config.iterations, |more| {
            self.config.iterations.min(first.saturating_add(more))
        });
        while self.state.iteration < end && !self.interrupt.is_asked() {
            match self.iterate() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    if let Err(lost) = self.folder.save_checkpoint(&self.learner, &self.state) {
                        talk(format!("iteration {} was not saved: {lost:#}", self.state.iteration));
                    }
                    return Err(error);
                }
            }
            self.state.seconds = self.seconds();
            if self.state.iteration.is_multiple_of(CHECKPOINT_EVERY) {
                self.folder.save_checkpoint(&self.learner, &self.state)?;
            }
        }
        self.folder.save_checkpoint(&self.learner, &self.state)?;
        let dtype = self.config.model.dtype;
        self.agent.save(self.learner.masters(), &self.folder.model(), dtype)?;
        let is_whole = self.state.iteration >= self.config.iterations;
        let evaluations = if is_whole { self.final_evaluations()? } else { BTreeMap::new() };
        self.state.seconds = self.seconds();
        self.summarize(evaluations)
    }

    /// What the run has taken so far.
    fn seconds(&self) -> f64 {
        self.spent_before + self.clock.elapsed().as_secs_f64()
    }

    /// One iteration; false if it was interrupted before its update.
    fn iterate(&mut self) -> Result<bool> {
        let iteration = self.state.iteration;
        let tasks_seed = seed::derive(self.config.seed, &[TASKS]);
        let dialogues: Vec<Box<dyn Dialogue>> = self
            .tasks
            .draw(iteration, self.config.episodes, tasks_seed)
            .into_iter()
            .map(|task| self.tasks.dialogue(task))
            .collect::<Result<_>>()?;
        let section = &self.config.rollout;
        let mut actor =
            self.agent.generator(self.learner.model(), &self.config, section.temperature);
        let config = RolloutConfig {
            slots: section.slots,
            seed: seed::derive(self.config.seed, &[ROLLOUT, iteration as u64]),
            retries: section.retries,
            bootstrap: self.config.sapo.truncation == Truncation::Bootstrap,
        };
        let rollout = rollout::play(&mut actor, dialogues, config, |_| self.interrupt.flow())?;
        drop(actor);
        if rollout.interrupted {
            return Ok(false);
        }
        if rollout.episodes.is_empty() {
            let fault = rollout.faults.last().map_or("none".into(), ToString::to_string);
            bail!("iteration {}: every episode failed; the last fault: {fault}", iteration + 1);
        }
        let streams = rollout.episodes.iter().flat_map(|episode| &episode.streams);
        let lengths = streams.map(|stream| stream.tokens.len());
        self.long_streams.notice(lengths, self.config.optimizer.micro_batch_tokens);
        let clock = Instant::now();
        let update = self.learner.update(
            &self.sapo,
            &rollout.episodes,
            self.reference.as_ref(),
            iteration,
        )?;
        self.state.iteration += 1;
        self.state.episodes += rollout.episodes.len();
        self.state.rate_scale = self.learner.rate_scale();
        let mut line = Line::new(self.state.iteration, &rollout, update, clock.elapsed());
        self.report(&serde_json::to_value(&line)?);
        line.held_out = self.evaluate_in_between()?;
        self.folder.append_metrics(&serde_json::to_value(&line)?)?;
        self.folder.write_episodes(self.state.iteration, &rollout.episodes, &self.agent.codec)?;
        Ok(true)
    }

    fn report(&self, line: &serde_json::Value) {
        let number = |key: &str| line[key].as_f64();
        let share = |key: &str| number(key).map_or("-".into(), percent);
        let digits = |key: &str, places: usize| {
            number(key).map_or("-".into(), |number| format!("{number:.places$}"))
        };
        let seconds = |key: &str| number(key).unwrap_or(0.0);
        talk(format!(
            "iteration {:>3}/{}  success {}  turns {}  invalid {}  entropy {}  KL {}  \
             explained V {} Q {}  rate {:.1e}  {:.1} s + {:.1} s",
            self.state.iteration,
            self.config.iterations,
            share("success"),
            digits("mean_turns", 1),
            share("invalid_share"),
            digits("entropy", 3),
            digits("approximate_kl", 4),
            digits("value_explained_variance", 2),
            digits("action_value_explained_variance", 2),
            number("learning_rate").unwrap_or(0.0),
            seconds("actor_seconds") + seconds("world_seconds"),
            seconds("update_seconds"),
        ));
    }

    fn evaluate_before(&mut self) -> Result<()> {
        if let Some(before) = self.evaluate_held_out()? {
            talk(format!("before: {before}"));
            self.state.success_before = Some(before.all.success);
        }
        Ok(())
    }

    fn evaluate_in_between(&self) -> Result<Option<Evaluation>> {
        let every = self.config.evaluation.every;
        let iteration = self.state.iteration;
        if every == 0 || !iteration.is_multiple_of(every) || iteration == self.config.iterations {
            return Ok(None);
        }
        let found = self.evaluate_held_out()?;
        if let Some(found) = &found {
            talk(format!("held out: {found}"));
        }
        Ok(found)
    }

    fn evaluate_held_out(&self) -> Result<Option<Evaluation>> {
        self.evaluate(&self.held_out, &self.config.env.eval_split)
    }

    fn evaluate(&self, tasks: &TaskSet, split: &str) -> Result<Option<Evaluation>> {
        let settings = Settings {
            config: &self.config,
            temperature: self.config.evaluation.temperature,
            seed: self.config.seed,
        };
        let bar = progress_bar(tasks.len() as u64, "evaluating");
        let found = evaluate(&self.agent, self.learner.model(), tasks, split, &settings, |done| {
            bar.set_position(done.finished as u64);
            self.interrupt.flow()
        });
        bar.finish_and_clear();
        found
    }

    fn final_evaluations(&self) -> Result<BTreeMap<String, Evaluation>> {
        let mut found = BTreeMap::new();
        if let Some(after) = self.evaluate_held_out()? {
            talk(format!("after: {after}"));
            found.insert(after.split.clone(), after);
        }
        for split in &self.config.evaluation.more_splits {
            let tasks =
                TaskSet::evaluation(&self.config.env, split, self.config.evaluation.episodes)?;
            if let Some(after) = self.evaluate(&tasks, split)? {
                talk(format!("after: {after}"));
                found.insert(split.clone(), after);
            }
        }
        Ok(found)
    }

    fn summarize(self, evaluations: BTreeMap<String, Evaluation>) -> Result<Summary> {
        let wanted = &self.config.evaluation.more_splits;
        let is_whole = wanted.iter().all(|split| evaluations.contains_key(split));
        let after = evaluations.get(&self.config.env.eval_split);
        let summary = Summary {
            run: self.folder.path().to_owned(),
            success_before: self.state.success_before.unwrap_or(f64::NAN),
            success_after: after.map_or(f64::NAN, |after| after.all.success),
            episodes: self.state.episodes,
            iterations: self.state.iteration,
            seconds: self.state.seconds,
            interrupted: after.is_none() || !is_whole,
            seed: self.config.seed,
            evaluations,
        };
        self.folder.write_summary(&serde_json::to_value(&summary)?)?;
        Ok(summary)
    }
}

/// The method, and the frozen policy that it stays close to where it wants one.
fn method(config: &RunConfig, agent: &Agent, start: &Decoder) -> (Sapo, Option<Decoder>) {
    let sapo = agent.sapo(&config.sapo, config.rollout.temperature);
    let precision = config.sapo.reference_precision.float();
    let reference = (sapo.objective.kl_coefficient != 0.0).then(|| cast(start.valid(), precision));
    (sapo, reference)
}

fn task_sets(config: &RunConfig) -> Result<(TaskSet, TaskSet)> {
    let section = &config.evaluation;
    for split in &section.more_splits {
        TaskSet::evaluation(&config.env, split, section.episodes)?;
    }
    Ok((
        TaskSet::training(&config.env, Use::Training, config.warm_start.share)?,
        TaskSet::evaluation(&config.env, &config.env.eval_split, section.episodes)?,
    ))
}

/// The weights after the warm start, if there is to be one.
fn warm_up(
    config: &RunConfig,
    agent: &Agent,
    decoder: Decoder,
    interrupt: &Interrupt,
) -> Result<Decoder> {
    let steps = config.warm_start.steps;
    if steps == 0 {
        return Ok(decoder);
    }
    let mut learner = learner(decoder, config);
    let clock = Instant::now();
    let bar = progress_bar(steps as u64, "imitating the expert");
    warm_start::imitate(config, agent, &mut learner, |step, report| {
        bar.set_position(step as u64 + 1);
        if (step + 1) % 50 == 0 {
            bar.suspend(|| {
                talk(format!(
                    "warm start {:>4}/{steps}  cross-entropy {:.3}  {:.0} s",
                    step + 1,
                    report.loss,
                    clock.elapsed().as_secs_f64()
                ));
            });
        }
        !interrupt.is_asked()
    })?;
    bar.finish_and_clear();
    Ok(learner.into_model())
}

fn learner(decoder: Decoder, config: &RunConfig) -> Learner<Decoder> {
    let OptimizerSection { beta_1, beta_2, epsilon, weight_decay, .. } = config.optimizer;
    let optimizer = AdamW { beta_1, beta_2, epsilon, weight_decay };
    let decoder = cast(decoder, config.model.precision.float());
    Learner::new(decoder, learner_config(config)).with_optimizer(optimizer)
}

fn learner_config(config: &RunConfig) -> LearnerConfig {
    let section = &config.optimizer;
    LearnerConfig {
        schedule: Schedule {
            peak: config.learning_rate,
            warmup_iterations: section.warmup_iterations,
            iterations: config.iterations as f64,
            decay: section.decay,
        },
        beta_1: section.beta_1,
        beta_2: section.beta_2,
        epsilon: section.epsilon,
        weight_decay: section.weight_decay,
        max_gradient_norm: section.max_gradient_norm,
        epochs: section.epochs,
        mini_batches: match section.mini_batches {
            0 => MiniBatches::Turns(section.mini_batch_turns),
            count => MiniBatches::Count(count),
        },
        workers: config.workers,
        micro_batch_tokens: section.micro_batch_tokens,
        recompute_old: section.recompute_old,
        checkpointing: section.checkpointing,
        kl_controller: (section.target_kl > 0.0).then(|| KlController::new(section.target_kl)),
        seed: config.seed,
    }
}
