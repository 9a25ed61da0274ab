//! `sapo completions`: completions for a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output::print;

/// Writes a shell's completions to stdout.
///
/// For example: `sapo completions bash > ~/.local/share/bash-completion/completions/sapo`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: CompletionsArgs) -> anyhow::Result<()> {
    // Into memory first: clap_complete panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sapo", &mut script);
    print(String::from_utf8_lossy(&script))
}
