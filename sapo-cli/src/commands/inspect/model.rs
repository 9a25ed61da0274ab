//! A model folder.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sapo_models::{ModelConfig, Tokenizer, ValueMetadata};
use serde::Serialize;

use super::MODEL_FILE;
use super::weights::{WeightFiles, read_headers};
use crate::output::{grouped, key_values};

const VALUE_FILE: &str = "sapo.json";
const TOKENIZER_FILE: &str = "tokenizer.json";

/// What a model folder holds. The weights' headers are read, not their numbers.
#[derive(Serialize)]
pub(super) struct Report {
    kind: &'static str,
    folder: String,
    family: &'static str,
    layers: usize,
    hidden: usize,
    intermediate: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    positions: usize,
    tied: bool,
    vocabulary: usize,
    parameters: u64,
    bytes: u64,
    weight_files: usize,
    dtype: String,
    /// How many ids the tokenizer uses, if the folder has one.
    tokenizer: Option<usize>,
    /// Rows of the logits above the tokenizer's highest id.
    spare_rows: Option<usize>,
    value: Option<ValueMetadata>,
}

/// Reads a model folder.
pub(super) fn read(folder: &Path) -> Result<Report> {
    let config = ModelConfig::read(&folder.join(MODEL_FILE))?;
    let WeightFiles { files, bytes, parameters, types } = read_headers(folder)?;
    let tokenizer = tokenizer_size(folder)?;
    Ok(Report {
        kind: "model",
        folder: folder.display().to_string(),
        family: config.family.model_type(),
        layers: config.num_hidden_layers,
        hidden: config.hidden_size,
        intermediate: config.intermediate_size,
        heads: config.num_attention_heads,
        kv_heads: config.num_key_value_heads,
        head_dim: config.head_dim,
        positions: config.max_position_embeddings,
        tied: config.tie_word_embeddings,
        vocabulary: config.vocab_size,
        parameters,
        bytes,
        weight_files: files,
        dtype: types.into_iter().collect::<Vec<_>>().join(", "),
        tokenizer,
        spare_rows: tokenizer.map(|size| config.vocab_size.saturating_sub(size)),
        value: value(folder)?,
    })
}

fn tokenizer_size(folder: &Path) -> Result<Option<usize>> {
    if !folder.join(TOKENIZER_FILE).exists() {
        return Ok(None);
    }
    Ok(Some(Tokenizer::from_folder(folder)?.highest_id() as usize + 1))
}

fn value(folder: &Path) -> Result<Option<ValueMetadata>> {
    let path = folder.join(VALUE_FILE);
    if !path.exists() {
        return Ok(None);
    }
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let value = serde_json::from_str(&text);
    Ok(Some(value.with_context(|| format!("{}: not what this program writes", path.display()))?))
}

/// The report in words.
pub(super) fn describe(report: &Report) -> String {
    let Report { layers, hidden, intermediate, heads, kv_heads, head_dim, .. } = report;
    let count = |number: usize| grouped(number as u64);
    let weights = match report.weight_files {
        0 => "none in the folder".to_owned(),
        files => format!("{} in {files} file(s), {}", report.dtype, megabytes(report.bytes)),
    };
    let tokenizer =
        report.tokenizer.map_or("none in the folder".into(), |size| format!("{} ids", count(size)));
    let spare = report.spare_rows.map_or("unknown without a tokenizer".into(), count);
    let head = if report.tied { "tied to the embedding" } else { "of its own" };
    key_values([
        ("model", report.folder.clone()),
        ("family", report.family.to_owned()),
        ("layers", format!("{layers} of width {hidden}, MLP {intermediate}")),
        ("attention", format!("{heads} heads, {kv_heads} for keys and values, {head_dim} wide")),
        ("positions", count(report.positions)),
        ("vocabulary", format!("{} rows, the head {head}", count(report.vocabulary))),
        ("parameters", grouped(report.parameters)),
        ("weights", weights),
        ("tokenizer", tokenizer),
        ("spare rows", spare),
        ("value tokens", value_in_words(report.value.as_ref())),
    ])
}

fn value_in_words(value: Option<&ValueMetadata>) -> String {
    let Some(ValueMetadata { value_tokens, readout, .. }) = value else { return "none".to_owned() };
    let (plus, minus) = (value_tokens.plus(), value_tokens.minus());
    let kind = format!("{:?}", readout.kind).to_lowercase();
    format!("w+ {plus}, w- {minus}; {kind} readout, temperature {}", readout.temperature)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
