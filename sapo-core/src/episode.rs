//! What a rollout leaves: episodes as plain data, which can be saved, replayed and compared.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::actor::Finish;

/// A sequence of tokens as the model saw it, from the first token of its context to its last reply.
///
/// A conversation is one stream with many turns; a prompt with a short history is one stream a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Token ids, in order.
    pub tokens: Vec<u32>,
}

/// One reply and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Which of the episode's streams holds the reply.
    pub stream: usize,
    /// Where in the stream the reply's tokens are; starts at 1 or later.
    pub response: Range<usize>,
    /// The log-probabilities of the response tokens when they were sampled, in nats.
    pub log_probs: Vec<f32>,
    /// `V(s_t) / R_max` at the last context position, when the reply was sampled.
    pub value: f32,
    /// `Q(s_t, a_t) / R_max` at the last response position, when the reply was sampled.
    pub action_value: f32,
    /// Why the reply ended.
    pub finish: Finish,
    /// The reply's text.
    pub reply: String,
    /// The action that was read out of it.
    pub action: String,
    /// Whether the reply had the form that was asked for.
    pub valid: bool,
    /// The reward of this turn.
    pub reward: f32,
}

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "end")]
pub enum End {
    /// In a terminal state of the task.
    Terminated,
    /// At the task's time limit; `value` is the readout at the last observation, where it was asked for.
    Truncated {
        /// `V / R_max` of the observation after the last turn.
        value: Option<f32>,
    },
}

/// One task played from its start to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// The task's name.
    pub task: String,
    /// The kind of task, for reports; may be empty.
    pub kind: String,
    /// The token sequences that the model saw.
    pub streams: Vec<Stream>,
    /// The turns in the order of play, at least one.
    pub turns: Vec<Turn>,
    /// How it ended.
    pub end: End,
    /// Whether the task was solved.
    pub success: bool,
    /// The task's score, from 0 to 1.
    pub score: f32,
}

impl Episode {
    /// The undiscounted sum of rewards.
    pub fn total_reward(&self) -> f32 {
        self.turns.iter().map(|turn| turn.reward).sum()
    }

    /// The number of sampled tokens.
    pub fn response_tokens(&self) -> usize {
        self.turns.iter().map(|turn| turn.response.len()).sum()
    }
}
