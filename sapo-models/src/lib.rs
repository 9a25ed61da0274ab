//! Language models for [`sapo_core`]: Qwen2, Qwen3 and Llama decoders on Burn, their weights, and text
//! generation that keeps what training needs.

mod attention;
mod cache;
pub mod chat;
mod chat_codec;
mod codec;
mod config;
mod decoder;
mod draft;
mod error;
mod export;
mod folder;
mod generate;
mod init;
mod llama;
pub mod memory;
mod mlp;
mod norm;
mod part;
mod play;
mod projection;
mod qwen2;
mod qwen3;
mod rope;
mod sample;
mod score;
pub mod small_chat;
mod source;
#[cfg(test)]
mod test_data;
#[cfg(test)]
mod test_models;
mod tokenizer;
mod value_rows;
mod weights;
mod wiring;
mod word_tokenizer;

pub use attention::Attention;
pub use cache::KvCache;
pub use chat::{ChatError, ChatTemplate, GenerationPrompt, TemplateTokens};
pub use chat_codec::ChatCodec;
pub use codec::{Codec, CodecError};
pub use config::{Family, ModelConfig};
pub use decoder::{Decoder, Embedding, Layer, Stack};
pub use error::ModelError;
pub use export::{NamedParameter, StoredType, named_parameters};
pub use folder::{Model, ValueMetadata, load_model, save_model, save_model_in_shards};
pub use generate::{GenerateError, Generator, GeneratorConfig};
pub use init::{ResidualInit, new_model};
pub use mlp::Mlp;
pub use norm::RmsNorm;
pub use rope::Rope;
pub use sample::{Drawn, NotFinite, Sampling};
pub use score::{StreamScores, place_right_padded, score_streams};
pub use small_chat::small_codec;
pub use tokenizer::{Specials, Tokenizer, TokenizerError};
pub use value_rows::{Reservation, ValueRows, append_rows, reserve_value_tokens, start_value_rows};
pub use word_tokenizer::WordTokenizerConfig;
