use burn::tensor::Distribution;
use burn::tensor::activation::softmax;

use super::*;
use crate::rope::Rope;

const ROWS: usize = 2;
const GROUPS: usize = 2;
const SHARE: usize = 3;
const TIME: usize = 70;
const EARLIER: usize = 13;
const HEAD_DIM: usize = 4;

/// Queries, keys, values of a block behind some earlier keys, of which a row cannot see all.
fn inputs(device: &Device) -> ([Tensor<5>; 1], [Tensor<4>; 2], Block) {
    device.seed(3);
    let normal = Distribution::Normal(0.0, 1.0);
    let keys = EARLIER + TIME;
    let queries = Tensor::random([ROWS, GROUPS, SHARE, TIME, HEAD_DIM], normal, device);
    let stored = || Tensor::random([ROWS, GROUPS, keys, HEAD_DIM], normal, device);
    let hidden = |row: usize, query: usize, key: usize| key > EARLIER + query || key < 5 * row;
    let bias: Vec<f32> = (0..ROWS)
        .flat_map(|row| (0..TIME).map(move |query| (row, query)))
        .flat_map(|(row, query)| (0..keys).map(move |key| (row, query, key)))
        .map(|(row, query, key)| if hidden(row, query, key) { -1e30 } else { 0.0 })
        .collect();
    let block = Block {
        rows: ROWS,
        time: TIME,
        rotation: Rope::new(HEAD_DIM, 1e4)
            .at(Tensor::zeros([ROWS, TIME], device), burn::tensor::DType::F32),
        bias: Tensor::from_data(TensorData::new(bias, [ROWS, 1, 1, TIME, keys]), device),
    };
    ([queries], [stored(), stored()], block)
}

/// Attention with every score at once and nothing saved.
fn plain(queries: Tensor<5>, keys: Tensor<4>, values: Tensor<4>, block: &Block) -> Tensor<5> {
    let (keys, values) = (keys.unsqueeze_dim::<5>(2), values.unsqueeze_dim::<5>(2));
    let scores = queries.matmul(keys.swap_dims(3, 4)) + block.bias.clone();
    softmax(scores, 4).matmul(values)
}

fn assert_close<const D: usize>(what: &str, one: Tensor<D>, other: Tensor<D>) {
    let difference = (one.inner() - other.inner()).abs().max().into_scalar::<f32>();
    assert!(difference < 2e-6, "{what} differ by {difference}");
}

#[test]
fn attention_in_stretches_is_attention() {
    let device = Device::flex().autodiff();
    let ([queries], [keys, values], block) = inputs(&device);
    let expected = plain(queries.clone(), keys.clone(), values.clone(), &block);
    for stretch in [TIME, 32, 7, 1] {
        let (queries, keys, values) = (queries.clone(), keys.clone(), values.clone());
        let found = attend_in_stretches(queries, keys, values, &block, stretch);
        assert_close("contexts", found, expected.clone());
    }
}

#[test]
fn its_gradients_are_those_of_attention() {
    let device = Device::flex().autodiff();
    // Drawn once: tests that run side by side share the device's random state.
    let ([queries], [keys, values], block) = inputs(&device);
    let gradients = |run: &dyn Fn(Tensor<5>, Tensor<4>, Tensor<4>, &Block) -> Tensor<5>| {
        let queries = queries.clone().require_grad();
        let (keys, values) = (keys.clone().require_grad(), values.clone().require_grad());
        let context = run(queries.clone(), keys.clone(), values.clone(), &block);
        let gradients = (context.clone() * context.sin()).sum().backward();
        let grad = |tensor: &Tensor<4>| tensor.grad(&gradients).unwrap();
        (queries.grad(&gradients).unwrap(), grad(&keys), grad(&values))
    };
    let found = gradients(&|q, k, v, block| attend_in_stretches(q, k, v, block, 32));
    let expected = gradients(&plain);
    let close = |what: &str, difference: f32| assert!(difference < 2e-5, "{what}: {difference}");
    close("queries", (found.0 - expected.0).abs().max().into_scalar::<f32>());
    close("keys", (found.1 - expected.1).abs().max().into_scalar::<f32>());
    close("values", (found.2 - expected.2).abs().max().into_scalar::<f32>());
}

#[test]
fn stretches_are_neither_too_short_nor_too_many() {
    let heads = SCORES / 30_000;
    assert_eq!(stretch(heads, 300, 300, false), 100, "as 100 queries of 300 keys fit");
    assert_eq!(stretch(heads, 270, 300, false), 90, "three of one length, not two and a short one");
    assert_eq!(stretch(4 * heads, 300, 300, false), 30, "about the shortest length");
    assert_eq!(stretch(heads, 3, 300, true), 3, "all that fits at once");
    assert_eq!(stretch(64, 1, 3000, false), 1, "a decoded token");
}
