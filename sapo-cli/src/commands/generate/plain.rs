//! Texts as they are: no chat template.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sapo_core::actor::Finish;
use sapo_core::env::Message;
use sapo_models::{ChatCodec, Codec, CodecError, Specials, Tokenizer};
use serde_json::Value;

/// Files that may say which tokens end a text.
const CONFIG_FILES: [&str; 2] = ["generation_config.json", "config.json"];

/// A codec that only tokenises.
pub(super) struct PlainCodec {
    tokenizer: Tokenizer,
    stop_ids: Vec<u32>,
}

impl PlainCodec {
    /// The tokenizer of a model folder. What ends a message of its chat ends a text as well.
    pub(super) fn new(folder: &Path, chat: Option<&ChatCodec>) -> Result<Self> {
        if let Some(chat) = chat {
            let stop_ids = chat.stop_ids().to_vec();
            return Ok(PlainCodec { tokenizer: chat.tokenizer().clone(), stop_ids });
        }
        let tokenizer = Tokenizer::from_folder(folder)?;
        let mut stop_ids = Vec::new();
        for file in CONFIG_FILES {
            stop_ids.extend(end_ids(&folder.join(file))?);
        }
        Ok(PlainCodec { tokenizer, stop_ids })
    }
}

impl Codec for PlainCodec {
    fn fresh(&self, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        let text: String = messages.iter().map(|message| message.content.as_str()).collect();
        Ok(self.tokenizer.encode(&text)?)
    }

    fn follow(&self, _: Finish, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        self.fresh(messages)
    }

    fn decode(&self, tokens: &[u32]) -> String {
        self.tokenizer.decode(tokens, Specials::Skip).unwrap_or_default()
    }

    fn stop_ids(&self) -> &[u32] {
        &self.stop_ids
    }
}

/// `eos_token_id`: a number, a list, or nothing.
fn end_ids(path: &Path) -> Result<Vec<u32>> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(Vec::new()) };
    let file: Value =
        serde_json::from_str(&text).with_context(|| format!("{}: not JSON", path.display()))?;
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    Ok(match file.get("eos_token_id") {
        Some(Value::Array(ids)) => ids.iter().filter_map(id).collect(),
        value => value.and_then(id).into_iter().collect(),
    })
}
