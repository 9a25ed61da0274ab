//! An estimate: bytes of each part, and the peak that they come to.

use sapo_core::Checkpointing;

use super::activations;
use super::shape::DecoderShape;
use super::workload::{Kernels, Method, Workload};

/// Bytes of AdamW's two moments, which are in single precision.
const MOMENTS: u64 = 8;

/// Bytes of a gradient: they are summed in single precision.
const GRADIENT: u64 = 4;

/// What a process takes without a model.
const PROCESS: u64 = 10 << 20;

/// The allocator keeps a share of what was given back to it, in percent. Measured: 2 to 9 beside the sum
/// of all tensors, more where that is below some 300 MB.
const RESERVE: u64 = 5;

/// What training takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The policy's weights.
    pub weights: u64,
    /// Their 32-bit master copies.
    pub masters: u64,
    /// Their gradients: of a step's micro-batches so far, and of the one at work.
    pub gradients: u64,
    /// The optimizer's moments of them.
    pub optimizer: u64,
    /// The frozen reference's weights.
    pub reference: u64,
    /// The critic's weights, master copies and moments. Its gradients and activations are there while the
    /// policy's are not.
    pub critic: u64,
    /// What micro-batches keep for the backward pass.
    pub activations: u64,
    /// Logits of micro-batches.
    pub logits: u64,
    /// The rollout's keys and values.
    pub kv_cache: u64,
    /// What the process and its allocator take beside tensors.
    pub reserve: u64,
    /// The rollout at its largest, resident parts aside.
    pub rollout: u64,
    /// The update at its largest, resident parts aside.
    pub update: Update,
    /// The most that is there at once.
    pub peak: u64,
}

/// What an update takes beside resident parts, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// All sets of gradients.
    gradients: u64,
    /// The start of the backward pass, its end, the optimizer's step.
    stages: [Stage; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    /// What devices share out among them.
    shared: u64,
    /// What each device has of its own.
    own: u64,
}

impl Update {
    /// The most of all stages, on each of `devices`.
    pub fn peak(&self, devices: u64) -> u64 {
        let bytes = |stage: &Stage| stage.shared.div_ceil(devices) + stage.own;
        self.stages.iter().map(bytes).max().unwrap_or(0)
    }
}

impl Estimate {
    /// What `workload` takes with a model of `shape`.
    pub fn new(shape: &DecoderShape, workload: &Workload) -> Self {
        let Workload { precision, .. } = *workload;
        let trained = workload.trained_parameters(shape);
        let adapters = workload.adapter_rank.map_or(0, |_| trained);
        let bytes = precision.bytes();
        let update = update(shape, workload);
        let mut estimate = Estimate {
            weights: (shape.parameters() + adapters) * bytes,
            masters: trained * precision.master_bytes(),
            gradients: update.gradients,
            optimizer: trained * MOMENTS,
            // With adapters the reference is the model without them.
            reference: match (workload.reference, workload.adapter_rank) {
                (Some(precision), None) => shape.parameters() * precision.bytes(),
                _ => 0,
            },
            critic: critic(shape, workload),
            activations: workload.concurrent()
                * (activations::kept(shape, workload) + activations::in_layer(shape, workload)),
            logits: workload.concurrent() * activations::logits(shape, workload),
            kv_cache: kv_cache(shape, workload),
            reserve: 0,
            rollout: rollout(shape, workload),
            update,
            peak: 0,
        };
        let tensors = estimate.resident() + estimate.rollout.max(update.peak(1));
        estimate.reserve = reserve(tensors);
        estimate.peak = tensors + estimate.reserve;
        estimate
    }

    /// What is there all the time.
    pub fn resident(&self) -> u64 {
        self.weights + self.masters + self.optimizer + self.reference + self.critic
    }
}

/// What the process and its allocator take beside so many bytes of tensors.
pub(super) fn reserve(tensors: u64) -> u64 {
    PROCESS + tensors * RESERVE / 100
}

/// Weights, master copies and moments of a critic. With adapters it is the frozen policy's backbone under
/// adapters of its own.
fn critic(shape: &DecoderShape, workload: &Workload) -> u64 {
    if workload.method != Method::Ppo {
        return 0;
    }
    let Workload { precision, .. } = *workload;
    let (weights, trained) = match workload.adapter_rank {
        Some(rank) => {
            let adapters = shape.adapter_parameters(rank) + shape.hidden;
            (adapters, adapters)
        }
        None => (shape.critic_parameters(), shape.critic_parameters()),
    };
    weights * precision.bytes() + trained * (precision.master_bytes() + MOMENTS)
}

/// Keys and values of every token of every slot.
fn kv_cache(shape: &DecoderShape, workload: &Workload) -> u64 {
    let tokens = workload.slots * workload.stream_tokens;
    tokens * shape.layers * 2 * shape.keys() * workload.precision.bytes()
}

/// Keys and values, logits of one token a slot, on the device and twice as numbers of the host, and the copy
/// of the weights that decoding reads where there are kernels.
fn rollout(shape: &DecoderShape, workload: &Workload) -> u64 {
    let bytes = workload.precision.bytes();
    let logits = workload.slots * shape.vocabulary * (2 * bytes + 4);
    let packed = match workload.kernels {
        Kernels::Fused => shape.parameters() * bytes,
        Kernels::Plain => 0,
    };
    kv_cache(shape, workload) + logits + packed
}

/// The stages of an update.
///
/// A worker has one set of gradients between its micro-batches. A backward pass makes a second one beside
/// it, unless layers are computed again: then each layer's gradients are added as they come. The embedding's
/// gradient comes last, and is whole for a moment beside the one that a tied head or earlier micro-batches
/// have given. The optimizer drops a gradient for each new weight that it writes beside the old one, and
/// needs room for a tensor in between.
fn update(shape: &DecoderShape, workload: &Workload) -> Update {
    let set = workload.trained_parameters(shape) * GRADIENT;
    let largest = workload.largest_tensor(shape) * GRADIENT;
    let workers = workload.concurrent();
    let before = if workload.micro_batches() > workers { set } else { 0 };
    let kept = activations::kept(shape, workload);
    let in_layer = activations::in_layer(shape, workload);
    let logits = activations::logits(shape, workload);
    let is_layered = workload.checkpointing == Checkpointing::Layers;
    let (last_set, last_layer) = if is_layered { (set, in_layer) } else { (before + set, 0) };
    let doubled = if shape.is_tied || is_layered { largest } else { 0 };
    // The head's gradient is given room while its logits are still there.
    let at_work = kept + largest + logits.max(in_layer);
    let start = Stage { shared: workers * before, own: workers * at_work };
    let end = Stage { shared: workers * (last_set + doubled), own: workers * last_layer };
    let step = Stage { shared: set + largest, own: 0 };
    Update { gradients: workers * last_set, stages: [start, end, step] }
}

#[cfg(test)]
mod tests;
