//! Language models for [`sapo_core`]: Qwen2, Qwen3 and Llama decoders on Burn, their weights, and text
//! generation that keeps what training needs.

mod codec;

pub use codec::{Codec, CodecError};
