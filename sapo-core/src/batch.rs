//! Episodes become tensors: streams with targets on the host, then padded micro-batches on a device.

use std::ops::Range;

use burn::prelude::*;

use crate::algorithm::{Targets, TurnTarget};
use crate::episode::Episode;
use crate::error::Error;
use crate::model::{CausalLm, Placement};
use crate::objective::{Evaluation, LossBatch};
use crate::value::ActionSoftmax;

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
    /// Pairs the streams of `episodes` with their targets, in order.
    ///
    /// # Errors
    /// If an episode contradicts itself: a turn outside its stream, an empty reply, log-probabilities that do not match.
    pub fn collect(episodes: &[Episode], targets: &Targets) -> Result<Vec<Self>, Error> {
        let mut streams = Vec::new();
        for (episode, targets) in episodes.iter().zip(&targets.turns) {
            let first = streams.len();
            streams.extend(
                episode
                    .streams
                    .iter()
                    .map(|stream| TrainStream { tokens: stream.tokens.clone(), turns: Vec::new() }),
            );
            for (turn, &target) in episode.turns.iter().zip(targets) {
                let malformed = |what| Error::MalformedTurn { task: episode.task.clone(), what };
                let stream: &mut TrainStream = streams[first..]
                    .get_mut(turn.stream)
                    .ok_or_else(|| malformed("its stream does not exist"))?;
                if turn.response.start == 0 || turn.response.end > stream.tokens.len() {
                    return Err(malformed("its reply is not inside its stream, after a context"));
                }
                if turn.response.is_empty() || turn.response.len() != turn.log_probs.len() {
                    return Err(malformed("it needs one log-probability a token, and a token"));
                }
                stream.turns.push(TrainTurn {
                    response: turn.response.clone(),
                    old_log_probs: turn.log_probs.clone(),
                    reference_log_probs: Vec::new(),
                    old_value: turn.value,
                    old_action_value: turn.action_value,
                    target,
                });
            }
        }
        streams.retain(|stream| !stream.turns.is_empty());
        Ok(streams)
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

/// Groups streams of similar length so that each group, padded, holds at most `budget` tokens; a longer
/// stream is a group of its own. The result lists indices into `lengths`.
pub fn group_by_length(lengths: &[usize], budget: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(lengths[index]), index));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in order {
        match groups.last_mut() {
            Some(group) if lengths[group[0]] * (group.len() + 1) <= budget => group.push(index),
            _ => groups.push(vec![index]),
        }
    }
    groups
}

/// A padded block of token sequences on a device, with the mask of a causal model.
#[derive(Clone, Debug)]
pub struct TokenBlock {
    /// Token ids, padded on the right. `[rows, time]`
    pub tokens: Tensor<2, Int>,
    /// Positions and mask.
    pub placement: Placement,
}

impl TokenBlock {
    /// Pads `rows` on the right. Padding stands behind every real token, so causality alone hides it.
    pub fn new(rows: &[&[u32]], device: &Device) -> Self {
        let (count, time) = (rows.len(), rows.iter().map(|row| row.len()).max().unwrap_or(0));
        let mut ids = vec![0_i32; count * time];
        for (row, tokens) in rows.iter().enumerate() {
            for (slot, &token) in ids[row * time..].iter_mut().zip(*tokens) {
                *slot = token as i32;
            }
        }
        let tokens = Tensor::from_data(TensorData::new(ids, [count, time]), device);
        let positions =
            Tensor::arange(0..time as i64, device).unsqueeze::<2>().expand([count, time]);
        let hidden = Tensor::<2, Bool>::tril_mask([time, time], 0, device)
            .unsqueeze::<3>()
            .expand([count, time, time]);
        TokenBlock { tokens, placement: Placement { positions, hidden } }
    }
}

/// Streams on a device, with the places where the loss looks.
///
/// The head is run at `places` only: for each turn, from its last context token to its last response
/// token. The first of these yields the first token and `V`, the last yields `Q`.
#[derive(Clone, Debug)]
pub struct MicroBatch {
    block: TokenBlock,
    /// Indices into the block's tokens, row after row. `[places]`
    places: Tensor<1, Int>,
    /// The token that follows each place; any token at the last place of a turn. `[places]`
    following: Tensor<1, Int>,
    /// Indices into `places`. `[tokens]`
    responses: Tensor<1, Int>,
    /// Indices into `places`. `[turns]`
    contexts: Tensor<1, Int>,
    /// Indices into `places`. `[turns]`
    ends: Tensor<1, Int>,
    /// What the loss compares with.
    pub loss: LossBatch,
}

impl MicroBatch {
    /// Moves `streams` to `device`, as a part of an optimizer step of `totals`.
    pub fn new(streams: &[&TrainStream], totals: StepTotals, device: &Device) -> Self {
        let rows: Vec<&[u32]> = streams.iter().map(|stream| &stream.tokens[..]).collect();
        let block = TokenBlock::new(&rows, device);
        let [_, time] = block.tokens.dims();
        let mut index = PlaceIndex::default();
        for (row, stream) in streams.iter().enumerate() {
            for turn in &stream.turns {
                index.add(row * time, &stream.tokens, &turn.response);
            }
        }
        let turns = || streams.iter().flat_map(|stream| &stream.turns);
        MicroBatch {
            places: int_tensor(index.places, device),
            following: int_tensor(index.following, device),
            responses: int_tensor(index.responses, device),
            contexts: int_tensor(index.contexts, device),
            ends: int_tensor(index.ends, device),
            loss: loss_batch(turns, totals, device),
            block,
        }
    }

    /// Runs `model` over the streams and reads off what the loss needs.
    pub fn evaluate<M: CausalLm>(&self, model: &M, softmax: &ActionSoftmax) -> Evaluation {
        let hidden = model.hidden(self.block.tokens.clone(), &self.block.placement, None);
        let [rows, time, width] = hidden.dims();
        let hidden = hidden.reshape([rows * time, width]).select(0, self.places.clone());
        let logits = model.logits(hidden);
        let (value_logits, action_value_logits) = match softmax.value_tokens {
            Some(tokens) => {
                let difference = tokens.difference(logits.clone());
                (
                    difference.clone().select(0, self.contexts.clone()),
                    difference.select(0, self.ends.clone()),
                )
            }
            None => {
                let none = Tensor::zeros(self.contexts.shape(), &logits.device());
                (none.clone(), none)
            }
        };
        let scores = softmax.score(logits, self.following.clone());
        Evaluation {
            log_probs: scores.log_probs.select(0, self.responses.clone()),
            entropy: scores.entropy.select(0, self.responses.clone()),
            value_logits,
            action_value_logits,
        }
    }
}

/// Host indices of a [`MicroBatch`] under construction.
#[derive(Default)]
struct PlaceIndex {
    places: Vec<i32>,
    following: Vec<i32>,
    responses: Vec<i32>,
    contexts: Vec<i32>,
    ends: Vec<i32>,
}

impl PlaceIndex {
    fn add(&mut self, row_start: usize, tokens: &[u32], response: &Range<usize>) {
        self.contexts.push(self.places.len() as i32);
        for position in response.clone() {
            self.responses.push(self.places.len() as i32);
            self.places.push((row_start + position - 1) as i32);
            self.following.push(tokens[position] as i32);
        }
        self.ends.push(self.places.len() as i32);
        self.places.push((row_start + response.end - 1) as i32);
        self.following.push(tokens[response.start] as i32);
    }
}

fn loss_batch<'a, I>(turns: impl Fn() -> I, totals: StepTotals, device: &Device) -> LossBatch
where
    I: Iterator<Item = &'a TrainTurn>,
{
    let a_turn = |read: fn(&TrainTurn) -> f32| float_tensor(turns().map(read).collect(), device);
    let a_token = |read: fn(&TrainTurn) -> f32| {
        let repeated =
            turns().flat_map(|turn| std::iter::repeat_n(read(turn), turn.response.len()));
        float_tensor(repeated.collect(), device)
    };
    let old_log_probs: Vec<f32> = turns().flat_map(|t| t.old_log_probs.iter().copied()).collect();
    let reference: Vec<f32> = turns().flat_map(|t| t.reference_log_probs.iter().copied()).collect();
    let (tokens, turn_count) = (old_log_probs.len(), turns().count());
    LossBatch {
        reference_log_probs: (reference.len() == tokens).then(|| float_tensor(reference, device)),
        old_log_probs: float_tensor(old_log_probs, device),
        advantages: a_token(|turn| turn.target.advantage),
        token_weights: float_tensor(vec![1.0 / totals.tokens as f32; tokens], device),
        old_values: a_turn(|turn| turn.old_value),
        value_targets: a_turn(|turn| turn.target.value),
        old_action_values: a_turn(|turn| turn.old_action_value),
        action_value_targets: a_turn(|turn| turn.target.action_value),
        turn_weights: float_tensor(vec![1.0 / totals.turns as f32; turn_count], device),
    }
}

fn int_tensor(numbers: Vec<i32>, device: &Device) -> Tensor<1, Int> {
    let count = numbers.len();
    Tensor::from_data(TensorData::new(numbers, [count]), device)
}

fn float_tensor(numbers: Vec<f32>, device: &Device) -> Tensor<1> {
    let count = numbers.len();
    Tensor::from_data(TensorData::new(numbers, [count]), device)
}
