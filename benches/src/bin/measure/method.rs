//! The methods that are compared, each with the networks that it trains.

use burn::module::Module;
use clap::{Args, ValueEnum};
use sapo_core::Checkpointing;
use sapo_core::algorithm::{Algorithm, Grpo, Ppo, Sapo};
use sapo_core::critic::Critic;
use sapo_core::episode::Episode;
use sapo_core::learner::{Learner, LearnerConfig, MiniBatches};
use sapo_core::model::CausalLm;
use sapo_core::objective::Objective;
use sapo_core::schedule::{Decay, Schedule};
use sapo_core::value::{ActionSoftmax, ValueTokens};
use sapo_models::Decoder;

use crate::device;
use crate::models::model;

/// Which method trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// One network, which reads values off its own logits.
    Sapo,
    /// A policy, and a critic of the same size.
    Ppo,
    /// One network and no values; episodes of a task are compared.
    Grpo,
}

/// How a method trains.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Tokens of a micro-batch.
    #[arg(long, default_value_t = 1024)]
    micro_batch_tokens: usize,
    /// Keep only what goes into each layer for the backward pass.
    #[arg(long)]
    checkpoint_layers: bool,
    /// Hold the policy to a frozen copy of itself.
    #[arg(long)]
    reference: bool,
}

/// A method in training.
pub(crate) struct Method {
    policy: Learner<Decoder>,
    reference: Option<Decoder>,
    kind: Kind,
}

enum Kind {
    Sapo(Sapo),
    Ppo(Ppo, Box<Learner<Critic<Decoder>>>),
    Grpo(Grpo),
}

impl Method {
    /// The method over a model of the shape `shape`.
    pub(crate) fn new(name: Name, shape: &str, settings: Settings) -> Self {
        let network = || model(shape, &device().autodiff());
        let learner = config(settings);
        let policy = network();
        let kl_coefficient = if settings.reference { 0.01 } else { 0.0 };
        let objective = Objective { kl_coefficient, ..Objective::default() };
        let kind = match name {
            Name::Sapo => Kind::Sapo(Sapo { objective, ..Sapo::new(softmax(&policy)) }),
            Name::Ppo => {
                let critic = Learner::new(Critic::new(network()), learner.clone());
                Kind::Ppo(Ppo { objective, ..Ppo::default() }, Box::new(critic))
            }
            Name::Grpo => Kind::Grpo(Grpo { objective, ..Grpo::default() }),
        };
        let reference = settings.reference.then(|| policy.valid());
        Method { policy: Learner::new(policy, learner), reference, kind }
    }

    /// The policy as it is now.
    pub(crate) fn policy(&self) -> &Decoder {
        self.policy.model()
    }

    /// The entries that no reply may hold.
    pub(crate) fn value_tokens(&self) -> Option<ValueTokens> {
        match &self.kind {
            Kind::Sapo(sapo) => sapo.softmax().value_tokens,
            Kind::Ppo(..) | Kind::Grpo(_) => None,
        }
    }

    /// Learns from `episodes` with every network; the critic first values them.
    pub(crate) fn update(&mut self, mut episodes: Vec<Episode>) {
        let Method { policy, reference, kind } = self;
        let reference = reference.as_ref();
        match kind {
            Kind::Sapo(sapo) => learn(policy, sapo, &episodes, reference),
            Kind::Grpo(grpo) => learn(policy, grpo, &episodes, reference),
            Kind::Ppo(ppo, critic) => {
                critic.appraise(&mut episodes).expect("sound episodes");
                learn(policy, ppo, &episodes, reference);
                let targets = ppo.targets(&episodes);
                let clip = ppo.objective.value_clip;
                critic.fit(&episodes, &targets, clip, 0).expect("sound episodes");
            }
        }
    }
}

fn learn<A: Algorithm + Sync>(
    policy: &mut Learner<Decoder>,
    algorithm: &A,
    episodes: &[Episode],
    reference: Option<&Decoder>,
) {
    let report = policy.update(algorithm, episodes, reference, 0).expect("sound episodes");
    assert_eq!((report.steps, report.skipped_steps), (1, 0), "one optimizer step");
}

/// SAPO's distribution, with the two highest entries as value tokens.
fn softmax(model: &Decoder) -> ActionSoftmax {
    let vocabulary = model.vocabulary();
    let last = vocabulary as u32 - 1;
    ActionSoftmax {
        value_tokens: ValueTokens::new(last, last - 1, vocabulary).ok(),
        temperature: 1.0,
    }
}

/// One optimizer step an update, on one thread.
fn config(settings: Settings) -> LearnerConfig {
    let Settings { micro_batch_tokens, checkpoint_layers, .. } = settings;
    let checkpointing = if checkpoint_layers { Checkpointing::Layers } else { Checkpointing::None };
    LearnerConfig {
        schedule: Schedule {
            peak: 1e-6,
            warmup_iterations: 0.0,
            iterations: 1.0,
            decay: Decay::Constant,
        },
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.01,
        max_gradient_norm: 1.0,
        epochs: 1,
        mini_batches: MiniBatches::Count(1),
        micro_batch_tokens,
        recompute_old: false,
        checkpointing,
        workers: 1,
        kl_controller: None,
        seed: 0,
    }
}
