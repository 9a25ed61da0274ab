//! The fused optimizer equals Burn's.

use burn::optim::{AdamWConfig, Optimizer};
use burn::prelude::*;
use burn::tensor::{Distribution, Tolerance};
use proptest::prelude::*;
use sapo_kernels::AdamW;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn steps_are_equal(
        rows in 1_usize..40,
        columns in 1_usize..70,
        rate in 1e-4..1e-1,
        weight_decay in 0.0_f32..0.5,
        is_view: bool,
    ) {
        let device = Device::flex();
        let ours = AdamW { beta_1: 0.8, beta_2: 0.95, epsilon: 1e-6, weight_decay };
        let theirs = AdamWConfig::new()
            .with_beta_1(0.8)
            .with_beta_2(0.95)
            .with_epsilon(1e-6)
            .with_weight_decay(weight_decay)
            .build();
        let random = |shape: [usize; 2]| {
            Tensor::<2>::random(shape, Distribution::Normal(0.0, 1.0), &device)
        };
        let start = random([rows, columns]);
        let (mut our_parameter, mut parameter) = (start.clone(), start);
        let (mut our_state, mut state) = (None, None);
        for _ in 0..4 {
            let gradient = match is_view {
                true => random([columns, rows]).transpose(),
                false => random([rows, columns]),
            };
            (our_parameter, our_state) =
                ours.step(rate, our_parameter, gradient.clone(), our_state);
            (parameter, state) = theirs.step(rate, parameter, gradient, state);
        }
        let close = Tolerance::<f32>::rel_abs(1e-5, 1e-6);
        our_parameter.into_data().assert_approx_eq::<f32>(&parameter.into_data(), close);
        let (ours, theirs) = (our_state.unwrap().momentum, state.unwrap().momentum);
        prop_assert_eq!(ours.time, theirs.time);
        for (ours, theirs) in [(ours.moment_1, theirs.moment_1), (ours.moment_2, theirs.moment_2)] {
            ours.into_data().assert_approx_eq::<f32>(&theirs.into_data(), close);
        }
    }
}

/// Whoever holds the parameter or a moment from before keeps its numbers.
#[test]
fn what_is_held_elsewhere_is_left_alone() {
    let device = Device::flex();
    let optimizer = AdamW { beta_1: 0.9, beta_2: 0.999, epsilon: 1e-8, weight_decay: 0.0 };
    let ones = Tensor::<1>::ones([3], &device);
    let (before, state) = optimizer.step(0.1, ones.clone(), ones.clone(), None);
    let held = state.clone().unwrap().momentum.moment_1;
    let (kept_parameter, kept_moment) = (before.to_data(), held.to_data());
    let (after, _) = optimizer.step(0.1, before.clone(), ones, state);
    assert_eq!((before.to_data(), held.to_data()), (kept_parameter.clone(), kept_moment));
    assert_ne!(after.to_data(), kept_parameter);
}
