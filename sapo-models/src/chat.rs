//! A model's own chat template, rendered as the `transformers` library renders it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use sapo_core::env::Message;
use serde::Deserialize;

use crate::tokenizer::TokenizerError;

mod python;
#[cfg(test)]
mod tests;

/// The file of a template that stands alone.
pub const TEMPLATE_FILE: &str = "chat_template.jinja";
/// The file that names special tokens, and in older model folders holds the template.
pub const TOKENIZER_CONFIG_FILE: &str = "tokenizer_config.json";

const NAME: &str = "chat template";

/// What can be wrong with a chat template.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// No template in the model folder.
    #[error(
        "{folder} has no chat template: neither {TEMPLATE_FILE} nor a `chat_template` in \
         {TOKENIZER_CONFIG_FILE}; take an instruction-tuned model, or write {TEMPLATE_FILE}"
    )]
    NoTemplate {
        /// The model folder.
        folder: PathBuf,
    },
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file in question.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{path}: {source}")]
    Write {
        /// The file in question.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not the JSON it should be.
    #[error("{path}: {source}; fetch the file again")]
    Json {
        /// The file in question.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The template has a syntax error, or refuses the messages.
    #[error("the chat template failed: {0}")]
    Template(#[from] minijinja::Error),
    /// The template leaves out the assistant's words.
    #[error("the chat template does not show the assistant's messages; it cannot be continued")]
    NoReply,
    /// Nothing ends a reply.
    #[error(
        "no token ends a reply: the chat template closes the assistant's messages with no special \
         token, and no eos_token_id is configured; set eos_token_id in generation_config.json"
    )]
    NoStop,
    /// The tokenizer failed.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// Whether a rendered conversation ends with the beginning of an assistant's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationPrompt {
    /// It does: the model speaks next.
    Add,
    /// It ends with the last message.
    Omit,
}

/// The special tokens that a template may name, as `tokenizer_config.json` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TemplateTokens {
    /// The token that begins a text.
    #[serde(deserialize_with = "token")]
    pub bos_token: Option<String>,
    /// The token that ends a text.
    #[serde(deserialize_with = "token")]
    pub eos_token: Option<String>,
    /// The token of what the vocabulary lacks.
    #[serde(deserialize_with = "token")]
    pub unk_token: Option<String>,
    /// The token of padding.
    #[serde(deserialize_with = "token")]
    pub pad_token: Option<String>,
}

/// A chat template: messages in, the text that the model expects out.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    source: String,
    environment: Environment<'static>,
    tokens: TemplateTokens,
}

impl ChatTemplate {
    /// Compiles `source`. A template that prints the date prints `now`, for as long as it lives: an
    /// episode must not change its prompt at midnight.
    ///
    /// # Errors
    /// If the template has a syntax error.
    pub fn new(source: &str, tokens: TemplateTokens, now: DateTime) -> Result<Self, ChatError> {
        let mut environment = python::environment(now)?;
        environment.add_template_owned(NAME, python::without_generation_tags(source))?;
        Ok(ChatTemplate { source: source.into(), environment, tokens })
    }

    /// Reads the template of a model folder: `chat_template.jinja`, else `chat_template` in
    /// `tokenizer_config.json`, which is a text or a list of named texts.
    ///
    /// # Errors
    /// If a file is broken or cannot be read, or if the folder has no template.
    pub fn from_folder(folder: &Path, now: DateTime) -> Result<Self, ChatError> {
        let config = tokenizer_config(&folder.join(TOKENIZER_CONFIG_FILE))?;
        let source = match read_optional(&folder.join(TEMPLATE_FILE))? {
            Some(source) => Some(source),
            None => config.chat_template.and_then(WrittenTemplate::default_text),
        };
        let source = source.ok_or_else(|| ChatError::NoTemplate { folder: folder.into() })?;
        Self::new(&source, config.tokens, now)
    }

    /// Sets a variable of the template, such as `enable_thinking`.
    pub fn with_option(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.environment.add_global(name.to_owned(), value.into());
        self
    }

    /// The text of the template.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The special tokens that the template may name.
    pub fn tokens(&self) -> &TemplateTokens {
        &self.tokens
    }

    /// The text of a conversation.
    ///
    /// # Errors
    /// If the template refuses the messages.
    pub fn render(
        &self,
        messages: &[Message],
        prompt: GenerationPrompt,
    ) -> Result<String, ChatError> {
        let TemplateTokens { bos_token, eos_token, unk_token, pad_token } = &self.tokens;
        let named = [
            ("bos_token", bos_token),
            ("eos_token", eos_token),
            ("unk_token", unk_token),
            ("pad_token", pad_token),
        ];
        let tokens = named
            .into_iter()
            .filter_map(|(name, token)| Some((name, Value::from(token.as_deref()?))));
        let fixed = [
            ("messages", Value::from(Serde(messages))),
            ("add_generation_prompt", Value::from(prompt == GenerationPrompt::Add)),
            ("tools", Value::from(())),
            ("documents", Value::from(())),
        ];
        let context = Value::from_pairs(fixed.into_iter().chain(tokens));
        Ok(self.environment.get_template(NAME)?.render(context)?)
    }

    /// The text that comes after an assistant's reply when `messages` follow it.
    ///
    /// Only what comes after is taken from the template, so it does not matter whether it begins with
    /// a system prompt or changes what earlier replies said.
    ///
    /// # Errors
    /// As [`render`](Self::render), and if the template leaves the assistant's words out.
    pub fn render_after_reply(
        &self,
        messages: &[Message],
        prompt: GenerationPrompt,
    ) -> Result<String, ChatError> {
        const REPLY: &str = "SAPO-REPLY-7f3a";
        let mut conversation = vec![Message::user("-"), assistant(REPLY)];
        conversation.extend_from_slice(messages);
        let text = self.render(&conversation, prompt)?;
        let (_, after) = text.split_once(REPLY).ok_or(ChatError::NoReply)?;
        Ok(after.to_owned())
    }
}

fn assistant(content: &str) -> Message {
    Message { role: sapo_core::env::Role::Assistant, content: content.into() }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenizerConfig {
    chat_template: Option<WrittenTemplate>,
    #[serde(flatten)]
    tokens: TemplateTokens,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenTemplate {
    One(String),
    Named(Vec<NamedTemplate>),
}

#[derive(Deserialize)]
struct NamedTemplate {
    name: String,
    template: String,
}

impl WrittenTemplate {
    fn default_text(self) -> Option<String> {
        match self {
            WrittenTemplate::One(text) => Some(text),
            WrittenTemplate::Named(named) => {
                let default = named.into_iter().find(|named| named.name == "default");
                default.map(|named| named.template)
            }
        }
    }
}

/// A special token is written as its text or as an object that holds it.
fn token<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Object { content: String },
    }
    let written = Option::<Written>::deserialize(deserializer)?;
    Ok(written.map(|written| match written {
        Written::Text(text) => text,
        Written::Object { content } => content,
    }))
}

fn tokenizer_config(path: &Path) -> Result<TokenizerConfig, ChatError> {
    let Some(text) = read_optional(path)? else { return Ok(TokenizerConfig::default()) };
    serde_json::from_str(&text).map_err(|source| ChatError::Json { path: path.into(), source })
}

/// The content of a file that need not be there.
pub(crate) fn read_optional(path: &Path) -> Result<Option<String>, ChatError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ChatError::Read { path: path.into(), source }),
    }
}
