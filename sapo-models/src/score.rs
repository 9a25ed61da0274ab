//! Scoring whole streams in one forward pass: the plain twin of cached generation.

use burn::prelude::*;
use sapo_core::model::{CausalLm, Placement};
use sapo_core::value::{ActionSoftmax, Readout};

use crate::decoder::Decoder;

/// What a stream's tokens and positions are worth to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamScores {
    /// The log-probability of each token but the first, in nats.
    pub log_probs: Vec<f32>,
    /// The entropy of the distribution that each token but the first was drawn from, in nats.
    pub entropies: Vec<f32>,
    /// The value readout after each token; 0 without value tokens.
    pub values: Vec<f32>,
}

/// Places streams of these lengths side by side, padded on the right.
pub fn place_right_padded(lengths: &[usize], device: &Device) -> Placement {
    let (rows, time) = (lengths.len(), lengths.iter().copied().max().unwrap_or(0));
    let positions: Vec<i32> = (0..rows).flat_map(|_| 0..time as i32).collect();
    let mut hidden = Vec::with_capacity(rows * time * time);
    for _ in 0..rows {
        // No real token sees the padding, which comes after it.
        hidden.extend((0..time).flat_map(|query| (0..time).map(move |key| key > query)));
    }
    Placement {
        positions: Tensor::from_data(TensorData::new(positions, [rows, time]), device),
        hidden: Tensor::from_data(TensorData::new(hidden, [rows, time, time]), device),
    }
}

/// Scores streams, each of at least one token, in one forward pass.
pub fn score_streams(
    decoder: &Decoder,
    streams: &[&[u32]],
    softmax: &ActionSoftmax,
    readout: Readout,
) -> Vec<StreamScores> {
    let device = decoder.device();
    let lengths: Vec<usize> = streams.iter().map(|stream| stream.len()).collect();
    let time = lengths.iter().copied().max().unwrap_or(0);
    let placement = place_right_padded(&lengths, &device);
    let padded = |stream: &&[u32]| {
        let padding = std::iter::repeat_n(0, time - stream.len());
        stream.iter().map(|&token| token as i32).chain(padding).collect::<Vec<_>>()
    };
    let ids: Vec<i32> = streams.iter().flat_map(padded).collect();
    let ids = Tensor::<2, Int>::from_data(TensorData::new(ids, [streams.len(), time]), &device);
    let hidden = decoder.hidden(ids, &placement, None);
    let score = |(row, stream): (usize, &&[u32])| {
        let hidden = hidden.clone().narrow(0, row, 1).narrow(1, 0, stream.len()).squeeze_dim(0);
        score_one(decoder, hidden, stream, softmax, readout)
    };
    streams.iter().enumerate().map(score).collect()
}

fn score_one(
    decoder: &Decoder,
    hidden: Tensor<2>,
    stream: &[u32],
    softmax: &ActionSoftmax,
    readout: Readout,
) -> StreamScores {
    let floats = |tensor: Tensor<1>| tensor.to_data().iter::<f32>().collect::<Vec<_>>();
    // Nothing follows the last token: any token does, and its score is dropped.
    let following: Vec<i32> =
        stream[1..].iter().chain(&stream[..1]).map(|&token| token as i32).collect();
    let following = Tensor::from_data(TensorData::new(following, [stream.len()]), &hidden.device());
    let scores = decoder.score(hidden, following, softmax);
    let but_last = |tensor: Tensor<1>| {
        let mut numbers = floats(tensor);
        numbers.pop();
        numbers
    };
    StreamScores {
        log_probs: but_last(scores.log_probs),
        entropies: but_last(scores.entropy),
        values: floats(readout.read(scores.value_logits)),
    }
}
