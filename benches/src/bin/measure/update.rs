use clap::Args;
use sapo_core::actor::Finish;
use sapo_core::episode::{End, Episode, Stream, Turn};

use crate::meter::{Cost, measure};
use crate::method::{Method, Name, Settings};
use crate::tokens;

/// One whole update from episodes that are already played: values of a critic where there is one, targets,
/// gradients of every network, and an AdamW step of each.
///
/// Each turn is an observation and a reply seven times as long: 7/8 of all tokens are responses.
#[derive(Args)]
pub(crate) struct Update {
    /// The method.
    method: Name,
    /// A shape or a folder.
    model: String,
    /// Episodes, of one stream each.
    rows: usize,
    /// Tokens of each.
    time: usize,
    /// Turns of each.
    #[arg(long, default_value_t = 4)]
    turns: usize,
    #[command(flatten)]
    settings: Settings,
}

impl Update {
    pub(crate) fn run(&self) -> Cost {
        let mut method = Method::new(self.method, &self.model, self.settings);
        let vocabulary = sapo_core::model::CausalLm::vocabulary(method.policy());
        let rows = tokens(self.rows, self.time, vocabulary).into_iter().enumerate();
        let episodes: Vec<Episode> =
            rows.map(|(row, tokens)| self.episode(row, tokens, vocabulary)).collect();
        measure(3, || method.update(episodes.clone()))
    }

    /// An episode as a policy would play it to which all tokens are equally likely.
    fn episode(&self, row: usize, tokens: Vec<u32>, vocabulary: usize) -> Episode {
        let length = self.time / self.turns;
        let turn = |index: usize| {
            let response = index * length + length.div_ceil(8)..(index + 1) * length;
            Turn {
                stream: 0,
                log_probs: vec![-(vocabulary as f32).ln(); response.len()],
                response,
                value: 0.0,
                action_value: 0.0,
                finish: Finish::Length,
                reply: String::new(),
                action: String::new(),
                valid: true,
                reward: ((row + index) % 3) as f32,
            }
        };
        Episode {
            task: "made up".into(),
            kind: String::new(),
            streams: vec![Stream { tokens }],
            turns: (0..self.turns).map(turn).collect(),
            end: End::Terminated,
            success: false,
            score: 0.0,
        }
    }
}
