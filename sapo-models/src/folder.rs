//! A model's folder: `config.json`, weights, and `sapo.json` with what this project adds.

use std::path::Path;

use burn::prelude::*;
use sapo_core::value::{Readout, ValueTokens};
use serde::{Deserialize, Serialize};

use crate::config::ModelConfig;
use crate::decoder::Decoder;
use crate::error::ModelError;
use crate::export::{StoredType, write_json, write_weights};
use crate::weights::Weights;

const CONFIG_FILE: &str = "config.json";
const METADATA_FILE: &str = "sapo.json";

/// Shards are at most so large, as in transformers.
const SHARD_BYTES: usize = 5_000_000_000;

/// The version of `sapo.json` that is written, and the only one that is read.
const VERSION: u32 = 1;

/// What a folder says about the value that its model carries.
///
/// The ids stand here and not in the tokenizer, which would renumber them to close gaps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueMetadata {
    version: u32,
    /// The reserved tokens.
    pub value_tokens: ValueTokens,
    /// How their logits are read.
    pub readout: Readout,
}

impl ValueMetadata {
    /// Metadata of the current version.
    pub fn new(value_tokens: ValueTokens, readout: Readout) -> Self {
        ValueMetadata { version: VERSION, value_tokens, readout }
    }
}

/// A model as a folder holds it.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its shape.
    pub config: ModelConfig,
    /// Its weights.
    pub decoder: Decoder,
    /// Its value tokens, if it was saved with any.
    pub value: Option<ValueMetadata>,
}

/// Loads a model in the layout of Hugging Face, in f32.
///
/// # Errors
/// If a file is missing, broken or of an unknown kind, or a tensor is missing, misshapen or one too
/// many. The message names the file and the tensor or key.
pub fn load_model(dir: &Path, device: &Device) -> Result<Model, ModelError> {
    let config = ModelConfig::read(&dir.join(CONFIG_FILE))?;
    let mut weights = Weights::open(dir)?;
    let decoder = Decoder::build(&mut weights, &config, device)?;
    weights.expect_all_taken()?;
    let value = read_metadata(&dir.join(METADATA_FILE), &config)?;
    Ok(Model { config, decoder, value })
}

/// Saves a model in the layout of Hugging Face; the folder is made if it is not there.
///
/// Each file is written whole or not at all. For the folder as a whole to be so, save into a new one.
///
/// # Errors
/// If a file cannot be written, or the device cannot hand over a tensor.
pub fn save_model(dir: &Path, model: &Model, stored: StoredType) -> Result<(), ModelError> {
    save_model_in_shards(dir, model, stored, SHARD_BYTES)
}

/// [`save_model`] with weights files of at most `shard_bytes` each, or of a single tensor.
///
/// # Errors
/// As [`save_model`].
pub fn save_model_in_shards(
    dir: &Path,
    model: &Model,
    stored: StoredType,
    shard_bytes: usize,
) -> Result<(), ModelError> {
    std::fs::create_dir_all(dir).map_err(ModelError::io(dir))?;
    write_weights(dir, &model.decoder, stored, shard_bytes)?;
    write_json(&dir.join(CONFIG_FILE), &model.config.to_json(stored.name()))?;
    if let Some(value) = &model.value {
        let path = dir.join(METADATA_FILE);
        let value = serde_json::to_value(value).map_err(ModelError::json(&path))?;
        write_json(&path, &value)?;
    }
    Ok(())
}

fn read_metadata(path: &Path, config: &ModelConfig) -> Result<Option<ValueMetadata>, ModelError> {
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path).map_err(ModelError::io(path))?;
    let metadata: ValueMetadata = serde_json::from_str(&text).map_err(ModelError::json(path))?;
    if metadata.version != VERSION {
        return Err(ModelError::Config {
            path: path.to_owned(),
            key: "version".into(),
            problem: format!("is {}; this program reads version {VERSION}", metadata.version),
        });
    }
    let tokens = metadata.value_tokens;
    ValueTokens::new(tokens.plus(), tokens.minus(), config.vocab_size)?;
    Ok(Some(metadata))
}
