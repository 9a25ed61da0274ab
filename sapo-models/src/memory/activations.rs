//! What a forward pass keeps for the backward pass, read off the model and Burn's autodiff. One place:
//! a change of [`Attention`](crate::Attention), [`Mlp`](crate::Mlp) or a kernel changes a function here.
//!
//! Counted are the tensors that some step of the graph holds: the inputs of a product with a tracked
//! other side, and what a kernel keeps. Views of one tensor count once.

use sapo_core::Checkpointing;
use sapo_kernels::logits_held;

use super::shape::{DecoderShape, FeedForward};
use super::workload::{Kernels, Precision, Workload};
use crate::attention::stretch;

/// Bytes of a number in single precision, whatever the precision of the model.
const SINGLE: u64 = 4;

/// Plain scoring of logits keeps the shifted logits and their exponentials, and its backward pass has a
/// gradient of each, all in single precision (`ActionSoftmax::score`).
const PLAIN_LOGITS: u64 = 4;

/// Bytes that one layer keeps of a micro-batch.
pub(super) fn layer(shape: &DecoderShape, workload: &Workload) -> u64 {
    let norms = 2 * norm(shape.hidden, workload);
    let attention = attention(shape, workload);
    workload.tokens() * (norms + attention + feed_forward(shape, workload))
        + scores(shape, workload)
}

/// A norm, a token: its input and its output, which a product keeps. Composed of Burn's operations also
/// the normalised input, and what was widened for it.
fn norm(width: u64, workload: &Workload) -> u64 {
    let bytes = workload.precision.bytes();
    match (workload.kernels, workload.precision) {
        (Kernels::Fused, _) => 2 * width * bytes,
        (Kernels::Plain, Precision::Single) => 3 * width * bytes,
        (Kernels::Plain, Precision::Mixed) => 2 * width * bytes + width * SINGLE,
    }
}

/// Attention, a token, scores aside: queries, keys and values that products keep, the context that the
/// last projection keeps, and the norms of queries and keys where there are some. Rotation keeps nothing
/// of its own: its factors are not trained.
fn attention(shape: &DecoderShape, workload: &Workload) -> u64 {
    let (queries, keys) = (shape.queries(), shape.keys());
    let products = (2 * queries + 2 * keys) * workload.precision.bytes();
    let outputs = (queries + keys) * workload.precision.bytes();
    match shape.has_qk_norm {
        // Their outputs are rotated, and not kept.
        true => products + norm(queries + keys, workload) - outputs,
        false => products,
    }
}

/// The feed-forward block, a token: gate, up and their product. Composed of Burn's operations also the
/// sigmoid and the gate's activation. Experts also have the router's scores and a copy of the input each.
fn feed_forward(shape: &DecoderShape, workload: &Workload) -> u64 {
    let widths = match workload.kernels {
        Kernels::Fused => 3,
        Kernels::Plain => 5,
    };
    let numbers = match shape.feed_forward {
        FeedForward::Dense { intermediate } => widths * intermediate,
        FeedForward::Experts { count, active, intermediate } => {
            active * (widths * intermediate + shape.hidden) + count
        }
    };
    numbers * workload.precision.bytes()
}

/// The weights of attention, over all stretches of queries. The kernel keeps one row of the mask for all
/// heads; Burn's softmax keeps its own output beside the one that the product keeps.
fn scores(shape: &DecoderShape, workload: &Workload) -> u64 {
    let (rows, time) = (workload.rows(), workload.stream_tokens);
    let stretch = stretch((rows * shape.heads) as usize, time as usize, time as usize, true) as u64;
    // Keys that are seen by a whole stretch: 1, 2, .. times its length.
    let seen: u64 = (0..time)
        .step_by(stretch.max(1) as usize)
        .map(|start| stretch.min(time - start) * (start + stretch).min(time))
        .sum();
    let copies = match workload.kernels {
        Kernels::Fused => shape.heads + 1,
        Kernels::Plain => 2 * shape.heads,
    };
    rows * seen * copies * workload.precision.bytes()
}

/// Bytes that are kept until the backward pass reaches the layers.
pub(super) fn kept(shape: &DecoderShape, workload: &Workload) -> u64 {
    match workload.checkpointing {
        Checkpointing::None => shape.layers * layer(shape, workload),
        Checkpointing::Layers => {
            shape.layers * workload.tokens() * shape.hidden * workload.precision.bytes()
        }
    }
}

/// Bytes that are there while the backward pass is in a layer, on top of what is [`kept`]: gradients of the
/// feed-forward block's three widths and of the stream, and the layer's own activations where they are
/// computed again.
pub(super) fn in_layer(shape: &DecoderShape, workload: &Workload) -> u64 {
    let width = match shape.feed_forward {
        FeedForward::Dense { intermediate } => intermediate,
        FeedForward::Experts { active, intermediate, .. } => active * intermediate,
    };
    let gradients = workload.tokens() * (3 * width + 2 * shape.hidden) * workload.precision.bytes();
    match workload.checkpointing {
        Checkpointing::None => gradients,
        Checkpointing::Layers => gradients + layer(shape, workload),
    }
}

/// Bytes of logits while a micro-batch is scored.
pub(super) fn logits(shape: &DecoderShape, workload: &Workload) -> u64 {
    let (positions, vocabulary) = (workload.scored_positions(), shape.vocabulary);
    match workload.kernels {
        Kernels::Fused => SINGLE * logits_held(positions as usize, vocabulary as usize) as u64,
        Kernels::Plain => SINGLE * PLAIN_LOGITS * positions * vocabulary,
    }
}
