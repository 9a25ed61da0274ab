use clap::Args;

use crate::device;
use crate::meter::{Cost, measure};
use crate::models::model;
use crate::talk::Shape;

/// A rollout of conversations of a number of turns; the seconds are those of one turn of all episodes.
#[derive(Args)]
pub(crate) struct Rollout {
    /// A shape or a folder.
    model: String,
    /// Turns of an episode.
    turns: usize,
    /// Episodes, all under way at once.
    #[arg(long, default_value_t = 8)]
    episodes: usize,
    /// Tokens of an observation.
    #[arg(long, default_value_t = 24)]
    observed: usize,
    /// Tokens of a reply.
    #[arg(long, default_value_t = 8)]
    reply: usize,
}

impl Rollout {
    pub(crate) fn run(&self) -> Cost {
        let decoder = model(&self.model, &device());
        let shape = Shape { turns: self.turns, observed: self.observed, reply: self.reply };
        let cost = measure(3, || {
            let episodes = shape.play(&decoder, None, self.episodes, 1);
            let turns: usize = episodes.iter().map(|episode| episode.turns.len()).sum();
            assert_eq!(turns, self.episodes * self.turns, "no episode is cut short");
        });
        let turns = self.turns as f64;
        Cost { cpu_seconds: cost.cpu_seconds / turns, seconds: cost.seconds / turns, ..cost }
    }
}
