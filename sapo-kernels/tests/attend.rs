//! Attention of few queries equals softmax between two products.

use burn::prelude::*;
use burn::tensor::activation::softmax;
use burn::tensor::{Distribution, Tolerance};
use proptest::prelude::*;
use sapo_kernels::attend;

fn random<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.5), &Device::flex())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn contexts_are_equal(
        rows in 1_usize..4,
        groups in 1_usize..4,
        share in 1_usize..8,
        time in 1_usize..3,
        keys in 1_usize..70,
        room in 0_usize..9,
        head_dim in 1_usize..40,
    ) {
        let stored = || random([rows, groups, keys + room, head_dim]).narrow(2, 0, keys);
        let (queries, keys_stored, values) =
            (random([rows, groups, share * time, head_dim]), stored(), stored());
        let hidden = random([rows, 1, 1, time, keys]).greater_elem(1.0);
        let others = Tensor::arange(0..keys as i64, &Device::flex())
            .greater_elem(0)
            .reshape([1, 1, 1, 1, keys])
            .expand([rows, 1, 1, time, keys]);
        let bias = Tensor::zeros([rows, 1, 1, time, keys], &Device::flex());
        let bias = bias.mask_fill(hidden.bool_and(others), f32::NEG_INFINITY);
        let found = attend(&queries, &keys_stored, &values, &bias).expect("few queries on flex");
        let scores = queries.matmul(keys_stored.swap_dims(2, 3));
        let scores = scores.reshape([rows, groups, share, time, keys]) + bias;
        let weights = softmax(scores, 4).reshape([rows, groups, share * time, keys]);
        let expected = weights.matmul(values).into_data();
        found.into_data().assert_approx_eq::<f32>(&expected, Tolerance::rel_abs(1e-4, 1e-5));
    }
}

#[test]
fn many_queries_and_gradients_are_left_to_others() {
    let (bias, stored) = (random([1, 1, 1, 1, 5]), random([1, 1, 5, 4]));
    assert!(attend(&random([1, 1, 17, 4]), &stored, &stored, &bias).is_none());
    let queries = random([1, 1, 2, 4]);
    assert!(attend(&queries, &stored, &stored, &bias).is_some());
    let [queries, stored] = [queries, stored].map(|tensor| tensor.autodiff().require_grad());
    assert!(attend(&queries, &stored, &stored, &bias.autodiff()).is_none());
}

#[test]
#[should_panic(expected = "keys and values for the queries")]
fn shapes_that_do_not_fit_are_refused() {
    let (bias, stored) = (random([1, 1, 1, 1, 5]), random([1, 1, 4, 4]));
    attend(&random([1, 1, 2, 4]), &stored, &stored, &bias);
}
