//! Episodes become tensors: streams with targets on the host, then padded micro-batches on a device.

mod block;
mod micro_batch;

use std::ops::Range;

pub use self::block::{TokenBlock, group_by_length};
pub(crate) use self::block::{float_tensor, int_tensor};
pub use self::micro_batch::MicroBatch;
use crate::algorithm::{Targets, TurnTarget};
use crate::episode::{Episode, Stream, Turn};
use crate::error::Error;

/// A stream with all that a loss needs of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainStream {
    /// Token ids.
    pub tokens: Vec<u32>,
    /// The turns in it.
    pub turns: Vec<TrainTurn>,
}

/// A turn with its targets.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainTurn {
    /// Where the response tokens are in the stream.
    pub response: Range<usize>,
    /// `log pi_old` of each response token, in nats.
    pub old_log_probs: Vec<f32>,
    /// `log pi_ref` of each response token; empty where no reference is used.
    pub reference_log_probs: Vec<f32>,
    /// `V / R_max` when the turn was sampled.
    pub old_value: f32,
    /// `Q / R_max` when the turn was sampled.
    pub old_action_value: f32,
    /// What to pull towards.
    pub target: TurnTarget,
}

impl TrainStream {
    /// Pairs the streams of `episodes` with their targets, in order. Streams without a turn are left
    /// out.
    ///
    /// # Errors
    /// If a turn contradicts its episode: a reply outside its stream, of no token or over another's,
    /// log-probabilities that do not match, a number that is not finite.
    ///
    /// # Panics
    /// If there is not one target a turn.
    pub fn collect(episodes: &[Episode], targets: &Targets) -> Result<Vec<Self>, Error> {
        let (played, aimed) = (episodes.len(), targets.turns.len());
        assert_eq!(played, aimed, "{played} episodes have targets for {aimed}");
        let mut streams = Vec::new();
        for (episode, targets) in episodes.iter().zip(&targets.turns) {
            streams.extend(Self::of_episode(episode, targets)?);
        }
        streams.retain(|stream| !stream.turns.is_empty());
        Ok(streams)
    }

    fn of_episode(episode: &Episode, targets: &[TurnTarget]) -> Result<Vec<Self>, Error> {
        let (played, aimed) = (episode.turns.len(), targets.len());
        assert_eq!(played, aimed, "an episode of {played} turns has targets for {aimed}");
        let bare = |stream: &Stream| TrainStream { tokens: stream.tokens.clone(), turns: vec![] };
        let mut streams: Vec<Self> = episode.streams.iter().map(bare).collect();
        for (turn, &target) in episode.turns.iter().zip(targets) {
            let stream = streams.get_mut(turn.stream).ok_or("its stream does not exist");
            stream
                .and_then(|stream| stream.push(turn, target))
                .map_err(|what| Error::MalformedTurn { task: episode.task.clone(), what })?;
        }
        Ok(streams)
    }

    fn push(&mut self, turn: &Turn, target: TurnTarget) -> Result<(), &'static str> {
        let Range { start, end } = turn.response;
        if start == 0 || end > self.tokens.len() {
            return Err("its reply is not inside its stream, after a context");
        }
        if self.turns.last().is_some_and(|last| start < last.response.end) {
            return Err("its reply begins before the reply of an earlier turn ends");
        }
        if turn.response.is_empty() || turn.response.len() != turn.log_probs.len() {
            return Err("it needs one log-probability a token, and a token");
        }
        let numbers = [turn.value, turn.action_value, turn.reward];
        if !turn.log_probs.iter().chain(&numbers).all(|number| number.is_finite()) {
            return Err("a log-probability, value or reward is not finite");
        }
        self.turns.push(TrainTurn {
            response: turn.response.clone(),
            old_log_probs: turn.log_probs.clone(),
            reference_log_probs: Vec::new(),
            old_value: turn.value,
            old_action_value: turn.action_value,
            target,
        });
        Ok(())
    }

    /// The number of response tokens.
    pub fn response_tokens(&self) -> usize {
        self.turns.iter().map(|turn| turn.response.len()).sum()
    }
}

/// What the means of an optimizer step are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTotals {
    /// Response tokens of the step.
    pub tokens: usize,
    /// Turns of the step.
    pub turns: usize,
}

impl StepTotals {
    /// The totals of the streams of one optimizer step.
    pub fn of<'a>(streams: impl IntoIterator<Item = &'a TrainStream>) -> Self {
        streams.into_iter().fold(StepTotals { tokens: 0, turns: 0 }, |totals, stream| StepTotals {
            tokens: totals.tokens + stream.response_tokens(),
            turns: totals.turns + stream.turns.len(),
        })
    }
}

#[cfg(test)]
mod tests;
