use super::*;
use crate::learner::LearnerConfig;
use crate::testing::{TinyLm, assert_close, config, softmax};

fn lesson(tokens: &[u32], weights: &[f32]) -> Lesson {
    Lesson { tokens: tokens.to_vec(), weights: weights.to_vec() }
}

fn learner(seed: u64, micro_batch_tokens: usize) -> Learner<TinyLm> {
    let config = LearnerConfig { micro_batch_tokens, ..config(0.0) };
    Learner::new(TinyLm::new(seed), config)
}

/// The weights after one step, and its report.
fn step(lessons: &[&Lesson], micro_batch_tokens: usize) -> (Vec<f32>, ImitationReport) {
    let mut learner = learner(1, micro_batch_tokens);
    let report = learner.imitate(&softmax(), lessons, 1e-2);
    (learner.model().weights(), report)
}

#[test]
fn a_fixed_sequence_is_learned() {
    let mut learner = learner(1, 64);
    let lesson = lesson(&[0, 3, 1, 4, 2], &[1.0; 5]);
    let first = learner.imitate(&softmax(), &[&lesson], 3e-2);
    for _ in 0..150 {
        learner.imitate(&softmax(), &[&lesson], 3e-2);
    }
    let last = learner.imitate(&softmax(), &[&lesson], 3e-2);
    assert!(first.loss > 0.5 && last.loss < 0.02, "{first:?} became {last:?}");
}

// By hand: without any information the loss is that of five equally likely actions, ln 5; the value
// tokens are none of them.
#[test]
fn the_loss_is_the_mean_cross_entropy_over_the_actions() {
    let blank = TinyLm::new(1);
    let weights = vec![0.0; blank.weights().len()];
    let mut learner = Learner::new(blank.with_weights(&weights), config(0.0));
    let lesson = lesson(&[0, 3, 1], &[1.0, 0.25, 0.5]);
    let report = learner.imitate(&softmax(), &[&lesson], 1e-2);
    assert_close(&[report.loss], &[5.0_f32.ln()], 1e-6);
}

#[test]
fn tokens_without_weight_are_context_and_no_target() {
    let mute = lesson(&[0, 3, 1, 4], &[9.0, 1.0, 1.0, 0.0]);
    let other = lesson(&[0, 3, 1, 2], &[0.0, 1.0, 1.0, 0.0]);
    // The first token is never predicted and the last has no weight: neither counts.
    assert_eq!(step(&[&mute], 64), step(&[&other], 64));
}

#[test]
fn micro_batches_of_lessons_add_up() {
    let lessons = [
        lesson(&[0, 1, 2, 3, 4], &[0.0, 1.0, 0.5, 1.0, 1.0]),
        lesson(&[4, 3], &[0.0, 2.0]),
        lesson(&[2, 2, 2], &[0.0, 0.0, 0.0]),
        lesson(&[1, 0, 1], &[0.0, 1.0, 0.3]),
    ];
    let lessons: Vec<&Lesson> = lessons.iter().collect();
    let (weights, report) = step(&lessons, 1000);
    for micro_batch_tokens in [1, 6] {
        let (split_weights, split_report) = step(&lessons, micro_batch_tokens);
        assert_close(&split_weights, &weights, 1e-4);
        assert_close(&[split_report.loss], &[report.loss], 1e-5);
        assert_close(&[split_report.gradient_norm], &[report.gradient_norm], 1e-5);
    }
}

#[test]
fn lessons_without_weight_teach_nothing() {
    let before = TinyLm::new(1).weights();
    let mute = lesson(&[0, 1], &[1.0, 0.0]);
    let short = lesson(&[0], &[1.0]);
    for lessons in [&[][..], &[&mute], &[&short]] {
        assert_eq!(step(lessons, 64), (before.clone(), ImitationReport::default()));
    }
}

#[test]
fn a_step_that_is_not_finite_is_left_out() {
    let (weights, report) = step(&[&lesson(&[0, 1], &[0.0, f32::INFINITY])], 64);
    assert!(!report.gradient_norm.is_finite());
    assert_eq!(weights, TinyLm::new(1).weights());
}

#[test]
#[should_panic(expected = "a lesson of 2 tokens has 1 weights")]
fn a_lesson_needs_one_weight_a_token() {
    step(&[&lesson(&[0, 1], &[1.0])], 64);
}

#[test]
#[should_panic(expected = "token 7 of a lesson is outside the model's 7 logits")]
fn a_lesson_of_another_vocabulary_is_refused() {
    step(&[&lesson(&[0, 7], &[0.0, 1.0])], 64);
}
