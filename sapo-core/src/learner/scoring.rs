//! Forward passes without a gradient: what a policy makes of streams that were played.

use burn::module::Module;
use burn::prelude::*;

use super::{Learner, device_of};
use crate::algorithm::Algorithm;
use crate::batch::{MicroBatch, StepTotals, TrainStream};
use crate::episode::{Episode, Turn};
use crate::model::CausalLm;

/// What a policy makes of one turn.
struct TurnScores {
    /// Of each response token, in nats.
    log_probs: Vec<f32>,
    /// `V / R_max`
    value: f32,
    /// `Q / R_max`
    action_value: f32,
}

impl<M: CausalLm + Module> Learner<M> {
    /// Notes what `reference` makes of each response token.
    pub(super) fn score_reference<A: Algorithm>(
        &self,
        algorithm: &A,
        reference: &M,
        streams: &mut [TrainStream],
    ) {
        let mut scores = self.score(algorithm, reference, streams).into_iter();
        for turn in streams.iter_mut().flat_map(|stream| &mut stream.turns) {
            turn.reference_log_probs = scores.next().map_or(Vec::new(), |turn| turn.log_probs);
        }
    }

    /// The episodes of `streams` with log-probabilities and values by the model as it is now, and how far
    /// the log-probabilities are from those of the sampler at most.
    pub(super) fn rescore<A: Algorithm>(
        &self,
        algorithm: &A,
        episodes: &[Episode],
        streams: &[TrainStream],
    ) -> (Vec<Episode>, f32) {
        let mut scores = self.score(algorithm, &self.model.valid(), streams).into_iter();
        let mut episodes = episodes.to_vec();
        let mut deviation = 0.0_f32;
        for turn in episodes.iter_mut().flat_map(turns_by_stream) {
            let Some(TurnScores { log_probs, value, action_value }) = scores.next() else { break };
            let pairs = turn.log_probs.iter().zip(&log_probs);
            deviation = pairs.map(|(old, new)| (old - new).abs()).fold(deviation, f32::max);
            turn.log_probs = log_probs;
            // Without value tokens the values are another network's, and stay as they are.
            if algorithm.softmax().value_tokens.is_some() {
                (turn.value, turn.action_value) = (value, action_value);
            }
        }
        (episodes, deviation)
    }

    /// What `model` makes of the turns of `streams`, in order.
    fn score<A: Algorithm>(
        &self,
        algorithm: &A,
        model: &M,
        streams: &[TrainStream],
    ) -> Vec<TurnScores> {
        let device = device_of(model);
        let mut scored: Vec<Vec<TurnScores>> = streams.iter().map(|_| Vec::new()).collect();
        for group in self.micro_batches(streams.iter()) {
            let rows: Vec<&TrainStream> = group.iter().map(|&index| &streams[index]).collect();
            let totals = StepTotals::of(rows.iter().copied());
            let batch = MicroBatch::new(&rows, totals, &device);
            let evaluation = batch.evaluate(model, &algorithm.softmax());
            let values = |logits| floats(algorithm.readout().read(logits)).into_iter();
            let mut log_probs = floats(evaluation.log_probs).into_iter();
            let mut value = values(evaluation.value_logits);
            let mut action_value = values(evaluation.action_value_logits);
            for index in group {
                let read = |turn: &crate::batch::TrainTurn| TurnScores {
                    log_probs: log_probs.by_ref().take(turn.response.len()).collect(),
                    value: value.next().unwrap_or_default(),
                    action_value: action_value.next().unwrap_or_default(),
                };
                scored[index] = streams[index].turns.iter().map(read).collect();
            }
        }
        scored.into_iter().flatten().collect()
    }
}

/// The turns of an episode in the order in which its streams hold them.
pub(super) fn turns_by_stream(episode: &mut Episode) -> Vec<&mut Turn> {
    let mut turns: Vec<&mut Turn> = episode.turns.iter_mut().collect();
    turns.sort_by_key(|turn| turn.stream);
    turns
}

fn floats(numbers: Tensor<1>) -> Vec<f32> {
    numbers.to_data().iter::<f32>().collect()
}
