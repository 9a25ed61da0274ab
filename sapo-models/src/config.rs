//! `config.json` of Hugging Face models: the part of it that shapes a decoder.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::error::ModelError;

mod read;

pub(crate) use self::read::Keys;

/// The families of decoders that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Qwen2 and Qwen2.5: bias on the query, key and value projections.
    Qwen2,
    /// Qwen3: a norm on queries and keys of each head, no bias by default.
    Qwen3,
    /// Llama and what is shaped like it (SmolLM2, TinyLlama): no bias by default.
    Llama,
}

impl Family {
    pub(crate) const ALL: [Family; 3] = [Family::Qwen2, Family::Qwen3, Family::Llama];

    /// The name as `model_type` has it.
    pub fn model_type(self) -> &'static str {
        match self {
            Family::Qwen2 => "qwen2",
            Family::Qwen3 => "qwen3",
            Family::Llama => "llama",
        }
    }

    /// The class that transformers loads.
    fn architecture(self) -> &'static str {
        match self {
            Family::Qwen2 => "Qwen2ForCausalLM",
            Family::Qwen3 => "Qwen3ForCausalLM",
            Family::Llama => "LlamaForCausalLM",
        }
    }

    /// transformers' head size where the file has none: Qwen3's does not follow from its width.
    fn default_head_dim(self, hidden_size: usize, heads: usize) -> usize {
        match self {
            Family::Qwen3 => 128,
            Family::Qwen2 | Family::Llama => hidden_size / heads,
        }
    }
}

/// The shape of a decoder, and every other key of the file it came from.
///
/// The fields have the names that `config.json` gives them.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The family, `model_type` in the file.
    pub family: Family,
    /// Rows of the embedding and of the logits.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside the feed-forward block.
    pub intermediate_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Number of query heads.
    pub num_attention_heads: usize,
    /// Number of key and value heads, a divisor of the query heads.
    pub num_key_value_heads: usize,
    /// Width of one head, even.
    pub head_dim: usize,
    /// The longest stream, in tokens.
    pub max_position_embeddings: usize,
    /// Added to the mean square inside every norm.
    pub rms_norm_eps: f64,
    /// The base of the rotary frequencies.
    pub rope_theta: f64,
    /// Whether the head is the embedding's own matrix.
    pub tie_word_embeddings: bool,
    /// Bias on the query, key, value and output projections (Llama, Qwen3).
    pub attention_bias: bool,
    /// Bias inside the feed-forward block (Llama).
    pub mlp_bias: bool,
    /// Standard deviation of new weights.
    pub initializer_range: f64,
    /// The file as it was read: keys that shape nothing here are kept for whoever reads it next.
    pub file: Map<String, Value>,
}

impl ModelConfig {
    /// A new model's shape, with the family's usual settings for all that is not asked for.
    ///
    /// Tied head, `head_dim = hidden_size / heads`, `rms_norm_eps` 1e-6, `rope_theta` 10,000, 2,048
    /// positions, no optional bias.
    pub fn new(
        family: Family,
        vocab_size: usize,
        hidden_size: usize,
        intermediate_size: usize,
        num_hidden_layers: usize,
        [num_attention_heads, num_key_value_heads]: [usize; 2],
    ) -> Self {
        ModelConfig {
            family,
            vocab_size,
            hidden_size,
            intermediate_size,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads,
            head_dim: hidden_size / num_attention_heads.max(1),
            max_position_embeddings: 2048,
            rms_norm_eps: 1e-6,
            rope_theta: 10_000.0,
            tie_word_embeddings: true,
            attention_bias: false,
            mlp_bias: false,
            initializer_range: 0.02,
            file: Map::new(),
        }
    }

    /// Reads `config.json`.
    ///
    /// # Errors
    /// If the file cannot be read, a needed key is missing, or a value asks for what is not implemented
    /// (another `model_type` or activation, scaled rotary positions, a sliding window).
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(path).map_err(ModelError::io(path))?;
        let file = serde_json::from_str(&text).map_err(ModelError::json(path))?;
        read::Keys { path, file: &file }.config()
    }

    /// Reads the text of a `config.json`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let path = Path::new("config.json");
        let file = serde_json::from_str(text).map_err(ModelError::json(path))?;
        read::Keys { path, file: &file }.config()
    }

    /// The `config.json` of this shape, for weights stored as `dtype` (`"float32"` or `"bfloat16"`).
    ///
    /// Keys of the file it was read from are kept; both forms of the rotary settings are written for a
    /// new model, so that older and newer transformers load it.
    pub fn to_json(&self, dtype: &str) -> Value {
        let mut file = self.file.clone();
        file.insert("architectures".into(), json!([self.family.architecture()]));
        file.insert("model_type".into(), json!(self.family.model_type()));
        file.insert("vocab_size".into(), json!(self.vocab_size));
        file.insert("hidden_size".into(), json!(self.hidden_size));
        file.insert("intermediate_size".into(), json!(self.intermediate_size));
        file.insert("num_hidden_layers".into(), json!(self.num_hidden_layers));
        file.insert("num_attention_heads".into(), json!(self.num_attention_heads));
        file.insert("num_key_value_heads".into(), json!(self.num_key_value_heads));
        file.insert("head_dim".into(), json!(self.head_dim));
        file.insert("max_position_embeddings".into(), json!(self.max_position_embeddings));
        file.insert("rms_norm_eps".into(), json!(self.rms_norm_eps));
        file.insert("tie_word_embeddings".into(), json!(self.tie_word_embeddings));
        file.insert("initializer_range".into(), json!(self.initializer_range));
        if self.family != Family::Qwen2 {
            file.insert("attention_bias".into(), json!(self.attention_bias));
        }
        if self.family == Family::Llama {
            file.insert("mlp_bias".into(), json!(self.mlp_bias));
        }
        file.entry("hidden_act").or_insert(json!("silu"));
        let dtype_key = if file.contains_key("dtype") { "dtype" } else { "torch_dtype" };
        file.insert(dtype_key.into(), json!(dtype));
        self.write_rope(&mut file);
        Value::Object(file)
    }

    fn write_rope(&self, file: &mut Map<String, Value>) {
        let is_new = self.file.is_empty();
        if is_new || file.contains_key("rope_parameters") {
            let parameters = json!({"rope_type": "default", "rope_theta": self.rope_theta});
            file.insert("rope_parameters".into(), parameters);
        }
        if is_new || file.contains_key("rope_theta") {
            file.insert("rope_theta".into(), json!(self.rope_theta));
        }
    }

    /// Checks that the numbers fit each other.
    ///
    /// # Errors
    /// Names the key that does not fit.
    pub fn check(&self) -> Result<(), ModelError> {
        self.check_at(Path::new("config.json"))
    }

    fn check_at(&self, path: &Path) -> Result<(), ModelError> {
        let refuse = |key: &str, problem: String| {
            Err(ModelError::Config { path: path.to_owned(), key: key.into(), problem })
        };
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("intermediate_size", self.intermediate_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("head_dim", self.head_dim),
            ("max_position_embeddings", self.max_position_embeddings),
        ];
        if let Some((key, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return refuse(key, "is 0; it must be at least 1".into());
        }
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            let (heads, groups) = (self.num_attention_heads, self.num_key_value_heads);
            return refuse(
                "num_key_value_heads",
                format!("is {groups}, which does not divide num_attention_heads, {heads}"),
            );
        }
        if self.head_dim % 2 == 1 {
            return refuse("head_dim", format!("is {}; it must be even", self.head_dim));
        }
        if self.rms_norm_eps.is_nan() || self.rms_norm_eps <= 0.0 {
            return refuse("rms_norm_eps", format!("is {}; it must be above 0", self.rms_norm_eps));
        }
        if self.rope_theta.is_nan() || self.rope_theta <= 0.0 {
            return refuse("rope_theta", format!("is {}; it must be above 0", self.rope_theta));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
