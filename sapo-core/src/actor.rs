//! The agent's side of a rollout: [`Actor`] turns prompts into replies.

use std::error::Error;

use serde::{Deserialize, Serialize};

use crate::env::Prompt;

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model sampled a stop token, which is the reply's last token.
    Stop,
    /// The reply reached its length limit.
    Length,
}

/// A wish for one reply.
#[derive(Clone, Debug)]
pub struct TurnRequest<'a> {
    /// Which conversation this turn belongs to. An actor keeps a stream for each slot; a
    /// [`Prompt::Fresh`] begins that slot's stream anew.
    pub slot: usize,
    /// What the model is to answer.
    pub prompt: &'a Prompt,
    /// Seeds the randomness of this reply alone, so that a reply does not depend on its neighbours.
    pub seed: u64,
}

/// A reply with all that training needs of it, captured while it was sampled.
///
/// Token ids are kept as they were sampled: nothing is ever tokenised again from text.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The tokens that were put into the stream before the reply: the rendered prompt, generation
    /// prompt included. At least one.
    pub context: Vec<u32>,
    /// The sampled tokens, at least one; the stop token is included if it was sampled.
    pub tokens: Vec<u32>,
    /// The log-probability of each token in nats, under the sampling temperature and the vocabulary
    /// without the value tokens. As long as `tokens`.
    pub log_probs: Vec<f32>,
    /// The value readout `v` at the last context position, before scaling by `R_max`.
    pub value: f32,
    /// The value readout `v` at the last response position, before scaling by `R_max`.
    pub action_value: f32,
    /// Why the reply ended.
    pub finish: Finish,
    /// The reply as text, without stop and special tokens.
    pub text: String,
}

/// Why a conversation cannot go on: it has no room for another reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// The prompt is longer than the actor takes.
    #[error("the prompt has {tokens} tokens, the limit is {limit}")]
    Prompt {
        /// The prompt's length.
        tokens: usize,
        /// The longest that is taken.
        limit: usize,
    },
    /// The stream with the longest reply is longer than the model's positions.
    #[error(
        "the stream could grow to {tokens} tokens with its reply, the model has {limit} positions"
    )]
    Stream {
        /// The stream's length with the longest reply.
        tokens: usize,
        /// The model's positions.
        limit: usize,
    },
}

/// A policy that can be played: the local model, a server, a script.
pub trait Actor {
    /// What can go wrong while generating.
    type Error: Error + Send + Sync + 'static;

    /// Answers every request, in their order. Slots in one call are distinct. A conversation without room
    /// for a reply is refused alone: its neighbours go on.
    ///
    /// # Errors
    /// If nothing can be generated at all.
    fn act(
        &mut self,
        requests: &[TurnRequest<'_>],
    ) -> Result<Vec<Result<Reply, NoRoom>>, Self::Error>;

    /// Forgets the stream of `slot`, whose episode ended.
    fn release(&mut self, slot: usize);

    /// Reads the value at the end of `prompt` without replying: the bootstrap of a truncated episode.
    ///
    /// # Errors
    /// If the prompt cannot be read.
    fn value(&mut self, request: &TurnRequest<'_>) -> Result<Result<f32, NoRoom>, Self::Error>;
}
