use clap::Args;

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
    #[command(flatten)]
    settings: Settings,
}

impl Iteration {
    pub(crate) fn run(&self) -> Cost {
        let mut method = Method::new(self.method, &self.model, self.settings);
        let shape = Shape { turns: self.turns, observed: self.observed, reply: self.reply };
        measure(3, || {
            let start = cpu_seconds();
            let value_tokens = method.value_tokens();
            let episodes = shape.play(method.policy(), value_tokens, self.episodes, self.group);
            let played = cpu_seconds();
            method.update(episodes);
            let (rollout, update) = (played - start, cpu_seconds() - played);
            eprintln!("rollout {rollout:.2} CPU seconds, update {update:.2}");
        })
    }
}
