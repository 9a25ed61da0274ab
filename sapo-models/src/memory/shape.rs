//! The numbers of a decoder that decide how much memory it takes.

use std::path::Path;

use serde_json::{Map, Value};

use crate::config::{Keys, ModelConfig};
use crate::error::ModelError;
use crate::wiring::Wiring;

/// The keys that experts go by in `config.json`, as transformers' mixtures of experts have them.
const EXPERTS: &str = "num_experts";
const ACTIVE_EXPERTS: &str = "num_experts_per_tok";
const EXPERT_WIDTH: &str = "moe_intermediate_size";

/// Keys of mixtures that are laid out in another way.
const OTHER_EXPERTS: [&str; 4] = [
    "num_local_experts",
    "n_routed_experts",
    "n_shared_experts",
    "shared_expert_intermediate_size",
];

/// The feed-forward block of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedForward {
    /// One gated block.
    Dense {
        /// Its width.
        intermediate: u64,
    },
    /// Gated blocks of which a router chooses some for each token.
    Experts {
        /// How many there are.
        count: u64,
        /// How many work on a token.
        active: u64,
        /// The width of each.
        intermediate: u64,
    },
}

/// A decoder's shape, of any family that is made of attention and gated feed-forward blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderShape {
    /// Rows of the embedding and of the logits.
    pub vocabulary: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Number of layers.
    pub layers: u64,
    /// Query heads.
    pub heads: u64,
    /// Key and value heads.
    pub groups: u64,
    /// Width of a head.
    pub head_dim: u64,
    /// The feed-forward block of every layer.
    pub feed_forward: FeedForward,
    /// Whether the head is the embedding's own matrix.
    pub is_tied: bool,
    /// Whether queries and keys of each head pass a norm.
    pub has_qk_norm: bool,
    /// Numbers of a layer's biases.
    pub biases: u64,
}

impl DecoderShape {
    /// The shape of a decoder that can be trained here.
    pub fn of(config: &ModelConfig) -> Self {
        let Wiring { qkv_bias, output_bias, qk_norm } = Wiring::of(config);
        let number = |size: usize| size as u64;
        let shape = DecoderShape {
            vocabulary: number(config.vocab_size),
            hidden: number(config.hidden_size),
            layers: number(config.num_hidden_layers),
            heads: number(config.num_attention_heads),
            groups: number(config.num_key_value_heads),
            head_dim: number(config.head_dim),
            feed_forward: FeedForward::Dense { intermediate: number(config.intermediate_size) },
            is_tied: config.tie_word_embeddings,
            has_qk_norm: qk_norm,
            biases: 0,
        };
        let mlp = 2 * number(config.intermediate_size) + shape.hidden;
        shape.with_biases(qkv_bias, output_bias, if config.mlp_bias { mlp } else { 0 })
    }

    /// Reads the shape from a `config.json` of any family, mixtures of experts included, whether or not
    /// it can be trained here. What shapes no memory is not looked at.
    ///
    /// # Errors
    /// If the file cannot be read, or a size is missing or no whole number above 0.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(path).map_err(ModelError::io(path))?;
        let file: Map<String, Value> =
            serde_json::from_str(&text).map_err(ModelError::json(path))?;
        Self::from_keys(&Keys { path, file: &file })
    }

    fn from_keys(keys: &Keys<'_>) -> Result<Self, ModelError> {
        if let Some(key) = OTHER_EXPERTS.into_iter().find(|key| keys.value(key).is_some()) {
            let known = [EXPERTS, ACTIVE_EXPERTS, EXPERT_WIDTH].join(", ");
            return keys.refuse(
                key,
                format!(
                    "is of a mixture of experts that is not known; known are those with {known}"
                ),
            );
        }
        let family = keys.value("model_type").and_then(Value::as_str).unwrap_or("").to_owned();
        let number = |key: &str| match keys.size(key)? {
            0 => keys.refuse(key, "is 0; it must be at least 1".into()),
            size => Ok(size as u64),
        };
        let (hidden, heads) = (number("hidden_size")?, number("num_attention_heads")?);
        let head_dim = match keys.optional_size("head_dim")? {
            Some(width) => width as u64,
            None if family.starts_with("qwen3") => 128,
            None => hidden / heads,
        };
        let feed_forward = match keys.optional_size(EXPERTS)? {
            None => FeedForward::Dense { intermediate: number("intermediate_size")? },
            Some(_) => FeedForward::Experts {
                count: number(EXPERTS)?,
                active: number(ACTIVE_EXPERTS)?,
                intermediate: number(EXPERT_WIDTH)?,
            },
        };
        let groups = keys.optional_size("num_key_value_heads")?.map_or(heads, |size| size as u64);
        let shape = DecoderShape {
            vocabulary: number("vocab_size")?,
            hidden,
            layers: number("num_hidden_layers")?,
            heads,
            groups,
            head_dim,
            feed_forward,
            is_tied: keys.flag("tie_word_embeddings")?,
            has_qk_norm: family.starts_with("qwen3"),
            biases: 0,
        };
        let is_qwen2 = family.starts_with("qwen2");
        let has_bias = !is_qwen2 && keys.flag("attention_bias")?;
        Ok(shape.with_biases(is_qwen2 || has_bias, has_bias, 0))
    }

    fn with_biases(self, qkv: bool, output: bool, feed_forward: u64) -> Self {
        let projections = if qkv { self.queries() + 2 * self.keys() } else { 0 };
        let output = if output { self.hidden } else { 0 };
        DecoderShape { biases: projections + output + feed_forward, ..self }
    }

    /// Width of all queries of a token.
    pub(super) fn queries(&self) -> u64 {
        self.heads * self.head_dim
    }

    /// Width of all keys of a token; its values are as wide.
    pub(super) fn keys(&self) -> u64 {
        self.groups * self.head_dim
    }

    /// Numbers of the embedding's matrix.
    pub(super) fn embedding(&self) -> u64 {
        self.vocabulary * self.hidden
    }

    /// Parameters of a head of its own.
    fn head(&self) -> u64 {
        if self.is_tied { 0 } else { self.embedding() }
    }

    /// `[input, output]` of each projection of a layer, a router aside.
    fn projections(&self) -> Vec<[u64; 2]> {
        let (hidden, queries, keys) = (self.hidden, self.queries(), self.keys());
        let (blocks, inner) = match self.feed_forward {
            FeedForward::Dense { intermediate } => (1, intermediate),
            FeedForward::Experts { count, intermediate, .. } => (count, intermediate),
        };
        let mut projections =
            vec![[hidden, queries], [hidden, keys], [hidden, keys], [queries, hidden]];
        for _ in 0..blocks {
            projections.extend([[hidden, inner], [hidden, inner], [inner, hidden]]);
        }
        projections
    }

    /// Parameters of one layer.
    pub fn layer_parameters(&self) -> u64 {
        let matrices: u64 = self.projections().iter().map(|[input, output]| input * output).sum();
        let router = match self.feed_forward {
            FeedForward::Dense { .. } => 0,
            FeedForward::Experts { count, .. } => count * self.hidden,
        };
        let qk_norm = if self.has_qk_norm { 2 * self.head_dim } else { 0 };
        matrices + router + qk_norm + self.biases + 2 * self.hidden
    }

    /// Parameters of the whole decoder.
    pub fn parameters(&self) -> u64 {
        self.embedding() + self.layers * self.layer_parameters() + self.hidden + self.head()
    }

    /// Parameters of a critic: the decoder with one output in place of a head of its own.
    pub(super) fn critic_parameters(&self) -> u64 {
        self.parameters() - self.head() + self.hidden
    }

    /// Parameters of adapters of a rank on every projection of every layer: `rank (input + output)` each.
    pub(super) fn adapter_parameters(&self, rank: u64) -> u64 {
        let widths: u64 = self.projections().iter().map(|[input, output]| input + output).sum();
        self.layers * rank * widths
    }
}

#[cfg(test)]
mod tests;
