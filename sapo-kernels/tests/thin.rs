//! Products of few rows equal Burn's.

use burn::prelude::*;
use burn::tensor::{Distribution, Tolerance};
use proptest::prelude::*;
use sapo_kernels::matmul;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn products_are_equal(
        rows in 1_usize..40,
        inner in 1_usize..90,
        columns in 1_usize..140,
        is_view: bool,
    ) {
        let device = Device::flex();
        let random = |shape: [usize; 2]| Tensor::<2>::random(shape, Distribution::Default, &device);
        let weight = match is_view {
            true => random([columns, inner]).transpose(),
            false => random([inner, columns]),
        };
        let input = random([rows, inner]) - 0.5;
        let expected = input.clone().matmul(weight.clone()).into_data();
        let tolerance = Tolerance::<f32>::rel_abs(1e-5, 1e-5);
        matmul(input, weight).into_data().assert_approx_eq::<f32>(&expected, tolerance);
    }
}

/// 1,500 x 1,500 numbers are shared among the threads, in spans that do not divide evenly.
#[test]
fn a_large_matrix_is_shared_among_threads() {
    let device = Device::flex();
    let random = |shape: [usize; 2]| Tensor::<2>::random(shape, Distribution::Default, &device);
    let (input, weight) = (random([5, 1500]) - 0.5, random([1500, 1500]));
    for weight in [weight.clone(), weight.transpose()] {
        let expected = input.clone().matmul(weight.clone()).into_data();
        let tolerance = Tolerance::<f32>::rel_abs(1e-4, 1e-4);
        matmul(input.clone(), weight).into_data().assert_approx_eq::<f32>(&expected, tolerance);
    }
}

/// A view that skips every second column goes the general way.
#[test]
fn a_view_with_gaps_is_read_right() {
    let device = Device::flex();
    let weight = Tensor::<2>::from_floats([[1.0, 9.0, 2.0, 9.0], [3.0, 9.0, 4.0, 9.0]], &device);
    let weight = weight.slice(s![.., 0..4;2]);
    let input = Tensor::from_floats([[1.0, 10.0]], &device);
    assert_eq!(matmul(input, weight).to_data(), TensorData::from([[31.0_f32, 42.0]]));
}

#[test]
fn a_gradient_flows() {
    let device = Device::flex().autodiff();
    let weight = Tensor::<2>::from_floats([[2.0], [3.0]], &device).require_grad();
    let gradients = matmul(Tensor::from_floats([[5.0, 7.0]], &device), weight.clone()).backward();
    assert_eq!(weight.grad(&gradients).unwrap().to_data(), TensorData::from([[5.0_f32], [7.0]]));
}

#[test]
#[should_panic(expected = "the width of the input")]
fn shapes_that_do_not_fit_are_refused() {
    let device = Device::flex();
    matmul(Tensor::ones([2, 3], &device), Tensor::ones([2, 3], &device));
}
