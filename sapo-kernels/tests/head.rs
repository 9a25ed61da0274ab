//! What is read off a head in parts equals what is read off all of its logits.

use burn::prelude::*;
use burn::tensor::{Distribution, Tolerance};
use proptest::prelude::*;
use sapo_core::value::{ActionSoftmax, ValueTokens};
use sapo_kernels::{HeadReads, head_scores};

#[derive(Clone, Debug)]
struct Case {
    positions: usize,
    width: usize,
    vocabulary: usize,
    temperature: f32,
    value_tokens: Option<[u32; 2]>,
    spread: f64,
}

/// Log-probabilities, entropies and value logits, then the gradients of hidden states and head.
struct Outcome {
    scores: [Tensor<1>; 3],
    gradients: [Tensor<2>; 2],
}

impl Case {
    fn device(&self) -> Device {
        Device::flex().autodiff()
    }

    /// Any token but a value token.
    fn tokens(&self) -> Vec<i32> {
        let excluded = |token: &u32| self.value_tokens.is_some_and(|tokens| tokens.contains(token));
        let free: Vec<u32> = (0..self.vocabulary as u32).filter(|token| !excluded(token)).collect();
        (0..self.positions).map(|place| free[place * 7919 % free.len()] as i32).collect()
    }

    fn leaves(&self, is_view: bool) -> [Tensor<2>; 2] {
        let device = self.device();
        let random = |rows, width| Tensor::random([rows, width], Distribution::Default, &device);
        let hidden: Tensor<2> = (random(self.positions, self.width) - 0.5) * self.spread;
        let head = match is_view {
            true => random(self.width, self.vocabulary).transpose(),
            false => random(self.vocabulary, self.width),
        };
        [hidden, head - 0.5].map(|leaf| leaf.detach().require_grad())
    }

    fn softmax(&self) -> ActionSoftmax {
        let value_tokens = self.value_tokens.map(|[plus, minus]| {
            ValueTokens::new(plus, minus, self.vocabulary).expect("tokens of the vocabulary")
        });
        ActionSoftmax { value_tokens, temperature: self.temperature }
    }

    fn in_parts(&self, leaves: &[Tensor<2>; 2]) -> Outcome {
        let [hidden, head] = leaves.clone();
        let reads = HeadReads { temperature: self.temperature, value_tokens: self.value_tokens };
        let tokens = Tensor::from_ints(self.tokens().as_slice(), &self.device());
        let scores = head_scores(hidden, head, tokens, reads).expect("a kernel on flex");
        outcome(leaves, [scores.log_probs, scores.entropy, scores.value_logits])
    }

    fn in_full(&self, leaves: &[Tensor<2>; 2]) -> Outcome {
        let [hidden, head] = leaves.clone();
        let tokens = Tensor::from_ints(self.tokens().as_slice(), &self.device());
        let scores = self.softmax().score(hidden.matmul(head.transpose()), tokens);
        outcome(leaves, [scores.log_probs, scores.entropy, scores.value_logits])
    }

    fn check(&self, is_view: bool) {
        let leaves = self.leaves(is_view);
        let (ours, theirs) = (self.in_parts(&leaves), self.in_full(&leaves));
        for (ours, theirs) in ours.scores.into_iter().zip(theirs.scores) {
            assert_close(ours, theirs);
        }
        for (ours, theirs) in ours.gradients.into_iter().zip(theirs.gradients) {
            assert_close(ours, theirs);
        }
    }
}

/// Differentiates a sum that weighs every score differently.
fn outcome(leaves: &[Tensor<2>; 2], scores: [Tensor<1>; 3]) -> Outcome {
    let weighed = scores.clone().map(|scores| {
        let weights = Tensor::arange(1..scores.dims()[0] as i64 + 1, &scores.device()).float();
        (scores * (weights * 0.7).sin()).sum()
    });
    let [log_probs, entropy, value_logits] = weighed;
    let gradients = (log_probs + entropy * 0.3 - value_logits * 0.8).backward();
    let gradients = leaves.clone().map(|leaf| leaf.grad(&gradients).expect("a gradient"));
    Outcome { scores, gradients }
}

fn assert_close<const D: usize>(ours: Tensor<D>, theirs: Tensor<D>) {
    // A number that is the sum of thousands is as exact as the largest of its tensor allows.
    let largest = theirs.clone().abs().max().into_scalar::<f32>();
    let tolerance = Tolerance::<f32>::rel_abs(5e-5, 1e-5_f32.max(1e-6 * largest));
    ours.into_data().assert_approx_eq::<f32>(&theirs.into_data(), tolerance);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn scores_and_gradients_equal_those_of_the_logits(
        positions in 1_usize..40,
        width in 1_usize..20,
        vocabulary in 4_usize..900,
        temperature in 0.3_f32..2.0,
        spread in 0.1..20.0,
        (plus, minus) in (0.0..1.0, 0.0..1.0),
        has_values: bool,
        is_view: bool,
    ) {
        let place = |share: f64| (share * vocabulary as f64) as u32;
        let (plus, minus) = (place(plus), place(minus));
        let minus = if minus == plus { (plus + 1) % vocabulary as u32 } else { minus };
        let value_tokens = has_values.then_some([plus, minus]);
        Case { positions, width, vocabulary, temperature, value_tokens, spread }.check(is_view);
    }
}

/// 9,000 positions and 600 entries make parts of 256: three, the last of them shorter.
const IN_THREE_PARTS: Case = Case {
    positions: 9_000,
    width: 3,
    vocabulary: 600,
    temperature: 0.7,
    value_tokens: Some([255, 599]),
    spread: 20.0,
};

#[test]
fn several_parts_equal_the_whole() {
    IN_THREE_PARTS.check(false);
}

#[test]
fn a_gradient_through_part_of_the_scores_is_enough() {
    let case = Case { positions: 5, vocabulary: 12, value_tokens: Some([1, 2]), ..IN_THREE_PARTS };
    let leaves = case.leaves(false);
    let [hidden, head] = leaves.clone();
    let tokens = Tensor::from_ints(case.tokens().as_slice(), &case.device());
    let reads = HeadReads { temperature: 0.7, value_tokens: case.value_tokens };
    let scores = head_scores(hidden, head, tokens, reads).unwrap();
    let gradients = scores.value_logits.sum().backward();
    // Only the rows of the two value tokens are asked for anything.
    let of_head: Vec<f32> = leaves[1].grad(&gradients).unwrap().to_data().iter().collect();
    for (row, numbers) in of_head.chunks(3).enumerate() {
        assert_eq!(numbers.iter().any(|number| *number != 0.0), row == 1 || row == 2, "row {row}");
    }
}

#[test]
#[should_panic(expected = "tokens of the vocabulary")]
fn a_token_outside_the_vocabulary_is_refused() {
    let device = Device::flex();
    let (hidden, head) = (Tensor::ones([1, 2], &device), Tensor::ones([3, 2], &device));
    let reads = HeadReads { temperature: 1.0, value_tokens: None };
    head_scores(hidden, head, Tensor::from_ints([3], &device), reads);
}

#[test]
fn a_bad_number_is_not_hidden() {
    let device = Device::flex();
    let hidden = Tensor::<2>::from_floats([[1.0, f32::NAN], [1.0, 2.0]], &device);
    let reads = HeadReads { temperature: 1.0, value_tokens: None };
    let head = Tensor::ones([3, 2], &device);
    let scores = head_scores(hidden, head, Tensor::from_ints([0, 1], &device), reads).unwrap();
    let log_probs: Vec<f32> = scores.log_probs.to_data().iter().collect();
    assert!(log_probs[0].is_nan() && log_probs[1].is_finite());
}
