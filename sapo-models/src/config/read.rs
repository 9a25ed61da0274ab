//! Reading `config.json`, with errors that name the file and the key.

use std::path::Path;

use serde_json::{Map, Value};

use super::{Family, ModelConfig};
use crate::error::ModelError;

/// The keys of one file, read with errors that name both.
pub(crate) struct Keys<'a> {
    /// Where they stand, for messages.
    pub(crate) path: &'a Path,
    /// The file's top level.
    pub(crate) file: &'a Map<String, Value>,
}

impl Keys<'_> {
    pub(crate) fn config(&self) -> Result<ModelConfig, ModelError> {
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
        config.check_at(self.path)?;
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
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.file.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn size(&self, key: &str) -> Result<usize, ModelError> {
        match self.optional_size(key)? {
            Some(size) => Ok(size),
            None => self.refuse(key, "is missing".into()),
        }
    }

    pub(crate) fn optional_size(&self, key: &str) -> Result<Option<usize>, ModelError> {
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
    pub(crate) fn flag(&self, key: &str) -> Result<bool, ModelError> {
        let Some(value) = self.value(key) else { return Ok(false) };
        match value.as_bool() {
            Some(flag) => Ok(flag),
            None => self.refuse(key, format!("is {value}, neither true nor false")),
        }
    }

    pub(crate) fn refuse<T>(&self, key: &str, problem: String) -> Result<T, ModelError> {
        Err(ModelError::Config { path: self.path.to_owned(), key: key.into(), problem })
    }
}
