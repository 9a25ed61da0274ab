//! A tiny language model, made-up episodes and numeric comparisons, for the tests of this crate.

use burn::module::{Module, Param};
use burn::prelude::*;

use crate::actor::Finish;
use crate::algorithm::{Algorithm, Sapo, Targets, TurnTarget};
use crate::batch::{MicroBatch, StepTotals, TrainStream};
use crate::episode::{End, Episode, Stream, Turn};
use crate::learner::{LearnerConfig, MiniBatches};
use crate::model::{CausalLm, Placement};
use crate::pass::Checkpointing;
use crate::schedule::{Decay, Schedule};
use crate::seed;
use crate::value::{ActionSoftmax, ValueTokens};

/// Logits of [`TinyLm`]; the last two are the value tokens.
pub(crate) const VOCABULARY: usize = 7;
const WIDTH: usize = 4;
const LONGEST: usize = 24;

/// A causal model small enough for finite differences, which still depends on positions and on the mask:
/// each position mixes its own embedding with the mean of those it may see.
#[derive(Module, Debug)]
pub(crate) struct TinyLm {
    pub(crate) words: Param<Tensor<2>>,
    pub(crate) places: Param<Tensor<2>>,
    pub(crate) head: Param<Tensor<2>>,
}

impl TinyLm {
    /// A model whose weights `seed` alone decides, in training.
    pub(crate) fn new(seed: u64) -> Self {
        let device = Device::flex().autodiff();
        let table = |path: u64, rows: usize, columns: usize| {
            let numbers = uniform(seed::derive(seed, &[path]), rows * columns);
            Param::from_data(TensorData::new(numbers, [rows, columns]), &device)
        };
        TinyLm {
            words: table(0, VOCABULARY, WIDTH),
            places: table(1, LONGEST, WIDTH),
            head: table(2, WIDTH, VOCABULARY),
        }
    }

    /// All weights, in a fixed order.
    pub(crate) fn weights(&self) -> Vec<f32> {
        [&self.words, &self.places, &self.head].into_iter().flat_map(|w| floats(&w.val())).collect()
    }

    /// The same model with other weights, in the order of [`weights`](Self::weights).
    pub(crate) fn with_weights(self, weights: &[f32]) -> Self {
        let mut rest = weights;
        let mut set = |param: Param<Tensor<2>>| {
            param.map(|old| {
                let [rows, columns] = old.dims();
                let (mine, others) = rest.split_at(rows * columns);
                rest = others;
                let data = TensorData::new(mine.to_vec(), [rows, columns]);
                Tensor::from_data(data, &old.device()).require_grad()
            })
        };
        TinyLm { words: set(self.words), places: set(self.places), head: set(self.head) }
    }
}

impl CausalLm for TinyLm {
    type Cache = ();

    fn hidden(
        &self,
        tokens: Tensor<2, Int>,
        placement: &Placement,
        _cache: Option<&mut ()>,
    ) -> Tensor<3> {
        let embedded = self.stage(0, tokens.clone(), placement, None);
        self.stage(1, tokens, placement, Some(embedded))
    }

    fn stages(&self) -> usize {
        2
    }

    fn stage(
        &self,
        _stage: usize,
        tokens: Tensor<2, Int>,
        placement: &Placement,
        input: Option<Tensor<3>>,
    ) -> Tensor<3> {
        let [rows, time] = tokens.dims();
        let look_up = |table: &Param<Tensor<2>>, ids: Tensor<2, Int>| {
            table.val().select(0, ids.reshape([rows * time])).reshape([rows, time, WIDTH])
        };
        let Some(embedded) = input else {
            let places = look_up(&self.places, placement.positions.clone());
            return look_up(&self.words, tokens) + places;
        };
        let visible = placement.hidden.clone().bool_not().float().cast(embedded.dtype());
        let shares = visible.clone() / visible.sum_dim(2);
        (shares.matmul(embedded.clone()) * 2.0 + embedded).tanh()
    }

    fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        hidden.matmul(self.head.val()) * 4.0
    }

    fn vocabulary(&self) -> usize {
        VOCABULARY
    }
}

/// Numbers in `[-0.5, 0.5)` that `seed` alone decides.
pub(crate) fn uniform(seed: u64, count: usize) -> Vec<f32> {
    let draw = |index| (seed::derive(seed, &[index]) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..count as u64).map(draw).collect()
}

/// The distribution that [`TinyLm`] is trained under.
pub(crate) fn softmax() -> ActionSoftmax {
    let value_tokens = ValueTokens::new(5, 6, VOCABULARY).unwrap();
    ActionSoftmax { value_tokens: Some(value_tokens), temperature: 1.0 }
}

/// SAPO with rewards of about 1, which needs no reference.
pub(crate) fn sapo() -> Sapo {
    let mut sapo = Sapo { max_return: 1.0, ..Sapo::new(softmax()) };
    sapo.objective.kl_coefficient = 0.0;
    sapo
}

/// One optimizer step at `rate`, without weight decay.
pub(crate) fn config(rate: f64) -> LearnerConfig {
    LearnerConfig {
        schedule: Schedule {
            peak: rate,
            warmup_iterations: 0.0,
            iterations: 1.0,
            decay: Decay::Constant,
        },
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.0,
        max_gradient_norm: 1.0,
        epochs: 1,
        mini_batches: MiniBatches::Count(1),
        workers: 1,
        micro_batch_tokens: 64,
        recompute_old: false,
        checkpointing: Checkpointing::None,
        kl_controller: None,
        seed: 0,
    }
}

/// A turn of the given response, with log-probabilities of -1 and no values.
pub(crate) fn turn(response: std::ops::Range<usize>, reward: f32) -> Turn {
    Turn {
        stream: 0,
        log_probs: vec![-1.0; response.len()],
        response,
        value: 0.0,
        action_value: 0.0,
        finish: Finish::Stop,
        reply: String::new(),
        action: String::new(),
        valid: true,
        reward,
    }
}

/// An episode of one stream, which ended in a terminal state.
pub(crate) fn episode(tokens: Vec<u32>, turns: Vec<Turn>) -> Episode {
    Episode {
        task: "task".to_owned(),
        kind: String::new(),
        streams: vec![Stream { tokens }],
        turns,
        end: End::Terminated,
        success: false,
        score: 0.0,
    }
}

/// A conversation of random tokens, of one to three turns with random rewards.
pub(crate) fn random_episode(seed: u64) -> Episode {
    let draw = |path: &[u64], below: u64| seed::derive(seed, path) % below;
    let mut tokens = Vec::new();
    let mut turns = Vec::new();
    for index in 0..1 + draw(&[0], 3) {
        let context = tokens.len() + 1 + draw(&[1, index], 3) as usize;
        let end = context + 1 + draw(&[2, index], 4) as usize;
        tokens.extend((tokens.len()..end).map(|at| draw(&[3, at as u64], 5) as u32));
        turns.push(turn(context..end, draw(&[4, index], 3) as f32 - 1.0));
    }
    episode(tokens, turns)
}

/// `count` conversations of random tokens, with what `model` itself says of them.
pub(crate) fn played_by(model: &TinyLm, count: u64) -> Vec<Episode> {
    let random = (0..count).map(random_episode);
    random.map(|episode| with_numbers_of(model, &sapo(), episode)).collect()
}

/// `episode` with the log-probabilities and values of `model`.
pub(crate) fn with_numbers_of(model: &TinyLm, sapo: &Sapo, mut episode: Episode) -> Episode {
    let blank = vec![vec![TurnTarget::default(); episode.turns.len()]];
    let targets = Targets { turns: blank, summary: Default::default() };
    let streams = TrainStream::collect(std::slice::from_ref(&episode), &targets).unwrap();
    let evaluation = evaluate(model, sapo, &streams.iter().collect::<Vec<_>>());
    let values = floats(&sapo.readout().read(evaluation.value_logits));
    let action_values = floats(&sapo.readout().read(evaluation.action_value_logits));
    let mut log_probs = floats(&evaluation.log_probs).into_iter();
    for (index, turn) in episode.turns.iter_mut().enumerate() {
        turn.log_probs = log_probs.by_ref().take(turn.response.len()).collect();
        turn.value = values[index];
        turn.action_value = action_values[index];
    }
    episode
}

/// What `model` says of `streams`, as one micro-batch.
pub(crate) fn evaluate(
    model: &TinyLm,
    sapo: &Sapo,
    streams: &[&TrainStream],
) -> crate::objective::Evaluation {
    let totals = StepTotals::of(streams.iter().copied());
    let batch = MicroBatch::new(streams, totals, &model.head.val().device());
    batch.evaluate(model, &sapo.softmax())
}

/// A vector on the device of the tests, a leaf of the autodiff graph.
pub(crate) fn leaf(numbers: &[f32]) -> Tensor<1> {
    constant(numbers).require_grad()
}

/// A vector on the device of the tests.
pub(crate) fn constant(numbers: &[f32]) -> Tensor<1> {
    Tensor::from_data(
        TensorData::new(numbers.to_vec(), [numbers.len()]),
        &Device::flex().autodiff(),
    )
}

/// The numbers of a tensor on the host.
pub(crate) fn floats<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.to_data().iter::<f32>().collect()
}

/// The one number of a tensor.
pub(crate) fn number(tensor: &Tensor<1>) -> f32 {
    let numbers = floats(tensor);
    assert_eq!(numbers.len(), 1, "not one number: {numbers:?}");
    numbers[0]
}

/// The value of `loss` and its gradient at `point`.
pub(crate) fn gradient_at(point: &[f32], loss: impl Fn(Tensor<1>) -> Tensor<1>) -> (f32, Vec<f32>) {
    let leaf = leaf(point);
    let loss = loss(leaf.clone());
    let value = number(&loss);
    let gradient = leaf.grad(&loss.backward()).map(|gradient| floats(&gradient));
    (value, gradient.unwrap_or_else(|| vec![0.0; point.len()]))
}

/// Asserts that the gradient of `loss` at `point` is that of central differences, and returns it.
pub(crate) fn assert_gradient(point: &[f32], loss: impl Fn(Tensor<1>) -> Tensor<1>) -> Vec<f32> {
    let (_, gradient) = gradient_at(point, &loss);
    let differences = central_differences(point, |point| number(&loss(constant(point))));
    assert_close(&gradient, &differences, 2e-3);
    gradient
}

/// `(f(x + h) - f(x - h)) / 2h` for each coordinate.
pub(crate) fn central_differences(point: &[f32], f: impl Fn(&[f32]) -> f32) -> Vec<f32> {
    const STEP: f32 = 1e-2;
    let shifted = |index: usize, by: f32| {
        let mut point = point.to_vec();
        point[index] += by;
        f64::from(f(&point))
    };
    let slope = |index| (shifted(index, STEP) - shifted(index, -STEP)) / (2.0 * f64::from(STEP));
    (0..point.len()).map(|index| slope(index) as f32).collect()
}

/// Asserts that numbers agree to `tolerance`, relative where they exceed 1.
#[track_caller]
pub(crate) fn assert_close(actual: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(actual.len(), expected.len(), "{actual:?} is not as long as {expected:?}");
    for (index, (a, e)) in actual.iter().zip(expected).enumerate() {
        let close = (a - e).abs() <= tolerance * e.abs().max(1.0);
        assert!(close, "number {index}: {a} is not {e}, of {actual:?} and {expected:?}");
    }
}
