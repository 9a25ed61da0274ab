//! `sapo env replay`: recordings of the original against this engine.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use sapo_envs::alfworld::Dataset;
use sapo_envs::alfworld::replay::{Mismatch, replay_transcripts};
use serde::Serialize;

use crate::output::{Format, grouped, print_result, progress_bar, talk};

/// Compares a world, state by state, with recordings of its original.
///
/// Each difference is a line on stderr, and any makes the command fail.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    #[command(subcommand)]
    world: ReplayWorld,
}

#[derive(Debug, Subcommand)]
enum ReplayWorld {
    /// Household tasks as text games
    Alfworld(AlfworldArgs),
}

#[derive(Debug, Args)]
struct AlfworldArgs {
    /// A folder above game.tw-pddl files, or a .jsonl or .jsonl.zst pack of games
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Recordings: JSON lines, plain or compressed by gzip or zstd
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    transcripts: Vec<PathBuf>,
}

#[derive(Default, Serialize)]
struct Summary {
    states: usize,
    mismatches: usize,
    episodes: usize,
    files: usize,
}

/// Runs the command.
pub(crate) fn run(args: ReplayArgs, format: Format) -> Result<()> {
    let ReplayWorld::Alfworld(args) = args.world;
    let summary = replay(&args)?;
    let printed = print_result(format, &summary, describe);
    let Summary { mismatches, states, .. } = summary;
    ensure!(
        mismatches == 0,
        "the engine differs from the recordings; mismatches: {mismatches} in {states} states"
    );
    printed
}

fn replay(args: &AlfworldArgs) -> Result<Summary> {
    let dataset = Dataset::open(&args.data)?;
    let bar = progress_bar(args.transcripts.len() as u64, "replaying");
    let mut summary = Summary::default();
    for file in &args.transcripts {
        let report = replay_transcripts(&dataset, &[file])?;
        ensure!(report.states > 0, "{}: no recorded state in it", file.display());
        bar.suspend(|| report.mismatches.iter().for_each(tell));
        summary.states += report.states;
        summary.mismatches += report.mismatches.len();
        summary.episodes += report.episodes;
        summary.files += 1;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(summary)
}

fn tell(mismatch: &Mismatch) {
    let Mismatch { file, game, policy, step, field, expected, got } = mismatch;
    talk(format!(
        "mismatch: {file}: {game}: policy {policy}: step {step}: {field}: expected {expected:?}, got {got:?}"
    ));
}

fn describe(summary: &Summary) -> String {
    let Summary { states, mismatches, episodes, .. } = summary;
    let [states, episodes] = [states, episodes].map(|&count| grouped(count as u64));
    format!("{states} states of {episodes} episodes replayed, {mismatches} mismatches")
}
