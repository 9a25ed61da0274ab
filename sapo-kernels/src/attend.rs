use burn::backend::{Flex, TensorMetadata};
use burn::prelude::*;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::flex::{FlexTensor, Input, Inputs, contiguous, numbers};
use crate::lanes::{exp, max, sum_of, vectorized};

/// More queries of one key head are left to matrix products, which pay for their overhead by then.
const MOST_QUERIES: usize = 16;

/// Queries that are computed at once, in registers.
const QUERIES: usize = 4;

/// Fewer multiplications than this are not worth a second thread.
const PARALLEL_FROM: usize = 1 << 20;

/// `softmax(q k^T + bias) v` for few queries, as in decoding: one pass over the keys and one over the values,
/// where they lie in the cache. `None` for many queries, under autodiff, or where the device has no such
/// kernel.
///
/// # Shapes
/// - queries and output: `[rows, groups, share * time, head_dim]`
/// - keys and values: `[rows, groups, keys, head_dim]`
/// - bias: `[rows, 1, 1, time, keys]`
///
/// # Panics
/// If the shapes do not fit.
pub fn attend(
    queries: &Tensor<4>,
    keys: &Tensor<4>,
    values: &Tensor<4>,
    bias: &Tensor<5>,
) -> Option<Tensor<4>> {
    let [rows, groups, count, head_dim] = queries.dims();
    let [_, _, _, time, seen] = bias.dims();
    let stored = [rows, groups, seen, head_dim];
    assert_eq!([keys.dims(), values.dims()], [stored; 2], "keys and values for the queries");
    assert_eq!(bias.dims(), [rows, 1, 1, time, seen], "a bias for each row, query and key");
    assert!(count.is_multiple_of(time), "as many queries of each head as there is time");
    if count > MOST_QUERIES || queries.shape().num_elements() * seen == 0 {
        return None;
    }
    let Some(Inputs::Plain([queries, keys, values, bias])) =
        Inputs::gather([Input::of(queries), Input::of(keys), Input::of(values), Input::of(bias)])
    else {
        return None;
    };
    let attention = Attention {
        queries: contiguous(queries),
        keys: Heads::of(keys),
        values: Heads::of(values),
        bias: contiguous(bias),
        groups,
        head_dim,
        time,
        seen,
    };
    let mut output = vec![0.0; rows * groups * count * head_dim];
    let head = count * head_dim;
    let worthwhile = PARALLEL_FROM.div_ceil(head * seen);
    let heads = output.par_chunks_mut(head).with_min_len(worthwhile).enumerate();
    heads.for_each(|(head, output)| vectorized(Head { attention: &attention, head, output }));
    let output = FlexTensor::from_data(TensorData::new(output, [rows, groups, count, head_dim]));
    Some(Tensor::from_primitive::<Flex>(output))
}

struct Attention {
    queries: FlexTensor,
    keys: Heads,
    values: Heads,
    bias: FlexTensor,
    groups: usize,
    head_dim: usize,
    time: usize,
    seen: usize,
}

/// A tensor of `[rows, groups, keys, head_dim]` whose keys lie one after the other within each head.
struct Heads {
    tensor: FlexTensor,
    start: usize,
    row_stride: usize,
    group_stride: usize,
}

impl Heads {
    /// Copies a view of another kind.
    fn of(tensor: FlexTensor) -> Self {
        let [_, _, _, head_dim] = tensor.shape().dims();
        let strides = tensor.layout().strides();
        let is_usable =
            strides.iter().all(|&stride| stride >= 0) && strides[2..] == [head_dim as isize, 1];
        let tensor = if is_usable { tensor } else { tensor.to_contiguous() };
        let strides = tensor.layout().strides();
        let (row_stride, group_stride) = (strides[0] as usize, strides[1] as usize);
        let start = tensor.layout().start_offset();
        Heads { row_stride, group_stride, start, tensor }
    }

    /// `[keys, head_dim]`
    fn head(&self, row: usize, group: usize, length: usize) -> &[f32] {
        let start = self.start + row * self.row_stride + group * self.group_stride;
        &self.tensor.storage::<f32>()[start..start + length]
    }
}

/// The attention of one row and group.
struct Head<'a> {
    attention: &'a Attention,
    /// Which, in the order of the queries.
    head: usize,
    /// `[share * time, head_dim]`
    output: &'a mut [f32],
}

impl WithSimd for Head<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Attention { groups, head_dim, time, seen, .. } = *self.attention;
        let (row, group) = (self.head / groups, self.head % groups);
        let keys = self.attention.keys.head(row, group, seen * head_dim);
        let values = self.attention.values.head(row, group, seen * head_dim);
        let queries = &numbers(&self.attention.queries)[self.head * self.output.len()..];
        let bias = &numbers(&self.attention.bias)[row * time * seen..][..time * seen];
        let width = QUERIES * head_dim;
        let mut weights = vec![0.0; QUERIES * seen];
        for (tile, output) in self.output.chunks_mut(width).enumerate() {
            let count = output.len() / head_dim;
            let queries = &queries[tile * width..][..output.len()];
            score(simd, queries, keys, head_dim, &mut weights);
            for (query, weights) in weights.chunks_exact_mut(seen).take(count).enumerate() {
                let query = (tile * QUERIES + query) % time;
                softmax(weights, &bias[query * seen..][..seen]);
            }
            mix(simd, &weights, values, head_dim, output);
        }
    }
}

/// Inner products of up to [`QUERIES`] queries with all keys. Those of each query lie one after the other in
/// `scores`.
#[inline(always)]
fn score<S: Simd>(simd: S, queries: &[f32], keys: &[f32], head_dim: usize, scores: &mut [f32]) {
    let mut blocks = vec![[simd.splat_f32s(0.0); QUERIES]; head_dim.div_ceil(S::F32_LANES)];
    for (query, numbers) in queries.chunks_exact(head_dim).enumerate() {
        for (block, part) in blocks.iter_mut().zip(numbers.chunks(S::F32_LANES)) {
            block[query] = simd.partial_load_f32s(part);
        }
    }
    let seen = keys.len() / head_dim;
    for (place, key) in keys.chunks_exact(head_dim).enumerate() {
        let mut sums = [simd.splat_f32s(0.0); QUERIES];
        for (block, part) in blocks.iter().zip(key.chunks(S::F32_LANES)) {
            let part = simd.partial_load_f32s(part);
            for query in 0..QUERIES {
                sums[query] = simd.mul_add_e_f32s(block[query], part, sums[query]);
            }
        }
        for (query, &sum) in sums.iter().enumerate() {
            scores[query * seen + place] = simd.reduce_sum_f32s(sum);
        }
    }
}

#[inline(always)]
fn softmax(scores: &mut [f32], bias: &[f32]) {
    for (score, &bias) in scores.iter_mut().zip(bias) {
        *score += bias;
    }
    let highest = max(scores);
    for score in scores.iter_mut() {
        *score = exp(*score - highest);
    }
    let scale = 1.0 / sum_of(scores, scores, |weight, _| weight);
    for weight in scores.iter_mut() {
        *weight *= scale;
    }
}

/// The means of the values by the weights of each query.
#[inline(always)]
fn mix<S: Simd>(simd: S, weights: &[f32], values: &[f32], head_dim: usize, output: &mut [f32]) {
    let seen = values.len() / head_dim;
    for start in (0..head_dim).step_by(S::F32_LANES) {
        let taken = S::F32_LANES.min(head_dim - start);
        let mut sums = [simd.splat_f32s(0.0); QUERIES];
        for (place, value) in values.chunks_exact(head_dim).enumerate() {
            let part = simd.partial_load_f32s(&value[start..start + taken]);
            for query in 0..QUERIES {
                let weight = simd.splat_f32s(weights[query * seen + place]);
                sums[query] = simd.mul_add_e_f32s(weight, part, sums[query]);
            }
        }
        for (line, &sum) in output.chunks_exact_mut(head_dim).zip(&sums) {
            simd.partial_store_f32s(&mut line[start..start + taken], sum);
        }
    }
}
