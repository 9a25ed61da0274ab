//! `sapo train`.

use anyhow::{Context, Result};

use crate::cli::{Setting, TrainArgs};
use crate::config::{ConfigSource, load};
use crate::interrupt::Interrupt;
use crate::output::{Format, percent, print_result};
use crate::run_folder::RunFolder;
use crate::trainer::{StopAfter, Summary, Trainer};

/// Trains, from a configuration or on from a run's folder.
pub(crate) fn run(args: TrainArgs, format: Format) -> Result<()> {
    let stop = StopAfter(args.stop_after);
    let interrupt = Interrupt::listen()?;
    let trainer = match &args.resume {
        Some(path) => {
            let (folder, config) = RunFolder::open(path)?;
            Some(Trainer::resume(config, folder, interrupt)?)
        }
        None => start(args, interrupt)?,
    };
    let trainer = trainer
        .context("interrupted during the warm start; nothing was learned that could be kept")?;
    let summary = trainer.run(stop)?;
    print_result(format, &summary, describe)
}

fn start(args: TrainArgs, interrupt: Interrupt) -> Result<Option<Trainer>> {
    let mut set = args.set;
    set.extend(args.device.map(|device| Setting::of_flag("device", device)));
    set.extend(args.algorithm.map(|algorithm| Setting::of_flag("algorithm", algorithm)));
    let config = load(&ConfigSource { file: args.config, set })?;
    Trainer::start(config, args.out.as_deref(), interrupt)
}

fn describe(summary: &Summary) -> String {
    let Summary { run, success_before, success_after, iterations, seconds, .. } = summary;
    if summary.interrupted {
        let run = run.display();
        return format!(
            "ended after {iterations} iterations; go on with: sapo train --resume {run}"
        );
    }
    format!(
        "success on held-out tasks {} -> {} in {iterations} iterations and {seconds:.0} s; model in {}",
        percent(*success_before),
        percent(*success_after),
        run.join("model").display()
    )
}
