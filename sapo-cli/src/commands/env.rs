//! `sapo env`: what can be done with worlds.

mod bench;
mod check;
mod facts;
mod generate;
mod info;
mod replay;

use clap::{Args, Subcommand};

use crate::output::Format;

/// Checks, describes, measures, replays or generates worlds.
#[derive(Debug, Args)]
pub(crate) struct EnvArgs {
    #[command(subcommand)]
    command: EnvCommand,
}

#[derive(Debug, Subcommand)]
enum EnvCommand {
    /// Check a world for the faults that spoil training
    Check(check::CheckArgs),
    /// Tell a world's version and what its data holds
    Info(info::InfoArgs),
    /// Compare a world, state by state, with recordings of its original
    Replay(replay::ReplayArgs),
    /// Measure how fast a world loads, resets and steps
    Bench(bench::BenchArgs),
    /// Generate tasks of a world
    Generate(generate::GenerateArgs),
}

/// Runs the command.
pub(crate) fn run(args: EnvArgs, format: Format) -> anyhow::Result<()> {
    match args.command {
        EnvCommand::Check(args) => check::run(args, format),
        EnvCommand::Info(args) => info::run(args, format),
        EnvCommand::Replay(args) => replay::run(args, format),
        EnvCommand::Bench(args) => bench::run(args, format),
        EnvCommand::Generate(args) => generate::run(args, format),
    }
}
