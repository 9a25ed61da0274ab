//! `config.json` of Hugging Face models: the part of it that shapes a decoder.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::ModelError;

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
    const ALL: [Family; 3] = [Family::Qwen2, Family::Qwen3, Family::Llama];

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
        Keys { path: path.to_owned(), file: &file }.config()
    }

    /// Reads the text of a `config.json`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let path = Path::new("config.json");
        let file = serde_json::from_str(text).map_err(ModelError::json(path))?;
        Keys { path: path.to_owned(), file: &file }.config()
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

/// The keys of one file, read with errors that name both.
struct Keys<'a> {
    path: PathBuf,
    file: &'a Map<String, Value>,
}

impl Keys<'_> {
    fn config(&self) -> Result<ModelConfig, ModelError> {
        let family = self.family()?;
        self.refuse_what_is_not_implemented()?;
        let hidden_size = self.size("hidden_size")?;
        let heads = self.size("num_attention_heads")?;
        let head_dim = match self.optional_size("head_dim")? {
            Some(head_dim) => head_dim,
            None => family.default_head_dim(hidden_size, heads.max(1)),
        };
        let config = ModelConfig {
            family,
            vocab_size: self.size("vocab_size")?,
            hidden_size,
            intermediate_size: self.size("intermediate_size")?,
            num_hidden_layers: self.size("num_hidden_layers")?,
            num_attention_heads: heads,
            num_key_value_heads: self.optional_size("num_key_value_heads")?.unwrap_or(heads),
            head_dim,
            max_position_embeddings: self.size("max_position_embeddings")?,
            rms_norm_eps: self.optional_number("rms_norm_eps")?.unwrap_or(1e-6),
            rope_theta: self.rope_theta()?,
            tie_word_embeddings: self.flag("tie_word_embeddings")?,
            attention_bias: family != Family::Qwen2 && self.flag("attention_bias")?,
            mlp_bias: family == Family::Llama && self.flag("mlp_bias")?,
            initializer_range: self.optional_number("initializer_range")?.unwrap_or(0.02),
            file: self.file.clone(),
        };
        config.check_at(&self.path)?;
        Ok(config)
    }

    fn family(&self) -> Result<Family, ModelError> {
        let known = Family::ALL.map(Family::model_type).join(", ");
        let Some(name) = self.value("model_type") else {
            return self.refuse("model_type", format!("is missing; known are {known}"));
        };
        match Family::ALL.into_iter().find(|family| name.as_str() == Some(family.model_type())) {
            Some(family) => Ok(family),
            None => self.refuse("model_type", format!("is {name}; known are {known}")),
        }
    }

    fn refuse_what_is_not_implemented(&self) -> Result<(), ModelError> {
        if let Some(activation) = self.value("hidden_act").filter(|act| *act != "silu") {
            return self
                .refuse("hidden_act", format!("is {activation}; only \"silu\" is implemented"));
        }
        let window = self.value("sliding_window");
        if self.flag("use_sliding_window")? && window.is_some() {
            return self.refuse(
                "use_sliding_window",
                "is true; only full attention is implemented".into(),
            );
        }
        let layer_types = self.value("layer_types").and_then(Value::as_array);
        let odd_layer =
            layer_types.and_then(|types| types.iter().find(|kind| *kind != "full_attention"));
        if let Some(kind) = odd_layer {
            return self.refuse(
                "layer_types",
                format!("has {kind}; only \"full_attention\" is implemented"),
            );
        }
        if let Some(factor) =
            self.value("partial_rotary_factor").filter(|factor| factor.as_f64() != Some(1.0))
        {
            return self
                .refuse("partial_rotary_factor", format!("is {factor}; only 1 is implemented"));
        }
        self.refuse_scaled_rope("rope_scaling")?;
        self.refuse_scaled_rope("rope_parameters")
    }

    /// `rope_scaling` (older files, `type` or `rope_type`) and `rope_parameters` (newer ones).
    fn refuse_scaled_rope(&self, key: &str) -> Result<(), ModelError> {
        let Some(scaling) = self.value(key) else { return Ok(()) };
        let kind = scaling.get("rope_type").or_else(|| scaling.get("type"));
        match kind.filter(|kind| *kind != "default") {
            Some(kind) => self.refuse(
                &format!("{key}.rope_type"),
                format!("is {kind}; only \"default\" is implemented"),
            ),
            None => Ok(()),
        }
    }

    fn rope_theta(&self) -> Result<f64, ModelError> {
        let inner =
            self.value("rope_parameters").and_then(|parameters| parameters.get("rope_theta"));
        match inner.or_else(|| self.value("rope_theta")).map(Value::as_f64) {
            Some(Some(theta)) => Ok(theta),
            Some(None) => self.refuse("rope_theta", "is not a number".into()),
            None => self.refuse(
                "rope_theta",
                "is missing, at the top level and in `rope_parameters`; no default would be safe"
                    .into(),
            ),
        }
    }

    /// A key's value; null counts as absent.
    fn value(&self, key: &str) -> Option<&Value> {
        self.file.get(key).filter(|value| !value.is_null())
    }

    fn size(&self, key: &str) -> Result<usize, ModelError> {
        match self.optional_size(key)? {
            Some(size) => Ok(size),
            None => self.refuse(key, "is missing".into()),
        }
    }

    fn optional_size(&self, key: &str) -> Result<Option<usize>, ModelError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.as_u64() {
            Some(size) => Ok(Some(size as usize)),
            None => self.refuse(key, format!("is {value}, not a whole number")),
        }
    }

    fn optional_number(&self, key: &str) -> Result<Option<f64>, ModelError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.as_f64() {
            Some(number) => Ok(Some(number)),
            None => self.refuse(key, format!("is {value}, not a number")),
        }
    }

    /// True or false; absent is false, as transformers has it for all three families.
    fn flag(&self, key: &str) -> Result<bool, ModelError> {
        let Some(value) = self.value(key) else { return Ok(false) };
        match value.as_bool() {
            Some(flag) => Ok(flag),
            None => self.refuse(key, format!("is {value}, neither true nor false")),
        }
    }

    fn refuse<T>(&self, key: &str, problem: String) -> Result<T, ModelError> {
        Err(ModelError::Config { path: self.path.clone(), key: key.into(), problem })
    }
}

#[cfg(test)]
mod tests;
