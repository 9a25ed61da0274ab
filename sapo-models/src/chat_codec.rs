//! [`ChatCodec`]: a tokenizer and a chat template make the streams that a model sees.

use std::fs;
use std::path::Path;

use jiff::civil::DateTime;
use sapo_core::actor::Finish;
use sapo_core::env::Message;
use serde::Deserialize;

use crate::chat::{
    ChatError, ChatTemplate, GenerationPrompt, TEMPLATE_FILE, TOKENIZER_CONFIG_FILE, read_optional,
};
use crate::codec::{Codec, CodecError};
use crate::tokenizer::{Specials, Tokenizer};

#[cfg(test)]
mod tests;

const GENERATION_CONFIG_FILE: &str = "generation_config.json";
const CONFIG_FILE: &str = "config.json";

/// Files that other programs read beside `tokenizer.json`; a saved model keeps them.
const COMPANIONS: [&str; 7] = [
    TEMPLATE_FILE,
    TOKENIZER_CONFIG_FILE,
    GENERATION_CONFIG_FILE,
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
];

/// The codec of a chat model: its tokenizer, its template, and the tokens that end its replies.
#[derive(Clone, Debug)]
pub struct ChatCodec {
    tokenizer: Tokenizer,
    template: ChatTemplate,
    end_of_turn: Option<u32>,
    stop_ids: Vec<u32>,
    companions: Vec<Companion>,
}

/// A small text file of the model folder.
#[derive(Clone, Debug)]
struct Companion {
    name: String,
    text: String,
}

impl ChatCodec {
    /// Joins a tokenizer and a template. The token with which the template closes an assistant's
    /// message ends a reply, and so do `eos_ids`.
    ///
    /// # Errors
    /// If no token ends a reply, or if the template cannot show one.
    pub fn new(
        tokenizer: Tokenizer,
        template: ChatTemplate,
        eos_ids: &[u32],
    ) -> Result<Self, ChatError> {
        let end_of_turn = end_of_turn(&tokenizer, &template, eos_ids)?;
        let mut stop_ids: Vec<u32> = Vec::new();
        for id in end_of_turn.into_iter().chain(eos_ids.iter().copied()) {
            if !stop_ids.contains(&id) {
                stop_ids.push(id);
            }
        }
        if stop_ids.is_empty() {
            return Err(ChatError::NoStop);
        }
        Ok(ChatCodec { tokenizer, template, end_of_turn, stop_ids, companions: Vec::new() })
    }

    /// Reads the codec of a model folder. A template that prints the date prints `now`.
    ///
    /// # Errors
    /// If a file is broken or cannot be read, if the folder has no tokenizer or no template, or as
    /// [`new`](Self::new).
    pub fn from_folder(folder: &Path, now: DateTime) -> Result<Self, ChatError> {
        let tokenizer = Tokenizer::from_folder(folder)?;
        let template = ChatTemplate::from_folder(folder, now)?;
        let mut eos_ids = written_eos_ids(&folder.join(GENERATION_CONFIG_FILE))?;
        eos_ids.extend(written_eos_ids(&folder.join(CONFIG_FILE))?);
        let named = template.tokens().eos_token.as_deref();
        eos_ids.extend(named.and_then(|token| tokenizer.id(token).ok()));
        let mut codec = Self::new(tokenizer, template, &eos_ids)?;
        for name in COMPANIONS {
            if let Some(text) = read_optional(&folder.join(name))? {
                codec = codec.with_companion(name, text);
            }
        }
        Ok(codec)
    }

    /// Adds a file that [`save`](Self::save) writes beside `tokenizer.json`.
    pub(crate) fn with_companion(mut self, name: &str, text: impl Into<String>) -> Self {
        self.companions.push(Companion { name: name.into(), text: text.into() });
        self
    }

    /// Sets a variable of the template, such as `enable_thinking`.
    pub fn with_option(mut self, name: &str, value: impl Into<minijinja::Value>) -> Self {
        self.template = self.template.with_option(name, value);
        self
    }

    /// Writes all that this was read from into a model folder, byte for byte.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), ChatError> {
        self.tokenizer.save(folder)?;
        for Companion { name, text } in &self.companions {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|source| ChatError::Write { path, source })?;
        }
        Ok(())
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The template.
    pub fn template(&self) -> &ChatTemplate {
        &self.template
    }

    /// The tokens of a reply that says `text` and stops: what an expert gives a model to imitate.
    ///
    /// # Errors
    /// If the tokenizer fails on the text.
    pub fn reply_ids(&self, text: &str) -> Result<Vec<u32>, ChatError> {
        let mut tokens = self.tokenizer.encode(text)?;
        tokens.extend(self.stop_ids.first());
        Ok(tokens)
    }

    fn fresh_ids(&self, messages: &[Message]) -> Result<Vec<u32>, ChatError> {
        Ok(self.tokenizer.encode(&self.template.render(messages, GenerationPrompt::Add)?)?)
    }

    fn follow_ids(&self, last: Finish, messages: &[Message]) -> Result<Vec<u32>, ChatError> {
        let after = self.template.render_after_reply(messages, GenerationPrompt::Add)?;
        let mut tokens = self.tokenizer.encode(&after)?;
        if last == Finish::Stop {
            let closed = self.end_of_turn.and_then(|end| closing(&self.tokenizer, &tokens, &[end]));
            tokens.drain(..closed.map_or(0, |at| at + 1));
        }
        Ok(tokens)
    }
}

impl Codec for ChatCodec {
    fn fresh(&self, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        Ok(self.fresh_ids(messages)?)
    }

    fn follow(&self, last: Finish, messages: &[Message]) -> Result<Vec<u32>, CodecError> {
        Ok(self.follow_ids(last, messages)?)
    }

    fn decode(&self, tokens: &[u32]) -> String {
        let said: Vec<u32> =
            tokens.iter().copied().filter(|id| !self.stop_ids.contains(id)).collect();
        // A decoder can only fail on tokens it never made; to the world that is an empty reply.
        self.tokenizer.decode(&said, Specials::Skip).unwrap_or_default()
    }

    fn stop_ids(&self) -> &[u32] {
        &self.stop_ids
    }
}

/// The special token that closes an assistant's message, if the template writes one.
fn end_of_turn(
    tokenizer: &Tokenizer,
    template: &ChatTemplate,
    eos_ids: &[u32],
) -> Result<Option<u32>, ChatError> {
    let after = tokenizer.encode(&template.render_after_reply(&[], GenerationPrompt::Omit)?)?;
    let enders: Vec<u32> = tokenizer.special_ids().into_iter().chain(eos_ids.to_vec()).collect();
    Ok(closing(tokenizer, &after, &enders).map(|at| after[at]))
}

/// Where in `tokens` the first of `enders` is, if nothing but white space comes before it.
fn closing(tokenizer: &Tokenizer, tokens: &[u32], enders: &[u32]) -> Option<usize> {
    let at = tokens.iter().position(|id| enders.contains(id))?;
    let before = tokenizer.decode(&tokens[..at], Specials::Keep).ok()?;
    before.trim().is_empty().then_some(at)
}

/// `eos_token_id` of a configuration file: one id, a list, or nothing.
fn written_eos_ids(path: &Path) -> Result<Vec<u32>, ChatError> {
    #[derive(Deserialize)]
    struct Config {
        eos_token_id: Option<Ids>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Ids {
        One(u32),
        Many(Vec<u32>),
    }
    let Some(text) = read_optional(path)? else { return Ok(Vec::new()) };
    let config: Config = serde_json::from_str(&text)
        .map_err(|source| ChatError::Json { path: path.into(), source })?;
    Ok(match config.eos_token_id {
        None => Vec::new(),
        Some(Ids::One(id)) => vec![id],
        Some(Ids::Many(ids)) => ids,
    })
}
