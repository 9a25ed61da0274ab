//! Writing: text or one JSON object to stdout, talk to stderr, and no panic when nobody listens.

use std::io::{self, Write};

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;

/// For whom results are written: people or programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

/// Whoever read stdout has stopped reading: no failure, but a reason to end.
#[derive(Debug, thiserror::Error)]
#[error("stdout was closed")]
pub(crate) struct StdoutClosed;

/// Writes text to stdout, as it is.
pub(crate) fn print(text: impl AsRef<str>) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_ref().as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(StdoutClosed.into()),
        written => written.context("cannot write to stdout"),
    }
}

/// Writes a line to stderr. Nothing can be said about a stderr that is closed.
pub(crate) fn talk(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
}

/// Writes a command's result: its text for people, or the whole of it as a line of JSON.
pub(crate) fn print_result<R: Serialize>(
    format: Format,
    result: &R,
    text: impl FnOnce(&R) -> String,
) -> anyhow::Result<()> {
    let mut line = match format {
        Format::Text => text(result),
        Format::Json => serde_json::to_string(result).context("the result is no JSON")?,
    };
    if !line.ends_with('\n') {
        line.push('\n');
    }
    print(line)
}
