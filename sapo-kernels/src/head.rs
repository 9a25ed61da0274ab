use burn::backend::ops::FloatTensorOps;
use burn::backend::{Flex, TensorMetadata};
use burn::prelude::*;
use rayon::prelude::*;

use crate::flex::{FlexTensor, Input, Inputs, Kernel, contiguous, numbers};
use crate::lanes::{exp, max, moments, vectorized};

/// Logits are computed for so many numbers at a time: what a core's cache holds.
const CHUNK: usize = 1 << 21;

/// Up to so many logits are kept for the backward pass, which computes more of them anew.
const KEPT: usize = 1 << 26;

/// Takes a logit out of the distribution: its exponential is exactly 0, and 0 times it is no NaN.
const EXCLUDED: f32 = -1e30;

/// What is read off the logits of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadReads {
    /// Logits are divided by it before the softmax.
    pub temperature: f32,
    /// Two entries of the vocabulary that have no probability, and whose difference is read.
    pub value_tokens: Option<[u32; 2]>,
}

/// What one position has, over the whole vocabulary. Each `[positions]`.
#[derive(Clone, Debug)]
pub struct HeadScores {
    /// The log-probability of the token given for the position, in nats.
    pub log_probs: Tensor<1>,
    /// The entropy of the distribution, in nats.
    pub entropy: Tensor<1>,
    /// The difference of the two value tokens' logits; 0 without them.
    pub value_logits: Tensor<1>,
}

/// Log-probabilities, entropies and value logits of hidden states under a head, a part of the vocabulary at
/// a time; of many logits none are kept, and the backward pass computes them again. `None` where the
/// device has no such kernel: read them off the logits then.
///
/// With `z = hidden head^T / temperature` over the vocabulary without the value tokens:
///
/// ```text
/// log pi(a) = z_a - log Z,   H = log Z - sum_w pi(w) z_w,   Z = sum_w exp(z_w)
/// d log pi(a) / d z_w = [w = a] - pi(w),   d H / d z_w = -pi(w) (log pi(w) + H)
/// ```
///
/// # Shapes
/// - hidden: `[positions, width]`
/// - head: `[vocabulary, width]`
/// - tokens: `[positions]`
///
/// # Panics
/// If the shapes do not fit or a token is outside the vocabulary.
pub fn head_scores(
    hidden: Tensor<2>,
    head: Tensor<2>,
    tokens: Tensor<1, Int>,
    reads: HeadReads,
) -> Option<HeadScores> {
    let ([positions, width], [vocabulary, _]) = (hidden.dims(), head.dims());
    assert_eq!(head.dims()[1], width, "a head for hidden states of this width");
    assert_eq!(tokens.dims(), [positions], "a token for each position");
    let inputs = Inputs::gather([Input::of(&hidden), Input::of(&head)])?;
    let tokens: Vec<usize> = tokens.to_data().iter::<i64>().map(|token| token as usize).collect();
    assert!(tokens.iter().all(|&token| token < vocabulary), "tokens of the vocabulary");
    let scores: Tensor<2> = inputs.run(Head { tokens, reads, kept: KEPT });
    let row = |index| scores.clone().narrow(0, index, 1).squeeze_dim(0);
    Some(HeadScores { log_probs: row(0), entropy: row(1), value_logits: row(2) })
}

/// How many logits [`head_scores`] holds at once, those that are kept for a backward pass included.
pub fn logits_held(positions: usize, vocabulary: usize) -> usize {
    match positions * vocabulary {
        logits if logits <= KEPT => logits,
        _ => positions * part_length(positions, vocabulary).min(vocabulary),
    }
}

#[derive(Clone, Debug)]
struct Head {
    tokens: Vec<usize>,
    reads: HeadReads,
    /// The most logits that are kept.
    kept: usize,
}

/// What is kept of a forward pass.
#[derive(Clone, Debug)]
struct Kept {
    hidden: FlexTensor,
    head: FlexTensor,
    partitions: Vec<Partition>,
    /// The logits, part by part; empty where they are computed again.
    logits: Vec<FlexTensor>,
}

/// What is known of a position's distribution after some of the vocabulary.
#[derive(Clone, Copy, Debug)]
struct Partition {
    /// The highest of the scaled logits `z`.
    highest: f32,
    /// The sum of `exp(z - highest)`.
    total: f32,
    /// The sum of `exp(z - highest) (z - highest)`.
    expected: f32,
    /// The scaled logit of the position's token.
    chosen: f32,
    /// The logits of the value tokens.
    values: [f32; 2],
}

impl Kernel<2> for Head {
    type Kept = Kept;

    fn forward(&self, [hidden, head]: [FlexTensor; 2], is_tracked: bool) -> (FlexTensor, Kept) {
        let hidden = contiguous(hidden);
        let positions = self.tokens.len();
        let is_kept = is_tracked && positions * head.shape()[0] <= self.kept;
        let mut partitions = vec![Partition::EMPTY; positions];
        let mut kept = Vec::new();
        for part in parts(&head, positions) {
            let mut logits = logits(&hidden, &head, &part);
            let rows = logits.storage_mut::<f32>().par_chunks_exact_mut(part.length);
            let rows = rows.zip(&mut partitions).zip(&self.tokens);
            rows.for_each(|((row, partition), &token)| {
                vectorized(|| partition.add(row, part.start, token, self.reads));
            });
            if is_kept {
                kept.push(logits);
            }
        }
        let read = |read: fn(&Partition) -> f32| partitions.iter().map(read);
        let scores: Vec<f32> = read(Partition::log_prob)
            .chain(read(Partition::entropy))
            .chain(read(Partition::value_logit))
            .collect();
        let scores = FlexTensor::from_data(TensorData::new(scores, [3, positions]));
        (scores, Kept { hidden, head, partitions, logits: kept })
    }

    fn backward(
        &self,
        kept: Kept,
        gradient: FlexTensor,
        [wants_hidden, wants_head]: [bool; 2],
    ) -> [FlexTensor; 2] {
        let Kept { hidden, head, partitions, logits: kept } = kept;
        let gradient = contiguous(gradient);
        let positions = self.tokens.len();
        let gradient_of = |index: usize| {
            let row = |row: usize| numbers(&gradient)[row * positions + index];
            Upstream { log_prob: row(0), entropy: row(1), value_logit: row(2) }
        };
        let mut of_head = Vec::new();
        if wants_head {
            of_head.reserve_exact(head.shape().num_elements());
        }
        let mut of_hidden = FlexTensor::zeros(hidden.shape(), hidden.dtype());
        let mut kept = kept.into_iter();
        for part in parts(&head, positions) {
            let mut logits = kept.next().unwrap_or_else(|| logits(&hidden, &head, &part));
            let rows = logits.storage_mut::<f32>().par_chunks_exact_mut(part.length);
            rows.zip(&partitions).zip(&self.tokens).enumerate().for_each(
                |(index, ((row, partition), &token))| {
                    let upstream = gradient_of(index);
                    vectorized(|| partition.derive(row, part.start, token, self.reads, upstream));
                },
            );
            if wants_hidden {
                let rows = head.narrow(0, part.start, part.length);
                let of_part = Flex::float_matmul(logits.clone(), rows);
                of_hidden = Flex::float_add(of_hidden, of_part);
            }
            if wants_head {
                let rows = Flex::float_matmul(logits.transpose(0, 1), hidden.clone());
                of_head.extend_from_slice(numbers(&rows));
            }
        }
        let of_head = match wants_head {
            true => FlexTensor::from_data(TensorData::new(of_head, head.shape())),
            false => head,
        };
        [of_hidden, of_head]
    }
}

/// Some consecutive entries of the vocabulary.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    length: usize,
}

fn parts(head: &FlexTensor, positions: usize) -> impl Iterator<Item = Part> + use<> {
    let vocabulary = head.shape()[0];
    let step = part_length(positions, vocabulary);
    (0..vocabulary)
        .step_by(step)
        .map(move |start| Part { start, length: step.min(vocabulary - start) })
}

/// The length of all parts but the last.
fn part_length(positions: usize, vocabulary: usize) -> usize {
    (CHUNK / positions.max(1)).clamp(256, vocabulary.max(256))
}

/// `[positions, part]`
fn logits(hidden: &FlexTensor, head: &FlexTensor, part: &Part) -> FlexTensor {
    let rows = head.narrow(0, part.start, part.length);
    Flex::float_matmul(hidden.clone(), rows.transpose(0, 1))
}

/// The gradients of what was read at one position.
#[derive(Clone, Copy)]
struct Upstream {
    log_prob: f32,
    entropy: f32,
    value_logit: f32,
}

impl Partition {
    const EMPTY: Partition = Partition {
        highest: f32::NEG_INFINITY,
        total: 0.0,
        expected: 0.0,
        chosen: EXCLUDED,
        values: [0.0; 2],
    };

    fn log_prob(&self) -> f32 {
        self.chosen - self.highest - self.total.ln()
    }

    fn entropy(&self) -> f32 {
        self.total.ln() - self.expected / self.total
    }

    fn value_logit(&self) -> f32 {
        self.values[0] - self.values[1]
    }

    /// Takes in the logits from entry `start` of the vocabulary on.
    #[inline(always)]
    fn add(&mut self, logits: &mut [f32], start: usize, token: usize, reads: HeadReads) {
        for (value, at) in self.values.iter_mut().zip(reads.value_places(start, logits.len())) {
            if let Some(at) = at {
                *value = std::mem::replace(&mut logits[at], EXCLUDED);
            }
        }
        let scale = 1.0 / reads.temperature;
        if let Some(&chosen) = token.checked_sub(start).and_then(|at| logits.get(at)) {
            self.chosen = chosen * scale;
        }
        let highest = (max(logits) * scale).max(self.highest);
        let [total, expected] = moments(logits, scale, highest);
        if self.total > 0.0 {
            let drop = self.highest - highest;
            self.expected = (self.expected + self.total * drop) * drop.exp();
            self.total *= drop.exp();
        }
        self.highest = highest;
        self.total += total;
        self.expected += expected;
    }

    /// Puts the gradients of logits in their place.
    #[inline(always)]
    fn derive(
        &self,
        logits: &mut [f32],
        start: usize,
        token: usize,
        reads: HeadReads,
        upstream: Upstream,
    ) {
        let places = reads.value_places(start, logits.len());
        for at in places.into_iter().flatten() {
            logits[at] = EXCLUDED;
        }
        let (scale, log_total, entropy) =
            (1.0 / reads.temperature, self.total.ln(), self.entropy());
        let (of_log_prob, of_entropy) = (upstream.log_prob * scale, upstream.entropy * scale);
        for logit in logits.iter_mut() {
            let log_prob = *logit * scale - self.highest - log_total;
            *logit = -exp(log_prob) * (of_log_prob + of_entropy * (log_prob + entropy));
        }
        if let Some(logit) = token.checked_sub(start).and_then(|at| logits.get_mut(at)) {
            *logit += of_log_prob;
        }
        for (at, sign) in places.into_iter().zip([1.0, -1.0]) {
            if let Some(at) = at {
                logits[at] = sign * upstream.value_logit;
            }
        }
    }
}

impl HeadReads {
    /// Where the value tokens are among `length` entries of the vocabulary from `start` on.
    #[inline(always)]
    fn value_places(self, start: usize, length: usize) -> [Option<usize>; 2] {
        let place = |token: u32| (token as usize).checked_sub(start).filter(|&at| at < length);
        self.value_tokens.map_or([None; 2], |tokens| tokens.map(place))
    }
}

#[cfg(test)]
mod tests;
