//! `sapo env bench`: how fast a world is.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use sapo_envs::alfworld::generator::GeneratorConfig;
use sapo_envs::alfworld::{AlfWorldSpeed, bench_alfworld};
use serde::Serialize;

use crate::commands::games::Games;
use crate::output::{Format, grouped, key_values, print_result};

/// How many games a split are generated where there is no data.
const GENERATED: u64 = 32;

/// Measures how fast a world loads, resets and steps, on one core.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    world: BenchWorld,
}

#[derive(Debug, Subcommand)]
enum BenchWorld {
    /// Household tasks as text games
    Alfworld(AlfworldArgs),
}

#[derive(Debug, Args)]
struct AlfworldArgs {
    /// A folder above game.tw-pddl files, or a pack; without it, generated games of real size
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How many games are loaded, spread evenly over the data
    #[arg(long, value_name = "N", default_value_t = 64)]
    games: usize,
    /// How many random admissible actions are played
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    steps: usize,
    /// Seeds the actions, and generated games
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

#[derive(Serialize)]
struct Summary {
    steps_per_second: f64,
    reset_ms: f64,
    load_ms: f64,
    games: usize,
    steps: usize,
    source: String,
}

/// Runs the command.
pub(crate) fn run(args: BenchArgs, format: Format) -> Result<()> {
    let BenchWorld::Alfworld(args) = args.world;
    let games = Games::open(args.data.as_deref(), &GeneratorConfig::real(args.seed), GENERATED)?;
    let speed = bench_alfworld(&games.dataset, args.games, args.steps.max(1), args.seed)?;
    let AlfWorldSpeed { games: loaded, steps, steps_per_second, reset_ms, load_ms } = speed;
    let source = games.origin();
    let summary = Summary { steps_per_second, reset_ms, load_ms, games: loaded, steps, source };
    print_result(format, &summary, describe)
}

fn describe(summary: &Summary) -> String {
    let Summary { steps_per_second, reset_ms, load_ms, games, steps, source } = summary;
    key_values([
        ("steps a second", grouped(*steps_per_second as u64)),
        ("reset", format!("{reset_ms:.3} ms")),
        ("load", format!("{load_ms:.3} ms")),
        ("played", format!("{} steps of {games} games on one core", grouped(*steps as u64))),
        ("games from", source.clone()),
    ])
}
