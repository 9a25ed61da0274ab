//! `sapo`: trains language-model agents by reinforcement learning, from the command line.

mod agent;
mod builtin;
mod cli;
mod commands;
mod config;
mod evaluation;
mod failure;
mod interrupt;
mod memory;
mod metrics;
mod output;
mod run_folder;
mod trainer;
mod warm_start;
mod world;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    let Cli { command, format } = Cli::parse();
    output::start_log();
    let outcome = match command {
        Command::Train(args) => commands::train::run(args, format),
        Command::Eval(args) => commands::eval::run(args, format),
        Command::Env(args) => commands::env::run(args, format),
        Command::Play(args) => commands::play::run(args, format),
        Command::Generate(args) => commands::generate::run(args, format),
        Command::Inspect(args) => commands::inspect::run(args, format),
        Command::Plan(args) => commands::plan::run(args, format),
        Command::Completions(args) => commands::completions::run(args),
    };
    failure::exit_code(outcome)
}
