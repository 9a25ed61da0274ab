//! Every kernel equals the composition of Burn's own operations, in value and gradient.

use burn::prelude::*;
use burn::tensor::{DType, Distribution};
use proptest::prelude::*;
use sapo_kernels::{masked_softmax, plain, rms_norm, rotate, swiglu};

fn device() -> Device {
    Device::flex().autodiff()
}

fn random<const D: usize>(shape: [usize; D], spread: f64, device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, spread), device)
}

fn assert_close<const D: usize>(ours: Tensor<D>, theirs: Tensor<D>) {
    let tolerance = burn::tensor::Tolerance::<f32>::rel_abs(2e-5, 2e-6);
    ours.into_data().assert_approx_eq::<f32>(&theirs.into_data(), tolerance);
}

/// Values and gradients of `inputs` under a loss that weighs each output differently.
fn compare<const D: usize>(
    inputs: [Tensor<D>; 2],
    ours: impl Fn([Tensor<D>; 2]) -> Tensor<D>,
    theirs: impl Fn([Tensor<D>; 2]) -> Tensor<D>,
) {
    let leaves = inputs.map(|input| input.detach().require_grad());
    let run = |operation: &dyn Fn([Tensor<D>; 2]) -> Tensor<D>| {
        let output = operation(leaves.clone());
        let weights = Tensor::arange(0..output.shape().num_elements() as i64, &output.device());
        let weights = (weights.float() * 0.37).sin().reshape(output.shape());
        let gradients = (output.clone() * weights).sum().backward();
        let gradients = leaves.clone().map(|leaf| leaf.grad(&gradients));
        (output, gradients)
    };
    let ((our_output, our_gradients), (output, gradients)) = (run(&ours), run(&theirs));
    assert_close(our_output, output);
    for (ours, theirs) in our_gradients.into_iter().zip(gradients) {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => assert_close(ours, theirs),
            (ours, theirs) => assert_eq!(ours.is_some(), theirs.is_some()),
        }
    }
}

/// Minus infinity at about a third of the keys, never at the first.
fn bias(rows: usize, time: usize, keys: usize, device: &Device) -> Tensor<5> {
    let hidden = random([rows, 1, 1, time, keys], 1.0, device).greater_elem(0.5);
    let first = Tensor::arange(0..keys as i64, device).equal_elem(0).reshape([1, 1, 1, 1, keys]);
    let hidden = hidden.bool_and(first.bool_not().expand([rows, 1, 1, time, keys]));
    Tensor::zeros([rows, 1, 1, time, keys], device).mask_fill(hidden, f32::NEG_INFINITY)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn gated_units_are_equal(rows in 1_usize..40, width in 1_usize..70, spread in 0.1..30.0) {
        let device = device();
        let inputs = [random([rows, width], spread, &device), random([rows, width], spread, &device)];
        compare(inputs, |[gate, up]| swiglu(gate, up), |[gate, up]| plain::swiglu(gate, up));
    }

    // Over fewer numbers a gradient is the small rest of two that cancel, mostly rounding in either form.
    #[test]
    fn norms_are_equal(rows in 1_usize..40, width in 8_usize..70, spread in 0.1..30.0) {
        let device = device();
        let inputs = [random([rows, width], spread, &device), random([1, width], 1.0, &device)];
        compare(
            inputs,
            |[input, weight]| rms_norm(input, weight.squeeze_dim(0), 1e-6),
            |[input, weight]| plain::rms_norm(input, weight.squeeze_dim(0), 1e-6),
        );
    }

    #[test]
    fn rotations_are_equal(tokens in 1_usize..40, heads in 1_usize..5, half in 1_usize..40) {
        let device = device();
        let input = random([tokens, heads, 2 * half], 1.0, &device);
        let angles = random([tokens, half], 3.0, &device);
        let (cos, sin) = (angles.clone().cos(), angles.sin());
        compare(
            [input.clone(), input],
            |[input, _]| rotate(input, cos.clone(), sin.clone(), 0.3),
            |[input, _]| plain::rotate(input, cos.clone(), sin.clone(), 0.3),
        );
    }

    #[test]
    fn weights_of_attention_are_equal(
        rows in 1_usize..4,
        groups in 1_usize..3,
        share in 1_usize..3,
        time in 1_usize..9,
        keys in 1_usize..50,
        spread in 0.1..30.0,
    ) {
        let device = device();
        let scores = random([rows, groups, share, time, keys], spread, &device);
        let bias = bias(rows, time, keys, &device);
        let inputs = [scores.clone(), scores];
        compare(
            inputs,
            |[scores, _]| masked_softmax(scores, bias.clone()),
            |[scores, _]| plain::masked_softmax(scores, bias.clone()),
        );
    }
}

#[test]
fn views_are_read_where_they_begin() {
    let device = device();
    let whole = random([6, 10], 1.0, &device);
    let view = |start| whole.clone().narrow(0, start, 3).narrow(1, 2, 5);
    compare([view(0), view(2)], |[a, b]| swiglu(a, b), |[a, b]| plain::swiglu(a, b));
    let across = || whole.clone().swap_dims(0, 1);
    assert_close(swiglu(across(), across()), plain::swiglu(across(), across()));
}

#[test]
fn nothing_in_nothing_out() {
    for device in [device(), Device::flex()] {
        let none = || Tensor::<2>::zeros([0, 7], &device);
        assert_eq!(swiglu(none(), none()).dims(), [0, 7]);
        assert_eq!(rms_norm(none(), Tensor::ones([7], &device), 1e-6).dims(), [0, 7]);
        let scores = Tensor::zeros([0, 2, 1, 4, 7], &device);
        let weights = masked_softmax(scores, Tensor::zeros([0, 1, 1, 4, 7], &device));
        assert_eq!(weights.dims(), [0, 2, 1, 4, 7]);
    }
}

#[test]
#[should_panic(expected = "a weight for each number of a row")]
fn a_weight_of_another_width_is_refused() {
    let device = Device::flex();
    rms_norm(Tensor::<2>::ones([2, 6], &device), Tensor::ones([3], &device), 1e-6);
}

#[test]
fn scores_that_are_used_elsewhere_are_left_alone() {
    for device in [device(), Device::flex()] {
        let scores = random([1, 1, 1, 3, 4], 1.0, &device);
        let before = scores.to_data();
        let _weights = masked_softmax(scores.clone(), bias(1, 3, 4, &device));
        assert_eq!(scores.to_data(), before);
    }
}

#[test]
fn hidden_keys_weigh_exactly_nothing() {
    let device = Device::flex();
    let scores = Tensor::<1>::from_floats([3.0, 80.0, -2.0], &device).reshape([1, 1, 1, 1, 3]);
    let bias = Tensor::<1>::from_floats([0.0, f32::NEG_INFINITY, 0.0], &device);
    let weights = masked_softmax(scores, bias.reshape([1, 1, 1, 1, 3]));
    assert_eq!(weights.to_data().iter::<f32>().nth(1), Some(0.0));
}

#[test]
fn a_bad_number_is_not_hidden() {
    let device = Device::flex();
    let bad = || Tensor::<2>::from_floats([[1.0, f32::NAN, 2.0]], &device);
    let good = || Tensor::<2>::ones([1, 3], &device);
    let has_nan = |tensor: Tensor<2>| tensor.is_nan().any().into_scalar::<bool>();
    assert!(has_nan(swiglu(bad(), good())));
    assert!(has_nan(rms_norm(bad(), Tensor::ones([3], &device), 1e-6)));
    let weights =
        masked_softmax(bad().reshape([1, 1, 1, 1, 3]), Tensor::zeros([1, 1, 1, 1, 3], &device));
    assert!(has_nan(weights.reshape([1, 3])));
}

#[test]
fn half_precision_goes_the_plain_way() {
    let device = device();
    let half = |tensor: Tensor<2>| tensor.cast(DType::BF16);
    let (gate, up) = (half(random([3, 5], 1.0, &device)), half(random([3, 5], 1.0, &device)));
    let ours = swiglu(gate.clone(), up.clone());
    assert_eq!(ours.dtype(), DType::BF16);
    assert_eq!(ours.to_data(), plain::swiglu(gate, up).to_data());
}

#[test]
fn other_strategies_of_gradients_go_the_plain_way() {
    let device = device().gradient_checkpointing();
    let leaf = random([3, 5], 1.0, &device).require_grad();
    let gradients = swiglu(leaf.clone(), leaf.clone()).sum().backward();
    assert!(leaf.grad(&gradients).is_some());
}
