//! Why no reply could be generated.

use crate::codec::CodecError;

/// Why no reply could be generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A prompt continues a stream that is not there.
    #[error(
        "slot {slot}: the prompt continues a stream, but none was begun; begin with a fresh prompt"
    )]
    NoStream {
        /// The conversation.
        slot: usize,
    },
    /// The same conversation twice in one call.
    #[error("slot {slot} is asked for two replies at once")]
    DuplicateSlot {
        /// The conversation.
        slot: usize,
    },
    /// The codec made no tokens of the messages.
    #[error("slot {slot}: the messages became no tokens; check the chat template")]
    EmptyContext {
        /// The conversation.
        slot: usize,
    },
    /// The codec made a token that the model has no row for.
    #[error(
        "slot {slot}: token {token} is outside the model's {vocabulary} rows; the tokenizer is another model's"
    )]
    TokenOutside {
        /// The conversation.
        slot: usize,
        /// The token.
        token: u32,
        /// Rows of the embedding.
        vocabulary: usize,
    },
    /// The codec refused the messages.
    #[error("slot {slot}: {source}")]
    Codec {
        /// The conversation.
        slot: usize,
        /// What it said.
        source: CodecError,
    },
    /// The model computed a NaN or an infinity.
    #[error(
        "slot {slot}: the model's logits are not finite; the weights have diverged, go back to a checkpoint"
    )]
    NotFinite {
        /// The conversation.
        slot: usize,
    },
    /// The device failed.
    #[error("the device failed while generating: {0}")]
    Device(String),
}
