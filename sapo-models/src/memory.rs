//! How much memory training takes: arithmetic over a model's shape, without a tensor.
//!
//! ```text
//! resident = weights + masters + optimizer + reference + critic
//! rollout  = KV cache + logits of one token a slot + packed weights (flex)
//! update   = the largest of   start of the backward pass:  gradients so far + activations + logits
//!                             its end:                     all gradients + those of the embedding
//!                             the optimizer's step:        gradients + weights before and after
//! peak     = (resident + max(rollout, update)) (1 + reserve)
//! ```
//! Rollout and update do not overlap. What a layer keeps for the backward pass is in `activations`, as
//! Burn's autodiff on the flex device keeps it; a test of the benchmarks measures the same peaks.

mod activations;
mod cluster;
mod estimate;
mod shape;
mod workload;

pub use self::estimate::{Estimate, Update};
pub use self::shape::{DecoderShape, FeedForward};
pub use self::workload::{Kernels, Method, Precision, Workload};
