//! A micro-batch on a device: what a forward pass needs, and where the loss looks.

use std::ops::Range;

use burn::module::Module;
use burn::prelude::*;

use super::block::{TokenBlock, float_tensor, int_tensor};
use super::{StepTotals, TrainStream, TrainTurn};
use crate::model::CausalLm;
use crate::objective::{Evaluation, LossBatch};
use crate::pass::Pass;
use crate::value::ActionSoftmax;

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

    /// The streams, padded.
    pub(crate) fn block(&self) -> &TokenBlock {
        &self.block
    }

    /// The last context position of each turn: indices into the block's tokens. `[turns]`
    pub(crate) fn context_places(&self) -> Tensor<1, Int> {
        self.places.clone().select(0, self.contexts.clone())
    }

    /// Runs `model` over the streams and reads off what the loss needs.
    pub fn evaluate<M: CausalLm>(&self, model: &M, softmax: &ActionSoftmax) -> Evaluation {
        self.read_off(model, self.block.hidden(model, self.places.clone()), softmax)
    }

    /// The same as a part of `pass`.
    pub(crate) fn evaluate_in<M: CausalLm + Module>(
        &self,
        pass: &mut Pass<'_, M>,
        softmax: &ActionSoftmax,
    ) -> Evaluation {
        let hidden = pass.hidden(&self.block, self.places.clone());
        self.read_off(pass.model(), hidden, softmax)
    }

    /// `hidden`: `[places, hidden]`
    fn read_off<M: CausalLm>(
        &self,
        model: &M,
        hidden: Tensor<2>,
        softmax: &ActionSoftmax,
    ) -> Evaluation {
        let scores = model.score(hidden, self.following.clone(), softmax);
        Evaluation {
            log_probs: scores.log_probs.select(0, self.responses.clone()),
            entropy: scores.entropy.select(0, self.responses.clone()),
            value_logits: scores.value_logits.clone().select(0, self.contexts.clone()),
            action_value_logits: scores.value_logits.select(0, self.ends.clone()),
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
