//! `sapo inspect`: what a folder holds.

mod model;
mod run;
mod weights;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use crate::output::{Format, print_result};

/// The file that makes a folder a run's.
const RUN_FILE: &str = "config.toml";
/// The file that makes a folder a model's.
const MODEL_FILE: &str = "config.json";

/// Describes a model folder (shape, size, value tokens) or a run folder (settings, progress, success).
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The folder of a run or of a model
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: InspectArgs, format: Format) -> Result<()> {
    let folder = &args.folder;
    if folder.join(RUN_FILE).is_file() {
        return print_result(format, &run::read(folder)?, run::describe);
    }
    if folder.join(MODEL_FILE).is_file() {
        return print_result(format, &model::read(folder)?, model::describe);
    }
    bail!("{}: {}", folder.display(), what_is_wrong(folder))
}

fn what_is_wrong(folder: &Path) -> String {
    if !folder.exists() {
        "no such folder".to_owned()
    } else if !folder.is_dir() {
        "not a folder; name the folder that the file is in".to_owned()
    } else {
        format!("neither a run's folder (no {RUN_FILE}) nor a model's (no {MODEL_FILE})")
    }
}
