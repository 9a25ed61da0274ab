//! `sapo generate`.

use clap::Args;

use crate::output::Format;

/// To come.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {}

/// Runs the command.
pub(crate) fn run(_: GenerateArgs, _: Format) -> anyhow::Result<()> {
    anyhow::bail!("not part of this build yet")
}
