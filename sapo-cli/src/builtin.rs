//! The model that the default run starts from: a small Qwen2 that has imitated the expert for a while.
//!
//! `sapo train configs/warm-start.toml` makes it again, as the folder `model` of its run.

use std::path::Path;

use anyhow::{Context, Result};

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

/// Writes the model into a folder.
pub(crate) fn unpack(folder: &Path) -> Result<()> {
    for (name, bytes) in FILES {
        let path = folder.join(name);
        std::fs::write(&path, bytes)
            .with_context(|| format!("{}: cannot write", path.display()))?;
    }
    Ok(())
}
