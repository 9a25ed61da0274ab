//! `sapo env`: what can be done with worlds.

mod bench;
mod check;
mod facts;
mod generate;
mod info;
mod replay;

use clap::{Args, Subcommand, ValueEnum};

use crate::output::Format;

/// Checks, describes, measures, replays or generates worlds.
#[derive(Debug, Args)]
pub(crate) struct EnvArgs {
    #[command(subcommand)]
    command: EnvCommand,
}

#[derive(Debug, Subcommand)]
enum EnvCommand {
    Check(check::CheckArgs),
    Info(info::InfoArgs),
    Replay(replay::ReplayArgs),
    Bench(bench::BenchArgs),
    Generate(generate::GenerateArgs),
}

/// The worlds that come with this program: those to train on, and toys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WorldName {
    /// Household tasks as text games
    Alfworld,
    /// A toy: find the key, open the door
    Corridor,
    /// A toy: repeat the word
    Echo,
}

impl WorldName {
    /// The name as the command line has it.
    fn name(self) -> &'static str {
        match self {
            WorldName::Alfworld => "alfworld",
            WorldName::Corridor => "corridor",
            WorldName::Echo => "echo",
        }
    }
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
