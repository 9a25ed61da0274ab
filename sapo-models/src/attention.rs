//! Causal attention with grouped key and value heads.

use burn::nn::Linear;
use burn::prelude::*;
use burn::tensor::activation::softmax;

use crate::cache::LayerCache;
use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::norm::RmsNorm;
use crate::rope::Rotation;
use crate::source::{WeightSource, linear};
use crate::wiring::Wiring;

/// What all layers share about a block of tokens.
pub(crate) struct Block {
    /// Sequences side by side.
    pub(crate) rows: usize,
    /// Tokens of each, padding included.
    pub(crate) time: usize,
    /// Rotary positions of all tokens.
    pub(crate) rotation: Rotation,
    /// Added to the scores: 0 where a key is seen, so low that nothing is left where it is hidden.
    /// `[rows, 1, 1, time, keys]`
    pub(crate) bias: Tensor<5>,
}

/// One layer's attention.
#[derive(Module, Debug)]
pub struct Attention {
    /// `[hidden, heads * head_dim]`
    pub q_proj: Linear,
    /// `[hidden, groups * head_dim]`
    pub k_proj: Linear,
    /// `[hidden, groups * head_dim]`
    pub v_proj: Linear,
    /// `[heads * head_dim, hidden]`
    pub o_proj: Linear,
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
        let mut project =
            |part: &str, shape, bias| linear(source, &format!("{name}.{part}"), shape, bias, device);
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
        let queries = block.rotation.apply(self.heads_of(queries, self.q_norm.as_ref())) * scale;
        let keys = self.k_proj.forward(input.clone());
        let keys = block.rotation.apply(self.heads_of(keys, self.k_norm.as_ref()));
        let values = self.heads_of(self.v_proj.forward(input), None);

        let queries = self.fold_groups(queries, block);
        let (keys, values) = (by_row(keys, block), by_row(values, block));
        let (keys, values) = match cache {
            Some(cache) => cache.append(keys, values),
            None => (keys, values),
        };
        let context = self.attend(queries, keys, values, block);
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
    /// are never copied: `[tokens, heads, head_dim]` to `[rows, groups, heads / groups * time, head_dim]`.
    fn fold_groups(&self, queries: Tensor<3>, block: &Block) -> Tensor<4> {
        let folded = self.heads / self.groups * block.time;
        by_row(queries, block).reshape([block.rows, self.groups, folded, self.head_dim])
    }

    /// `[rows, groups, heads / groups * time, head_dim]` to `[tokens, heads * head_dim]`.
    fn unfold_groups(&self, context: Tensor<4>, block: &Block) -> Tensor<2> {
        let Block { rows, time, .. } = *block;
        let by_head = context.reshape([rows, self.heads, time, self.head_dim]);
        by_head.swap_dims(1, 2).reshape([rows * time, self.heads * self.head_dim])
    }

    /// Scaled queries against all keys.
    fn attend(
        &self,
        queries: Tensor<4>,
        keys: Tensor<4>,
        values: Tensor<4>,
        block: &Block,
    ) -> Tensor<4> {
        let Block { rows, time, .. } = *block;
        let [_, groups, folded, _] = queries.dims();
        let columns = keys.dims()[2];
        let scores = queries.matmul(keys.swap_dims(2, 3));
        let scores = scores.reshape([rows, groups, folded / time, time, columns]);
        let weights = softmax(scores + block.bias.clone(), 4);
        weights.reshape([rows, groups, folded, columns]).matmul(values)
    }
}

/// `[tokens, heads, head_dim]` to `[rows, heads, time, head_dim]`.
fn by_row(heads: Tensor<3>, block: &Block) -> Tensor<4> {
    let [_, count, head_dim] = heads.dims();
    heads.reshape([block.rows, block.time, count, head_dim]).swap_dims(1, 2)
}
