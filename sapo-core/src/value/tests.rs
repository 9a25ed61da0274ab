use burn::tensor::{DType, FloatDType};

use super::*;
use crate::testing::{
    assert_close, assert_gradient, constant, floats, gradient_at, number, uniform,
};

const LOGITS: [f32; 5] = [2.0, 1.0, 0.0, 5.0, -5.0];

fn reserved() -> ActionSoftmax {
    ActionSoftmax { value_tokens: Some(ValueTokens { plus: 3, minus: 4 }), temperature: 1.0 }
}

fn score(softmax: ActionSoftmax, logits: Tensor<1>, token: i32) -> LogitScores {
    let tokens = Tensor::from_data([token], &logits.device());
    softmax.score(logits.unsqueeze(), tokens)
}

/// The probabilities of the actions 0, 1 and 2, on the host in double precision.
fn probabilities(temperature: f64) -> [f64; 3] {
    let weights = [2.0, 1.0, 0.0].map(|logit: f64| (logit / temperature).exp());
    weights.map(|weight| weight / weights.iter().sum::<f64>())
}

fn host_entropy(probabilities: [f64; 3]) -> f64 {
    -probabilities.iter().map(|p| p * p.ln()).sum::<f64>()
}

// By hand: -ln(1 + e^-1 + e^-2) = -0.407606; over all five it would be -3.072215.
#[test]
fn a_log_probability_is_over_the_vocabulary_without_the_value_tokens() {
    assert_close(&floats(&score(reserved(), constant(&LOGITS), 0).log_probs), &[-0.407_606], 1e-6);
    let unrestricted = ActionSoftmax { value_tokens: None, temperature: 1.0 };
    let log_probs = score(unrestricted, constant(&LOGITS), 0).log_probs;
    assert_close(&floats(&log_probs), &[-3.072_215], 1e-6);
}

#[test]
fn logits_are_divided_by_the_temperature() {
    let softmax = ActionSoftmax { temperature: 0.5, ..reserved() };
    let scores = score(softmax, constant(&LOGITS), 1);
    let exact = probabilities(0.5);
    assert_close(&floats(&scores.log_probs), &[exact[1].ln() as f32], 1e-6);
    assert_close(&floats(&scores.entropy), &[host_entropy(exact) as f32], 1e-6);
}

// dH/dz_i = -p_i (ln p_i + H).
#[test]
fn entropy_is_exact_and_its_gradient_finite_with_excluded_logits() {
    let (entropy, gradient) = gradient_at(&LOGITS, |logits| score(reserved(), logits, 0).entropy);
    let exact = probabilities(1.0);
    let h = host_entropy(exact);
    assert_close(&[entropy], &[h as f32], 1e-6);
    let slopes = exact.map(|p| (-p * (p.ln() + h)) as f32);
    assert_close(&gradient, &[slopes[0], slopes[1], slopes[2], 0.0, 0.0], 1e-6);
}

// d log pi(a)/dz_i = [i = a] - p_i.
#[test]
fn value_tokens_have_no_probability_and_get_no_gradient_from_the_policy() {
    let restricted = reserved().restrict(constant(&LOGITS).unsqueeze());
    let restricted = floats(&burn::tensor::activation::softmax(restricted, 1));
    assert_eq!(restricted[3..], [0.0, 0.0]);
    let (_, gradient) = gradient_at(&LOGITS, |logits| score(reserved(), logits, 0).log_probs);
    let [p0, p1, p2] = probabilities(1.0).map(|p| p as f32);
    assert_close(&gradient, &[1.0 - p0, -p1, -p2, 0.0, 0.0], 1e-6);
    assert_eq!(gradient[3..], [0.0, 0.0]);
}

#[test]
fn whatever_the_value_logits_are_the_policy_stays_the_same() {
    let plain = score(reserved(), constant(&LOGITS), 2);
    for extreme in [1e4, -1e4] {
        let logits = constant(&[2.0, 1.0, 0.0, extreme, -extreme]);
        let scores = score(reserved(), logits, 2);
        assert_eq!(floats(&scores.log_probs), floats(&plain.log_probs));
        assert_eq!(floats(&scores.entropy), floats(&plain.entropy));
    }
}

#[test]
fn scores_are_those_of_a_plain_log_softmax_over_the_kept_entries() {
    for seed in 0..20 {
        let logits: Vec<f32> = uniform(seed, 4 * 9).iter().map(|x| 30.0 * x).collect();
        let logits = constant(&logits).reshape([4, 9]);
        let value_tokens = Some(ValueTokens { plus: 7, minus: 8 });
        let softmax = ActionSoftmax { value_tokens, temperature: 0.7 };
        let tokens = Tensor::<1, Int>::from_data([0, 3, 6, 6], &logits.device());
        let scores = softmax.score(logits.clone(), tokens.clone());
        let kept = logits.narrow(1, 0, 7) / 0.7;
        let log_probs = burn::tensor::activation::log_softmax(kept, 1);
        let entropy = -(log_probs.clone().exp() * log_probs.clone()).sum_dim(1).squeeze_dim::<1>(1);
        let chosen = log_probs.gather(1, tokens.unsqueeze_dim(1)).squeeze_dim::<1>(1);
        assert_close(&floats(&scores.log_probs), &floats(&chosen), 1e-5);
        assert_close(&floats(&scores.entropy), &floats(&entropy), 1e-5);
    }
}

#[test]
fn the_gradients_of_both_scores_are_those_of_finite_differences() {
    assert_gradient(&LOGITS, |logits| score(reserved(), logits, 1).log_probs);
    assert_gradient(&LOGITS, |logits| score(reserved(), logits, 1).entropy);
}

// In half precision 2, 1, 0, 5 and -5 are exact, so nothing is lost but by the scoring.
#[test]
fn half_precision_logits_are_scored_in_single_precision() {
    let logits = constant(&LOGITS);
    assert!(logits.device().supports_dtype(DType::BF16), "this test needs bfloat16");
    let half = score(reserved(), logits.cast(FloatDType::BF16), 0);
    assert_close(&floats(&half.log_probs), &[-0.407_606], 1e-6);
    let half = constant(&[300.0, 1.0]).cast(FloatDType::BF16).unsqueeze();
    let difference = ValueTokens { plus: 0, minus: 1 }.difference(half);
    assert_eq!(floats(&difference), [299.0]);
}

// By hand: (5 - -5) / 4 = 2.5.
#[test]
fn the_linear_readout_is_the_scaled_difference() {
    let readout = Readout { kind: ReadoutKind::Linear, temperature: 4.0 };
    let read = |logits: Tensor<1>| {
        readout.read(ValueTokens { plus: 3, minus: 4 }.difference(logits.unsqueeze()))
    };
    assert_eq!(number(&read(constant(&LOGITS))), 2.5);
    let (_, gradient) = gradient_at(&LOGITS, read);
    assert_eq!(gradient, [0.0, 0.0, 0.0, 0.25, -0.25]);
}

#[test]
fn a_saturated_read_is_clipped_and_has_no_gradient() {
    let readout = Readout { kind: ReadoutKind::Clipped, temperature: 2.0 };
    let differences = [-5.0, -2.0, -1.0, 1.0, 2.0, 5.0];
    let read = floats(&readout.read(constant(&differences)));
    assert_eq!(read, [-1.0, -1.0, -0.5, 0.5, 1.0, 1.0]);
    let (_, gradient) = gradient_at(&differences, |d| readout.read(d).sum());
    assert_eq!(gradient, [0.0, 0.0, 0.5, 0.5, 0.0, 0.0]);
    let saturated: Vec<bool> = read.iter().map(|&value| readout.is_saturated(value)).collect();
    assert_eq!(saturated, [true, true, false, false, true, true]);
    assert!(!Readout::default().is_saturated(7.0));
}

#[test]
fn one_number_is_read_as_a_tensor_is() {
    for kind in [ReadoutKind::Linear, ReadoutKind::Clipped] {
        let readout = Readout { kind, temperature: 1.5 };
        for difference in [-4.0, -0.3, 0.0, 1.0, 9.0] {
            let read = number(&readout.read(constant(&[difference])));
            assert_eq!(readout.read_scalar(difference), read);
        }
    }
}

#[test]
fn value_tokens_are_two_different_entries_of_the_vocabulary() {
    let tokens = ValueTokens::new(3, 4, 5).unwrap();
    assert_eq!((tokens.plus(), tokens.minus()), (3, 4));
    assert!(tokens.contains(4) && !tokens.contains(2));
    assert!(matches!(ValueTokens::new(3, 3, 5), Err(Error::EqualValueTokens { id: 3 })));
    let outside = ValueTokens::new(3, 5, 5);
    assert!(matches!(outside, Err(Error::ValueTokenOutside { id: 5, vocabulary: 5 })));
}
