//! Operations that a decoder repeats in every layer, each as one pass over memory.
//!
//! On Burn's `flex` device in single precision they run as vectorised loops with gradients written by
//! hand. On every other device and precision they are composed of Burn's own operations: the function of
//! the same name in [`plain`], which is also what the tests compare with. Each can be dropped once Burn
//! has it.

mod adamw;
mod attend;
mod flex;
mod head;
mod lanes;
mod packed;
pub mod plain;
mod rms_norm;
mod rotate;
mod softmax;
mod swiglu;
mod weigh;

pub use self::adamw::AdamW;
pub use self::attend::attend;
pub use self::head::{HeadReads, HeadScores, head_scores, logits_held};
pub use self::packed::PackedMatrix;
pub use self::rms_norm::rms_norm;
pub use self::rotate::rotate;
pub use self::softmax::masked_softmax;
pub use self::swiglu::swiglu;
pub use self::weigh::softmax_numerators;
