//! `sapo inspect`.

use clap::Args;

use crate::output::Format;

/// To come.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {}

/// Runs the command.
pub(crate) fn run(_: InspectArgs, _: Format) -> anyhow::Result<()> {
    anyhow::bail!("not part of this build yet")
}
