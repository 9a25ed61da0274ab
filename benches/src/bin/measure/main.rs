//! Measures one workload in this process and prints one JSON line: CPU seconds, wall seconds, peak memory.
//!
//! A process measures one thing, because a peak of memory does not come down again. `RAYON_NUM_THREADS`
//! says how many threads it may use. `benches/peers/run.sh` runs peers beside it.

mod generate;
mod head;
mod iteration;
mod meter;
mod method;
mod models;
mod rollout;
mod talk;
mod train;
mod update;

use burn::prelude::*;
use clap::Parser;
use serde_json::json;

use crate::meter::Cost;

/// What is measured.
#[derive(Parser)]
#[command(about, version)]
enum Workload {
    /// A batch of replies, from prompt to last token.
    Generate(generate::Generate),
    /// Forward pass, backward pass and AdamW over a block of tokens.
    Train(train::Train),
    /// The update of one method from episodes that are already played.
    Update(update::Update),
    /// Rollout and update of one method.
    Iteration(iteration::Iteration),
    /// The head's part of an update.
    Head(head::Head),
    /// A turn of a rollout of conversations.
    Rollout(rollout::Rollout),
}

fn main() {
    let (name, cost) = match Workload::parse() {
        Workload::Generate(workload) => ("generate", workload.run()),
        Workload::Train(workload) => ("train", workload.run()),
        Workload::Update(workload) => ("update", workload.run()),
        Workload::Iteration(workload) => ("iteration", workload.run()),
        Workload::Head(workload) => ("head", workload.run()),
        Workload::Rollout(workload) => ("rollout", workload.run()),
    };
    let Cost { cpu_seconds, seconds, base_mib, peak_mib } = cost;
    let line = json!({
        "bench": name,
        "cpu_seconds": cpu_seconds,
        "seconds": seconds,
        "base_mib": base_mib,
        "peak_mib": peak_mib,
    });
    println!("{line}");
}

/// Token ids that mean nothing, the same in every run, none of them among the last ten of the vocabulary.
fn tokens(rows: usize, time: usize, vocabulary: usize) -> Vec<Vec<u32>> {
    let token = |row: usize, step: usize| (row * 7919 + step * 104_729) % (vocabulary - 10);
    (0..rows).map(|row| (0..time).map(|step| token(row, step) as u32).collect()).collect()
}

/// Where everything is measured.
fn device() -> Device {
    Device::flex()
}
