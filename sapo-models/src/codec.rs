//! [`Codec`]: how chat messages become token ids and token ids become text.

use std::error::Error;

use sapo_core::actor::Finish;
use sapo_core::env::Message;

/// What a codec refuses: a template that fails, a text it cannot encode.
pub type CodecError = Box<dyn Error + Send + Sync>;

/// Chat messages in, token ids out, and back.
///
/// A stream of tokens only grows: what has been given to the model is never encoded again.
pub trait Codec {
    /// The tokens of a new stream, from its first token to the generation prompt; at least one.
    ///
    /// # Errors
    /// If the messages cannot be shown in this format.
    fn fresh(&self, messages: &[Message]) -> Result<Vec<u32>, CodecError>;

    /// The tokens that come between a reply and the next one in the same stream, generation prompt
    /// included; at least one.
    ///
    /// A reply that ended by [`Finish::Length`] has no end-of-turn token: it comes first here, where it
    /// is context and is never trained on.
    ///
    /// # Errors
    /// As [`fresh`](Self::fresh).
    fn follow(&self, last: Finish, messages: &[Message]) -> Result<Vec<u32>, CodecError>;

    /// Text of sampled tokens, without stop and special tokens.
    fn decode(&self, tokens: &[u32]) -> String;

    /// The tokens that end a reply.
    fn stop_ids(&self) -> &[u32];
}
