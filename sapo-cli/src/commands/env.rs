//! `sapo env`.

use clap::Args;

use crate::output::Format;

/// To come.
#[derive(Debug, Args)]
pub(crate) struct EnvArgs {}

/// Runs the command.
pub(crate) fn run(_: EnvArgs, _: Format) -> anyhow::Result<()> {
    anyhow::bail!("not part of this build yet")
}
