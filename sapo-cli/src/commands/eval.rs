//! `sapo eval`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::agent::{Agent, device};
use crate::cli::{Episodes, EvalArgs};
use crate::config::{ConfigSource, RunConfig, load};
use crate::evaluation::{Settings, evaluate};
use crate::interrupt::Interrupt;
use crate::output::{Format, print_result, progress_bar};
use crate::world::TaskSet;

/// Plays held-out tasks with a model.
pub(crate) fn run(args: EvalArgs, format: Format) -> Result<()> {
    let config = configure(&args)?;
    let episodes = match args.episodes {
        Some(Episodes::All) => 0,
        Some(Episodes::Count(count)) => count,
        None => config.evaluation.episodes,
    };
    let split = args.split.as_deref().unwrap_or(&config.env.eval_split);
    let tasks = TaskSet::evaluation(&config.env, split, episodes)?;
    let device = device(config.device).without_autodiff();
    let (agent, decoder) = Agent::from_folder(&args.model, &config.model, None, &device)?;
    let interrupt = Interrupt::listen()?;
    let bar = progress_bar(tasks.len() as u64, "evaluating");
    let settings = Settings {
        config: &config,
        temperature: args.temperature.unwrap_or(config.evaluation.temperature),
        seed: args.seed.unwrap_or(config.seed),
    };
    let found = evaluate(&agent, &decoder, &tasks, split, &settings, |done| {
        bar.set_position(done.finished as u64);
        interrupt.flow()
    })?;
    bar.finish_and_clear();
    match found {
        Some(found) => print_result(format, &found, ToString::to_string),
        None => bail!("interrupted before all episodes had ended"),
    }
}

/// The configuration that was named, or that of the run whose model this is, or the defaults.
fn configure(args: &EvalArgs) -> Result<RunConfig> {
    let file = args.config.clone().or_else(|| run_config(&args.model));
    let mut config = load(&ConfigSource { file, set: Vec::new() })?;
    config.env.name = args.env.unwrap_or(config.env.name);
    if let Some(data) = &args.data {
        config.env.data = Some(data.clone());
    }
    Ok(config)
}

fn run_config(model: &Path) -> Option<PathBuf> {
    let beside = model.parent()?.join("config.toml");
    beside.is_file().then_some(beside)
}
