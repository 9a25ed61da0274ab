//! Products with packed matrices equal Burn's.

use burn::prelude::*;
use burn::tensor::{DType, Distribution, Tolerance};
use proptest::prelude::*;
use sapo_kernels::PackedMatrix;

fn random(shape: [usize; 2]) -> Tensor<2> {
    Tensor::random(shape, Distribution::Uniform(-0.5, 0.5), &Device::flex())
}

fn assert_equal(input: Tensor<2>, matrix: Tensor<2>) {
    let packed = PackedMatrix::new(&matrix).expect("a matrix on flex");
    let expected = input.clone().matmul(matrix).into_data();
    let tolerance = Tolerance::<f32>::rel_abs(1e-4, 1e-5);
    packed.multiply(input).into_data().assert_approx_eq::<f32>(&expected, tolerance);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn products_are_equal(
        rows in 1_usize..40,
        inner in 1_usize..90,
        columns in 1_usize..140,
        is_view: bool,
    ) {
        let matrix = match is_view {
            true => random([columns, inner]).transpose(),
            false => random([inner, columns]),
        };
        assert_equal(random([rows, inner]), matrix);
    }
}

/// 1,500 x 1,500 numbers are shared among the threads, in spans that do not divide evenly.
#[test]
fn a_large_matrix_is_shared_among_threads() {
    assert_equal(random([5, 1500]), random([1500, 1500]));
    assert_equal(random([17, 1500]), random([1500, 1500]).transpose());
}

/// A view that skips every second column.
#[test]
fn a_view_with_gaps_is_read_right() {
    assert_equal(random([3, 5]), random([5, 80]).slice(s![.., 0..80;2]));
}

#[test]
fn a_product_of_nothing_is_empty_or_zero() {
    let packed = PackedMatrix::new(&random([4, 3])).unwrap();
    assert_eq!(packed.multiply(random([0, 4])).dims(), [0, 3]);
}

#[test]
fn a_matrix_in_half_precision_is_not_packed() {
    let matrix = random([4, 3]).cast(DType::BF16);
    assert!(PackedMatrix::new(&matrix).is_none());
}

#[test]
#[should_panic(expected = "as wide as the matrix is high")]
fn shapes_that_do_not_fit_are_refused() {
    let packed = PackedMatrix::new(&random([4, 3])).unwrap();
    packed.multiply(random([2, 3]));
}
