//! `sapo plan`: what training a model takes, before it is tried.

mod report;
mod size;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use sapo_core::Checkpointing;
use sapo_models::ModelConfig;
use sapo_models::memory::{DecoderShape, Estimate, Kernels, Method, Precision, Workload};

use self::report::Report;
use self::size::MemorySize;
use crate::output::{Format, print_result, talk};

/// The largest number that a size may be: products of some of them are counted.
const MOST: i64 = 1_000_000_000;

/// Estimates the memory that training a model takes, for each method, and how many GPUs that is
///
/// The estimate is arithmetic over the model's config.json; no weights are read. Rollout and update do
/// not overlap: the peak is what is there all the time (weights, master copies, optimizer, reference,
/// critic) and the larger of the two. GPUs share out weights, master copies, gradients, optimizer, reference
/// and critic evenly; each has the activations, logits and KV cache of a micro-batch and of slots of its own.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// A model's config.json, or the folder that it is in
    #[arg(long, value_name = "PATH")]
    config: PathBuf,
    /// One method only
    #[arg(long, value_enum, value_name = "NAME")]
    algorithm: Option<AlgorithmArg>,
    /// Tokens of a stream that are no replies: the prompt, or a conversation's observations
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = size())]
    prompt_tokens: u64,
    /// Tokens of a reply
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = size())]
    response_tokens: u64,
    /// Replies in a stream: 1 where each turn has a prompt of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = size())]
    turns: u64,
    /// Streams of an optimizer step
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = size())]
    streams: u64,
    /// Tokens of a micro-batch, padding included [default: those of one stream]
    #[arg(long, value_name = "N", value_parser = size())]
    micro_batch_tokens: Option<u64>,
    /// Streams that are played at once
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = size())]
    slots: u64,
    /// Micro-batches at once, each on a thread of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = size())]
    workers: u64,
    /// The precision of weights and activations; with bf16, master copies, gradients and moments are f32
    #[arg(long, value_enum, value_name = "TYPE", default_value_t = PrecisionArg::F32)]
    precision: PrecisionArg,
    /// Train adapters of this rank on all projections, and leave the weights as they are
    #[arg(long, value_name = "RANK", value_parser = size())]
    lora: Option<u64>,
    /// Keep the activations of all layers, or what goes into each
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = CheckpointingArg::None)]
    checkpointing: CheckpointingArg,
    /// The KL coefficient; 0 needs no reference model
    #[arg(long, value_name = "BETA", default_value_t = 0.01, value_parser = coefficient)]
    kl: f64,
    /// Where it is computed: `flex` in f32 has kernels that keep less [default: gpu with --gpu-memory, else flex]
    #[arg(long, value_enum, value_name = "DEVICE")]
    device: Option<DeviceArg>,
    /// Also count GPUs of this memory, as in `80GB`
    #[arg(long, value_name = "SIZE")]
    gpu_memory: Option<MemorySize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AlgorithmArg {
    Sapo,
    Ppo,
    Grpo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PrecisionArg {
    F32,
    Bf16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CheckpointingArg {
    None,
    Layers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DeviceArg {
    Flex,
    Gpu,
}

fn size() -> clap::builder::RangedU64ValueParser<u64> {
    clap::builder::RangedU64ValueParser::new().range(1..=MOST as u64)
}

fn coefficient(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "write a number from 0, such as 0.01".to_owned())
}

/// Runs the command.
pub(crate) fn run(args: PlanArgs, format: Format) -> Result<()> {
    let file = match args.config.is_dir() {
        true => args.config.join("config.json"),
        false => args.config.clone(),
    };
    let shape = DecoderShape::read(&file)?;
    say_if_not_trainable(&file);
    let estimates = args
        .methods()
        .into_iter()
        .map(|method| (method, Estimate::new(&shape, &args.workload(method))))
        .collect();
    let report = Report::new(&args.config, &shape, estimates, args.gpu_memory);
    print_result(format, &report, Report::describe)
}

fn say_if_not_trainable(file: &Path) {
    if let Err(error) = ModelConfig::read(file) {
        talk(format!("note: this model cannot be trained here, only planned: {error}"));
    }
}

impl PlanArgs {
    fn methods(&self) -> Vec<Method> {
        match self.algorithm {
            None => Method::ALL.to_vec(),
            Some(AlgorithmArg::Sapo) => vec![Method::Sapo],
            Some(AlgorithmArg::Ppo) => vec![Method::Ppo],
            Some(AlgorithmArg::Grpo) => vec![Method::Grpo],
        }
    }

    fn workload(&self, method: Method) -> Workload {
        let precision = match self.precision {
            PrecisionArg::F32 => Precision::Single,
            PrecisionArg::Bf16 => Precision::Mixed,
        };
        let stream_tokens = self.prompt_tokens + self.turns * self.response_tokens;
        Workload {
            method,
            reference: (self.kl != 0.0).then_some(precision),
            precision,
            adapter_rank: self.lora,
            checkpointing: match self.checkpointing {
                CheckpointingArg::None => Checkpointing::None,
                CheckpointingArg::Layers => Checkpointing::Layers,
            },
            kernels: self.kernels(),
            stream_tokens,
            reply_tokens: self.response_tokens,
            turns: self.turns,
            streams: self.streams,
            micro_batch_tokens: self.micro_batch_tokens.unwrap_or(stream_tokens),
            workers: self.workers,
            slots: self.slots,
        }
    }

    fn kernels(&self) -> Kernels {
        let usual = if self.gpu_memory.is_some() { DeviceArg::Gpu } else { DeviceArg::Flex };
        match (self.device.unwrap_or(usual), self.precision) {
            (DeviceArg::Flex, PrecisionArg::F32) => Kernels::Fused,
            _ => Kernels::Plain,
        }
    }
}
