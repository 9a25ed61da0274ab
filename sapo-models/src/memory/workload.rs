//! What is asked of a model.

use sapo_core::Checkpointing;

use super::shape::DecoderShape;

/// A training method, as far as memory is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// One model is actor and critic.
    Sapo,
    /// A separate critic of the same size.
    Ppo,
    /// No critic.
    Grpo,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 3] = [Method::Sapo, Method::Ppo, Method::Grpo];

    /// The name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Method::Sapo => "sapo",
            Method::Ppo => "ppo",
            Method::Grpo => "grpo",
        }
    }
}

/// The precision of weights and activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Everything in 32 bits.
    Single,
    /// 16 bits, with a 32-bit master copy of each trained weight. Gradients are summed in 32 bits.
    Mixed,
}

impl Precision {
    /// Bytes of a weight or an activation.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Precision::Single => 4,
            Precision::Mixed => 2,
        }
    }

    /// Bytes of the master copy of a trained weight.
    pub(super) fn master_bytes(self) -> u64 {
        match self {
            Precision::Single => 0,
            Precision::Mixed => 4,
        }
    }
}

/// Which operations a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// Those of `sapo_kernels`, with logits in chunks: the flex device in 32 bits.
    Fused,
    /// Burn's own, with all logits at once: every other device and precision.
    Plain,
}

/// A method with its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The method.
    pub method: Method,
    /// The precision of the frozen reference; there is one where the KL coefficient is not 0.
    pub reference: Option<Precision>,
    /// The precision of what is computed.
    pub precision: Precision,
    /// The rank of adapters; `None` trains all weights.
    pub adapter_rank: Option<u64>,
    /// Which activations are kept.
    pub checkpointing: Checkpointing,
    /// Which operations compute.
    pub kernels: Kernels,
    /// Tokens of a stream, replies included.
    pub stream_tokens: u64,
    /// Tokens of a reply.
    pub reply_tokens: u64,
    /// Replies in a stream.
    pub turns: u64,
    /// Streams of an optimizer step.
    pub streams: u64,
    /// Tokens of a micro-batch; a longer stream is one of its own.
    pub micro_batch_tokens: u64,
    /// Micro-batches at once.
    pub workers: u64,
    /// Streams that are played at once.
    pub slots: u64,
}

impl Workload {
    /// Streams of a micro-batch.
    pub fn rows(&self) -> u64 {
        (self.micro_batch_tokens / self.stream_tokens.max(1)).clamp(1, self.streams.max(1))
    }

    /// Tokens of a micro-batch.
    pub(super) fn tokens(&self) -> u64 {
        self.rows() * self.stream_tokens
    }

    /// Micro-batches of an optimizer step.
    pub(super) fn micro_batches(&self) -> u64 {
        self.streams.max(1).div_ceil(self.rows())
    }

    /// Micro-batches at once.
    pub(super) fn concurrent(&self) -> u64 {
        self.workers.clamp(1, self.micro_batches())
    }

    /// Positions of a micro-batch whose logits are read: from a turn's last context token to the last
    /// token of its reply.
    pub(super) fn scored_positions(&self) -> u64 {
        self.rows() * (self.turns * (self.reply_tokens + 1)).min(self.stream_tokens)
    }

    /// Parameters that have gradients and moments.
    pub(super) fn trained_parameters(&self, shape: &DecoderShape) -> u64 {
        match self.adapter_rank {
            Some(rank) => shape.adapter_parameters(rank),
            None => shape.parameters(),
        }
    }

    /// Numbers of the largest trained tensor.
    pub(super) fn largest_tensor(&self, shape: &DecoderShape) -> u64 {
        match self.adapter_rank {
            Some(_) => 0,
            None => shape.embedding(),
        }
    }
}
