//! Why no reply could be generated.

use crate::codec::CodecError;

/// Why no reply could be generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A fresh prompt is too long.
    #[error(
        "slot {slot}: the prompt has {tokens} tokens, max_prompt_tokens is {limit}; shorten the \
         history or the observations, or raise max_prompt_tokens"
    )]
    PromptTooLong {
        /// The conversation.
        slot: usize,
        /// The prompt's length.
        tokens: usize,
        /// The configured limit.
        limit: usize,
    },
    /// The stream could outgrow the model's positions.
    #[error(
        "slot {slot}: {stream} tokens of stream, {context} of context and a reply of up to {reply} \
         exceed max_position_embeddings, {limit}; lower max_turns, max_prompt_tokens or max_new_tokens"
    )]
    ContextFull {
        /// The conversation.
        slot: usize,
        /// Tokens already in the stream.
        stream: usize,
        /// Tokens to be appended before the reply.
        context: usize,
        /// `max_new_tokens`.
        reply: usize,
        /// The model's limit.
        limit: usize,
    },
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
