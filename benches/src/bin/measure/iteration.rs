use std::ops::ControlFlow;

use clap::Args;
use sapo_core::rollout::{RolloutConfig, play};

use crate::meter::{Cost, cpu_seconds, measure};
use crate::method::{Method, Name, Settings};
use crate::talk::Shape;

/// One whole iteration: a rollout of toy conversations and the update that follows.
#[derive(Args)]
pub(crate) struct Iteration {
    /// The method.
    method: Name,
    /// A shape or a folder.
    model: String,
    /// Episodes.
    episodes: usize,
    /// Turns of an episode.
    #[arg(long, default_value_t = 8)]
    turns: usize,
    /// Tokens of an observation.
    #[arg(long, default_value_t = 24)]
    observed: usize,
    /// Tokens of a reply.
    #[arg(long, default_value_t = 8)]
    reply: usize,
    /// Episodes of a task.
    #[arg(long, default_value_t = 8)]
    group: usize,
    /// Tokens of a micro-batch.
    #[arg(long, default_value_t = 1024)]
    micro_batch_tokens: usize,
    /// Hold the policy to a frozen copy of itself.
    #[arg(long)]
    reference: bool,
}

impl Iteration {
    pub(crate) fn run(&self) -> Cost {
        let settings =
            Settings { micro_batch_tokens: self.micro_batch_tokens, has_reference: self.reference };
        let mut method = Method::new(self.method, &self.model, settings);
        let shape = Shape { turns: self.turns, observed: self.observed, reply: self.reply };
        measure(3, || {
            let start = cpu_seconds();
            let mut actor = shape.generator(method.policy(), method.value_tokens());
            let config =
                RolloutConfig { slots: self.episodes, seed: 0, retries: 0, bootstrap: false };
            let dialogues = shape.dialogues(self.episodes, self.group);
            let rollout = play(&mut actor, dialogues, config, |_| ControlFlow::Continue(()));
            drop(actor);
            let played = cpu_seconds();
            method.update(rollout.expect("replies").episodes);
            let (rollout, update) = (played - start, cpu_seconds() - played);
            eprintln!("rollout {rollout:.2} CPU seconds, update {update:.2}");
        })
    }
}
