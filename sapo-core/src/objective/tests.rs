use super::*;
use crate::testing::{
    assert_close, assert_gradient, constant, floats, gradient_at, leaf, number, uniform,
};
use crate::value::{ActionSoftmax, ValueTokens};

/// Nothing but the policy loss.
fn policy_alone() -> Objective {
    Objective {
        value_coefficient: 0.0,
        action_value_coefficient: 0.0,
        kl_coefficient: 0.0,
        entropy_coefficient: 0.0,
        ..Objective::default()
    }
}

/// Four response tokens in two turns, all of equal weight.
#[derive(Clone)]
struct Case {
    log_probs: Vec<f32>,
    old_log_probs: Vec<f32>,
    reference_log_probs: Option<Vec<f32>>,
    advantages: Vec<f32>,
    entropy: Vec<f32>,
    token_weights: Vec<f32>,
    values: Vec<f32>,
    old_values: Vec<f32>,
    value_targets: Vec<f32>,
    turn_weights: Vec<f32>,
}

impl Case {
    fn new() -> Self {
        Case {
            log_probs: vec![-1.0, -0.5, -2.0, -0.1],
            old_log_probs: vec![-1.1, -0.4, -2.0, -0.2],
            reference_log_probs: Some(vec![-1.5, -0.6, -1.0, -0.3]),
            advantages: vec![1.5, 1.5, -0.5, -0.5],
            entropy: vec![0.9, 0.4, 1.2, 0.2],
            token_weights: vec![0.25; 4],
            values: vec![0.2, -0.3],
            old_values: vec![0.1, -0.1],
            value_targets: vec![0.9, -0.8],
            turn_weights: vec![0.5; 2],
        }
    }

    /// Both values are read off the same logits.
    fn evaluation(&self) -> Evaluation {
        Evaluation {
            log_probs: constant(&self.log_probs),
            entropy: constant(&self.entropy),
            value_logits: constant(&self.values),
            action_value_logits: constant(&self.values),
        }
    }

    fn batch(&self) -> LossBatch {
        LossBatch {
            old_log_probs: constant(&self.old_log_probs),
            reference_log_probs: self.reference_log_probs.as_deref().map(constant),
            advantages: constant(&self.advantages),
            token_weights: constant(&self.token_weights),
            old_values: constant(&self.old_values),
            value_targets: constant(&self.value_targets),
            old_action_values: constant(&self.old_values),
            action_value_targets: constant(&self.value_targets),
            turn_weights: constant(&self.turn_weights),
        }
    }

    /// The gradient for the log-probabilities, checked against finite differences.
    fn log_prob_gradient(&self, objective: Objective) -> Vec<f32> {
        assert_gradient(&self.log_probs, |log_probs| {
            objective.forward(Evaluation { log_probs, ..self.evaluation() }, &self.batch()).loss
        })
    }

    /// Loss and gradients for log-probabilities, entropy, value and action-value logits.
    fn loss_and_gradients(&self, objective: Objective) -> (f32, [Vec<f32>; 4]) {
        let leaves = [&self.log_probs, &self.entropy, &self.values, &self.values].map(|x| leaf(x));
        let [log_probs, entropy, value_logits, action_value_logits] = leaves.clone();
        let evaluation = Evaluation { log_probs, entropy, value_logits, action_value_logits };
        let loss = objective.forward(evaluation, &self.batch()).loss;
        let value = number(&loss);
        let gradients = loss.backward();
        (value, leaves.map(|leaf| floats(&leaf.grad(&gradients).expect("it is in the loss"))))
    }
}

// By hand: at rho = 1 the gradient of -w min(rho A, ...) for log pi is -w A, that of REINFORCE.
#[test]
fn on_policy_gradient_is_reinforce() {
    let mut case = Case::new();
    case.old_log_probs = case.log_probs.clone();
    let gradient = case.log_prob_gradient(policy_alone());
    assert_close(&gradient, &[-0.375, -0.375, 0.125, 0.125], 1e-6);
    let output = policy_alone().forward(case.evaluation(), &case.batch());
    // The mean of -A: -(1.5 + 1.5 - 0.5 - 0.5) / 4.
    assert_close(&floats(&output.loss), &[-0.5], 1e-6);
    let statistics = output.parts.read();
    assert_eq!(statistics.clip_fraction, 0.0);
    assert_eq!(statistics.approximate_kl, 0.0);
    assert_eq!(statistics.largest_log_ratio, 0.0);
}

// By hand: inside the trust region the gradient is -w rho A.
#[test]
fn inside_the_trust_region_the_gradient_is_that_of_the_ratio() {
    let case = Case::new();
    let ratios = [0.1_f32, -0.1, 0.0, 0.1].map(f32::exp);
    let expected: Vec<f32> =
        ratios.iter().zip(&case.advantages).map(|(rho, a)| -0.25 * rho * a).collect();
    assert_close(&case.log_prob_gradient(policy_alone()), &expected, 1e-6);
}

// By hand: min(rho A, clip(rho) A) is the clipped side, without gradient, for rho = e^0.5 > 1.2 and A > 0
// and for rho = e^-0.5 < 0.8 and A < 0; otherwise it is rho A.
#[test]
fn outside_the_trust_region_only_the_way_back_has_a_gradient() {
    let mut case = Case::new();
    case.log_probs = vec![-0.5, -1.5, -0.5, -1.5];
    case.old_log_probs = vec![-1.0; 4];
    case.advantages = vec![2.0, 2.0, -2.0, -2.0];
    let (up, down) = (0.5_f32.exp(), (-0.5_f32).exp());
    let expected = [0.0, -0.25 * down * 2.0, 0.25 * up * 2.0, 0.0];
    assert_close(&case.log_prob_gradient(policy_alone()), &expected, 1e-6);
    let output = policy_alone().forward(case.evaluation(), &case.batch());
    let loss = -0.25 * (1.2 * 2.0 + down * 2.0 - up * 2.0 - 0.8 * 2.0);
    assert_close(&floats(&output.loss), &[loss], 1e-6);
    let statistics = output.parts.read();
    assert_eq!(statistics.clip_fraction, 1.0);
    assert_eq!(statistics.largest_log_ratio, 0.5);
    // The mean of rho - 1 - log rho; the logarithms cancel.
    assert_close(&[statistics.approximate_kl], &[(up + down - 2.0) / 2.0], 1e-6);
}

#[test]
fn the_trust_region_may_be_wider_above_than_below() {
    let mut case = Case::new();
    case.log_probs = vec![-0.8; 4];
    case.old_log_probs = vec![-1.0; 4];
    case.advantages = vec![1.0; 4];
    // rho = e^0.2 = 1.2214: outside 1.2, inside 1.28.
    assert_eq!(case.log_prob_gradient(policy_alone()), [0.0; 4]);
    let wider = Objective { clip: RatioClip { low: 0.2, high: 0.28 }, ..policy_alone() };
    assert_close(&case.log_prob_gradient(wider), &[-0.25 * 0.2_f32.exp(); 4], 1e-6);
    let clip_fraction = |objective: Objective| {
        objective.forward(case.evaluation(), &case.batch()).parts.read().clip_fraction
    };
    assert_eq!((clip_fraction(policy_alone()), clip_fraction(wider)), (1.0, 0.0));
}

// By hand, with eps = 0.5, v_old = 0 and w = 1/3:
// v = 0.2, u = 1:  inside, 1/2 0.8^2 = 0.32, slope -0.8
// v = 0.8, u = 1:  v_clip = 0.5 is farther, 1/2 0.5^2 = 0.125, no slope
// v = 0.8, u = 0:  v is farther, 1/2 0.8^2 = 0.32, slope 0.8
#[test]
fn a_value_is_pulled_unless_it_has_moved_far_enough_towards_its_target() {
    let mut case = Case::new();
    case.values = vec![0.2, 0.8, 0.8];
    case.old_values = vec![0.0; 3];
    case.value_targets = vec![1.0, 1.0, 0.0];
    case.turn_weights = vec![1.0 / 3.0; 3];
    let expected = [-0.8 / 3.0, 0.0, 0.8 / 3.0];
    let value = Objective { value_coefficient: 1.0, ..policy_alone() };
    let action_value = Objective { action_value_coefficient: 1.0, ..policy_alone() };
    let statistics = value.forward(case.evaluation(), &case.batch()).parts.read();
    let mean = (0.32 + 0.125 + 0.32) / 3.0;
    assert_close(&[statistics.value_loss, statistics.action_value_loss], &[mean, mean], 1e-6);
    let gradient = assert_gradient(&case.values, |value_logits| {
        value.forward(Evaluation { value_logits, ..case.evaluation() }, &case.batch()).loss
    });
    assert_close(&gradient, &expected, 1e-6);
    let gradient = assert_gradient(&case.values, |action_value_logits| {
        let evaluation = Evaluation { action_value_logits, ..case.evaluation() };
        action_value.forward(evaluation, &case.batch()).loss
    });
    assert_close(&gradient, &expected, 1e-6);
}

// By hand, with d = ref - logp and w = 1/4: slopes for logp are w (k1), -w d (k2), w (1 - e^d) (k3).
#[test]
fn divergence_estimates_have_the_slopes_of_their_formulas() {
    let mut case = Case::new();
    case.advantages = vec![0.0; 4];
    let differences = [-0.5_f32, -0.1, 1.0, -0.2];
    type Curve = fn(f32) -> f32;
    let curves: [(KlEstimator, Curve, Curve); 3] = [
        (KlEstimator::K1, |d| -d, |_| 0.25),
        (KlEstimator::K2, |d| d * d / 2.0, |d| -0.25 * d),
        (KlEstimator::K3, |d| d.exp() - d - 1.0, |d| 0.25 * (1.0 - d.exp())),
    ];
    for (kl_estimator, estimate, slope) in curves {
        let objective = Objective { kl_coefficient: 1.0, kl_estimator, ..policy_alone() };
        let kl = objective.forward(case.evaluation(), &case.batch()).parts.read().kl;
        let mean = differences.map(estimate).iter().sum::<f32>() / 4.0;
        assert_close(&[kl], &[mean], 1e-6);
        assert_close(&case.log_prob_gradient(objective), &differences.map(slope), 1e-5);
    }
}

#[test]
fn the_entropy_bonus_pulls_every_token_by_its_weight() {
    let case = Case::new();
    let objective = Objective { entropy_coefficient: 0.5, ..policy_alone() };
    let gradient = assert_gradient(&case.entropy, |entropy| {
        objective.forward(Evaluation { entropy, ..case.evaluation() }, &case.batch()).loss
    });
    assert_close(&gradient, &[-0.125; 4], 1e-6);
    let statistics = objective.forward(case.evaluation(), &case.batch()).parts.read();
    assert_close(&[statistics.entropy], &[(0.9 + 0.4 + 1.2 + 0.2) / 4.0], 1e-6);
}

#[test]
fn the_joint_loss_is_the_weighted_sum_of_its_parts() {
    let case = Case::new();
    let objective = Objective {
        value_coefficient: 0.7,
        action_value_coefficient: 0.3,
        kl_coefficient: 0.2,
        entropy_coefficient: 0.1,
        value_clip: 0.05,
        ..Objective::default()
    };
    let output = objective.forward(case.evaluation(), &case.batch());
    let loss = number(&output.loss);
    let parts = output.parts.read();
    let sum =
        parts.policy_loss + 0.7 * parts.value_loss + 0.3 * parts.action_value_loss + 0.2 * parts.kl
            - 0.1 * parts.entropy;
    assert_close(&[loss], &[sum], 1e-6);
    assert_ne!(parts.value_loss, parts.action_value_loss, "each value has its own clip");
}

#[test]
fn the_joint_gradient_through_the_scores_is_that_of_finite_differences() {
    let value_tokens = ValueTokens::new(4, 5, 6).unwrap();
    let softmax = ActionSoftmax { value_tokens: Some(value_tokens), temperature: 0.8 };
    let objective = Objective {
        kl_coefficient: 0.3,
        entropy_coefficient: 0.2,
        readout: Readout { temperature: 2.0, ..Readout::default() },
        ..Objective::default()
    };
    let case = Case::new();
    let logits: Vec<f32> = uniform(1, 6 * 6).iter().map(|x| 4.0 * x).collect();
    // Two turns of two tokens: places 0 and 3 are contexts, 2 and 5 ends.
    let gradient = assert_gradient(&logits, |logits| {
        let device = logits.device();
        let places = |places: &[i32]| Tensor::<1, Int>::from_data(places, &device);
        let logits = logits.reshape([6, 6]);
        let reads = value_tokens.difference(logits.clone());
        let scores = softmax.score(logits.select(0, places(&[0, 1, 3, 4])), places(&[0, 3, 2, 1]));
        let evaluation = Evaluation {
            log_probs: scores.log_probs,
            entropy: scores.entropy,
            value_logits: reads.clone().select(0, places(&[0, 3])),
            action_value_logits: reads.select(0, places(&[2, 5])),
        };
        objective.forward(evaluation, &case.batch()).loss
    });
    assert!(gradient.iter().filter(|g| g.abs() > 1e-4).count() > 20, "{gradient:?}");
}

#[test]
fn masked_tokens_and_turns_change_neither_loss_nor_gradient() {
    let objective = Objective { kl_coefficient: 0.1, ..Objective::default() };
    let plain = Case::new();
    let (loss, gradients) = plain.loss_and_gradients(objective);
    for junk in [999.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let mut case = plain.clone();
        for numbers in [
            &mut case.log_probs,
            &mut case.advantages,
            &mut case.entropy,
            &mut case.values,
            &mut case.old_values,
            &mut case.value_targets,
            case.reference_log_probs.as_mut().unwrap(),
        ] {
            numbers.push(junk);
        }
        // A log-ratio of 1000 where the junk is 999.
        case.old_log_probs.push(-1.0);
        case.token_weights.push(0.0);
        case.turn_weights.push(0.0);
        let (masked_loss, masked_gradients) = case.loss_and_gradients(objective);
        assert_close(&[masked_loss], &[loss], 1e-6);
        for (mut masked, gradient) in masked_gradients.into_iter().zip(&gradients) {
            assert_eq!(masked.pop(), Some(0.0));
            assert_close(&masked, gradient, 1e-6);
        }
        let statistics = objective.forward(case.evaluation(), &case.batch()).parts.read();
        assert_close(&[statistics.largest_log_ratio], &[0.1], 1e-6);
        assert_eq!(statistics.clip_fraction, 0.0);
    }
}

#[test]
fn an_empty_mask_is_a_zero_loss_with_a_zero_gradient() {
    let mut case = Case::new();
    case.token_weights = vec![0.0; 4];
    case.turn_weights = vec![0.0; 2];
    let objective = Objective { kl_coefficient: 0.1, ..Objective::default() };
    let (loss, gradients) = case.loss_and_gradients(objective);
    assert_eq!(loss, 0.0);
    assert!(gradients.iter().flatten().all(|&slope| slope == 0.0), "{gradients:?}");
    let statistics = objective.forward(case.evaluation(), &case.batch()).parts.read();
    assert_eq!(statistics, LossStatistics::default());
}

#[test]
fn no_tokens_and_no_turns_are_a_zero_loss() {
    let none = || constant(&[]);
    let evaluation = Evaluation {
        log_probs: none(),
        entropy: none(),
        value_logits: none(),
        action_value_logits: none(),
    };
    let batch = LossBatch {
        old_log_probs: none(),
        reference_log_probs: Some(none()),
        advantages: none(),
        token_weights: none(),
        old_values: none(),
        value_targets: none(),
        old_action_values: none(),
        action_value_targets: none(),
        turn_weights: none(),
    };
    let output = Objective::default().forward(evaluation, &batch);
    assert_eq!(number(&output.loss), 0.0);
    assert_eq!(output.parts.read(), LossStatistics::default());
}

#[test]
fn a_ratio_beyond_all_bounds_leaves_loss_and_gradient_finite() {
    let mut case = Case::new();
    case.log_probs = vec![0.0, -500.0, 0.0, -500.0];
    case.old_log_probs = vec![-500.0, 0.0, -500.0, 0.0];
    let (loss, gradients) = case.loss_and_gradients(policy_alone());
    assert!(loss.is_finite(), "{loss}");
    assert!(gradients.iter().flatten().all(|slope| slope.is_finite()), "{gradients:?}");
}

// By hand: d = 200 is clamped to 20 before it is exponentiated, so k3 = e^20 - 21 and not infinite.
#[test]
fn a_divergence_is_clamped_before_it_is_exponentiated() {
    let (value, gradient) =
        gradient_at(&[-200.0], |log_probs| KlEstimator::K3.estimate(log_probs, constant(&[0.0])));
    assert_close(&[value], &[20.0_f32.exp() - 21.0], 1e-5);
    assert_eq!(gradient, [0.0]);
}

/// A step down the divergence of a softmax over three actions, each weighted by its probability: the
/// exact `KL(pi | ref)` before and after.
fn divergence_around_one_step(kl_estimator: KlEstimator) -> (f32, f32) {
    let softmax = ActionSoftmax { value_tokens: None, temperature: 1.0 };
    let log_probs = |logits: Tensor<1>| {
        let tokens = Tensor::<1, Int>::from_data([0, 1, 2], &logits.device());
        softmax.score(logits.unsqueeze::<2>().repeat_dim(0, 3), tokens).log_probs
    };
    let reference = floats(&log_probs(constant(&[0.0, 1.0, -1.0])));
    let exact = |logits: &[f32]| -> f32 {
        let now = floats(&log_probs(constant(logits)));
        now.iter().zip(&reference).map(|(p, q)| p.exp() * (p - q)).sum()
    };
    let logits = [1.0, -0.5, 0.5];
    let mut case = Case::new();
    case.log_probs = floats(&log_probs(constant(&logits)));
    case.token_weights = case.log_probs.iter().map(|log_prob| log_prob.exp()).collect();
    case.old_log_probs = case.log_probs.clone();
    case.reference_log_probs = Some(reference.clone());
    case.advantages = vec![0.0; 3];
    case.entropy = vec![0.0; 3];
    let objective = Objective { kl_coefficient: 1.0, kl_estimator, ..policy_alone() };
    let (_, gradient) = gradient_at(&logits, |logits| {
        let evaluation = Evaluation { log_probs: log_probs(logits), ..case.evaluation() };
        objective.forward(evaluation, &case.batch()).loss
    });
    let stepped: Vec<f32> = logits.iter().zip(&gradient).map(|(z, g)| z - 0.1 * g).collect();
    (exact(&logits), exact(&stepped))
}

// Not k1: weighted by its own policy, the slope of its mean is that of sum p = 1, which is 0.
#[test]
fn one_step_on_the_divergence_alone_lowers_it() {
    for estimator in [KlEstimator::K2, KlEstimator::K3] {
        let (before, after) = divergence_around_one_step(estimator);
        assert!(after < 0.99 * before, "{estimator:?}: {before} became {after}");
    }
}

#[test]
#[should_panic(expected = "needs the reference policy's log-probs")]
fn a_divergence_without_a_reference_is_refused() {
    let case = Case { reference_log_probs: None, ..Case::new() };
    Objective::default().forward(case.evaluation(), &case.batch());
}

#[test]
fn shares_of_a_step_add_up_and_its_largest_ratio_is_the_largest() {
    let mut sum = LossStatistics { policy_loss: 1.0, largest_log_ratio: 0.5, ..Default::default() };
    let share = LossStatistics { policy_loss: 0.5, largest_log_ratio: 0.2, ..Default::default() };
    sum.add(&share);
    assert_eq!((sum.policy_loss, sum.largest_log_ratio), (1.5, 0.5));
}
