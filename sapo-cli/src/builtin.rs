//! The model that the default run starts from: a small Qwen2 that has imitated the expert for a while.
//!
//! `sapo train configs/warm-start.toml` makes it again, as the folder `model` of its run.

use std::path::Path;

use anyhow::{Context, Result};
use sapo_models::ModelConfig;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_bytes!(concat!("../assets/warm-start/", $name)).as_slice())),*]
    };
}

const FILES: [(&str, &[u8]); 6] = files![
    "config.json",
    "model.safetensors",
    "sapo.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
];

/// The shape of the model.
pub(crate) fn model_config() -> Result<ModelConfig> {
    let text = FILES.iter().find(|(name, _)| *name == "config.json").map_or(&[][..], |file| file.1);
    Ok(ModelConfig::parse(&String::from_utf8_lossy(text))?)
}

/// Writes the model into a folder.
pub(crate) fn unpack(folder: &Path) -> Result<()> {
    for (name, bytes) in FILES {
        let path = folder.join(name);
        std::fs::write(&path, bytes)
            .with_context(|| format!("{}: cannot write", path.display()))?;
    }
    Ok(())
}
