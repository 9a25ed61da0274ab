//! Causal attention with grouped key and value heads.

use burn::prelude::*;
use sapo_kernels::{attend as attend_few, masked_softmax};

use crate::cache::LayerCache;
use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::norm::RmsNorm;
use crate::projection::Projection;
use crate::rope::Rotation;
use crate::source::WeightSource;
use crate::wiring::Wiring;

/// Stretches are not cut shorter than this.
const SHORTEST_STRETCH: usize = 32;

/// Scores that are held at a time, where stretches of queries are long enough to choose. Measured:
/// shorter stretches compute less that is hidden, longer ones have less overhead.
const SCORES: usize = 2 << 20;
const SCORES_WITH_GRADIENT: usize = 1 << 19;

/// What all layers share about a block of tokens.
pub(crate) struct Block {
    /// Sequences side by side.
    pub(crate) rows: usize,
    /// Tokens of each, padding included.
    pub(crate) time: usize,
    /// Rotary positions of all tokens.
    pub(crate) rotation: Rotation,
    /// Added to the scores: 0 where a key is seen, minus infinity where it is hidden.
    /// `[rows, 1, 1, time, keys]`
    pub(crate) bias: Tensor<5>,
}

/// One layer's attention.
#[derive(Module, Debug)]
pub struct Attention {
    /// `[hidden, heads * head_dim]`
    pub q_proj: Projection,
    /// `[hidden, groups * head_dim]`
    pub k_proj: Projection,
    /// `[hidden, groups * head_dim]`
    pub v_proj: Projection,
    /// `[heads * head_dim, hidden]`
    pub o_proj: Projection,
    /// The norm of each query head, Qwen3 only.
    pub q_norm: Option<RmsNorm>,
    /// The norm of each key head, Qwen3 only.
    pub k_norm: Option<RmsNorm>,
    heads: usize,
    groups: usize,
    head_dim: usize,
}

impl Attention {
    pub(crate) fn build(
        source: &mut dyn WeightSource,
        name: &str,
        config: &ModelConfig,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let wiring = Wiring::of(config);
        let (heads, groups, head_dim) =
            (config.num_attention_heads, config.num_key_value_heads, config.head_dim);
        let (hidden, queries, keys) = (config.hidden_size, heads * head_dim, groups * head_dim);
        let mut project = |part: &str, shape, bias| {
            Projection::build(source, &format!("{name}.{part}"), shape, bias, device)
        };
        let q_proj = project("q_proj", [hidden, queries], wiring.qkv_bias)?;
        let k_proj = project("k_proj", [hidden, keys], wiring.qkv_bias)?;
        let v_proj = project("v_proj", [hidden, keys], wiring.qkv_bias)?;
        let o_proj = project("o_proj", [queries, hidden], wiring.output_bias)?;
        let mut norm = |part: &str| match wiring.qk_norm {
            true => {
                let name = format!("{name}.{part}");
                RmsNorm::build(source, &name, head_dim, config.rms_norm_eps, device).map(Some)
            }
            false => Ok(None),
        };
        let (q_norm, k_norm) = (norm("q_norm")?, norm("k_norm")?);
        Ok(Attention { q_proj, k_proj, v_proj, o_proj, q_norm, k_norm, heads, groups, head_dim })
    }

    /// The same for decoding.
    pub(crate) fn packed(self) -> Self {
        Attention {
            q_proj: self.q_proj.packed(),
            k_proj: self.k_proj.packed(),
            v_proj: self.v_proj.packed(),
            o_proj: self.o_proj.packed(),
            ..self
        }
    }

    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// # Shapes
    /// - input and output: `[rows * time, hidden]`
    pub(crate) fn forward(
        &self,
        input: Tensor<2>,
        block: &Block,
        cache: Option<&mut LayerCache>,
    ) -> Tensor<2> {
        let scale = 1.0 / (self.head_dim as f64).sqrt();
        let queries = self.q_proj.forward(input.clone());
        let queries = block.rotation.apply(self.heads_of(queries, self.q_norm.as_ref()), scale);
        let keys = self.k_proj.forward(input.clone());
        let keys = block.rotation.apply(self.heads_of(keys, self.k_norm.as_ref()), 1.0);
        let values = self.heads_of(self.v_proj.forward(input), None);

        let queries = self.fold_groups(queries, block);
        let (keys, values) = (by_row(keys, block), by_row(values, block));
        let (keys, values) = match cache {
            Some(cache) => cache.append(keys, values),
            None => (keys, values),
        };
        let context = attend(queries, keys, values, block);
        self.o_proj.forward(self.unfold_groups(context, block))
    }

    /// `[tokens, heads * head_dim]` to `[tokens, heads, head_dim]`.
    fn heads_of(&self, projected: Tensor<2>, norm: Option<&RmsNorm>) -> Tensor<3> {
        let [tokens, width] = projected.dims();
        let heads = projected.reshape([tokens, width / self.head_dim, self.head_dim]);
        match norm {
            Some(norm) => norm.forward(heads),
            None => heads,
        }
    }

    /// The query heads of a group become further queries of its one key head, so that keys and values
    /// are never copied: `[tokens, heads, head_dim]` to `[rows, groups, heads / groups, time, head_dim]`.
    fn fold_groups(&self, queries: Tensor<3>, block: &Block) -> Tensor<5> {
        let Block { rows, time, .. } = *block;
        let shape = [rows, self.groups, self.heads / self.groups, time, self.head_dim];
        by_row(queries, block).reshape(shape)
    }

    /// `[rows, groups, heads / groups, time, head_dim]` to `[tokens, heads * head_dim]`.
    fn unfold_groups(&self, context: Tensor<5>, block: &Block) -> Tensor<2> {
        let Block { rows, time, .. } = *block;
        let by_head = context.reshape([rows, self.heads, time, self.head_dim]);
        by_head.swap_dims(1, 2).reshape([rows * time, self.heads * self.head_dim])
    }
}

/// How many queries to take at a time, where scores that are kept for a gradient should fit into a cache.
pub(crate) fn stretch(heads: usize, time: usize, columns: usize, is_tracked: bool) -> usize {
    let scores = if is_tracked { SCORES_WITH_GRADIENT } else { SCORES };
    let fits = scores / (heads * columns).max(1);
    let stretches = time.div_ceil(fits.max(SHORTEST_STRETCH)).max(1);
    time.div_ceil(stretches).max(1)
}

/// Scaled queries against all keys, a stretch of queries at a time: what comes after a stretch is hidden
/// from it and need not be computed.
///
/// # Shapes
/// - queries and output: `[rows, groups, heads / groups, time, head_dim]`
/// - keys and values: `[rows, groups, keys, head_dim]`
fn attend(queries: Tensor<5>, keys: Tensor<4>, values: Tensor<4>, block: &Block) -> Tensor<5> {
    let [rows, groups, share, time, _] = queries.dims();
    let columns = values.dims()[2];
    let stretch = stretch(rows * groups * share, time, columns, queries.is_tracked());
    attend_in_stretches(queries, keys, values, block, stretch)
}

fn attend_in_stretches(
    queries: Tensor<5>,
    keys: Tensor<4>,
    values: Tensor<4>,
    block: &Block,
    stretch: usize,
) -> Tensor<5> {
    let [rows, groups, share, time, head_dim] = queries.dims();
    let columns = values.dims()[2];
    let mut contexts = Vec::with_capacity(time.div_ceil(stretch));
    for start in (0..time).step_by(stretch) {
        let length = stretch.min(time - start);
        let seen = columns - time + start + length;
        let queries = queries.clone().narrow(3, start, length);
        let queries = queries.reshape([rows, groups, share * length, head_dim]);
        let bias = block.bias.clone().narrow(3, start, length).narrow(4, 0, seen);
        let (keys, values) = (keys.clone().narrow(2, 0, seen), values.clone().narrow(2, 0, seen));
        let context = weigh(queries, keys, values, bias);
        contexts.push(context.reshape([rows, groups, share, length, head_dim]));
    }
    match contexts.len() {
        1 => contexts.remove(0),
        _ => Tensor::cat(contexts, 3),
    }
}

/// `softmax(q k + bias) v`. `[rows, groups, heads / groups * length, head_dim]`
fn weigh(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, bias: Tensor<5>) -> Tensor<4> {
    let [rows, groups, folded, _] = q.dims();
    let [_, _, _, length, seen] = bias.dims();
    if let Some(context) = attend_few(&q, &k, &v, &bias) {
        return context;
    }
    let scores = q.matmul(k.swap_dims(2, 3));
    let scores = scores.reshape([rows, groups, folded / length, length, seen]);
    masked_softmax(scores, bias).reshape([rows, groups, folded, seen]).matmul(v)
}

/// `[tokens, heads, head_dim]` to `[rows, heads, time, head_dim]`.
fn by_row(heads: Tensor<3>, block: &Block) -> Tensor<4> {
    let [_, count, head_dim] = heads.dims();
    heads.reshape([block.rows, block.time, count, head_dim]).swap_dims(1, 2)
}

#[cfg(test)]
mod tests;
