//! `sapo play`.

use clap::Args;

use crate::output::Format;

/// To come.
#[derive(Debug, Args)]
pub(crate) struct PlayArgs {}

/// Runs the command.
pub(crate) fn run(_: PlayArgs, _: Format) -> anyhow::Result<()> {
    anyhow::bail!("not part of this build yet")
}
