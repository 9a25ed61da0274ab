//! `sapo env check`: whether a world can be trained on.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, ensure};
use clap::Args;
use sapo_envs::alfworld::generator::GeneratorConfig;
use sapo_envs::alfworld::{AlfWorld, Dataset, WalkthroughReport, win_walkthroughs};
use sapo_envs::check::{Check, check_env};
use sapo_envs::toy::{Corridor, CorridorTask, Echo, EchoTask};
use serde::Serialize;

use super::WorldName;
use super::facts::Facts;
use crate::commands::games::Games;
use crate::output::{Format, print_result, talk};

/// How many games a split are generated where there is no data.
const GENERATED: u64 = 8;

/// Long enough for the corridors that are checked to be solved by luck.
const CORRIDOR_STEPS: usize = 50;

/// Checks a world for the faults that spoil training: chance, leaks between episodes or copies,
/// crashes on odd actions, rewards out of range.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The world
    #[arg(value_enum, value_name = "NAME")]
    name: WorldName,
    /// A folder with the world's data, or a pack; without it, generated tasks
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Play the solution that comes with every game too: each must win
    #[arg(long)]
    walkthroughs: bool,
    /// How many tasks are played, spread evenly over the data
    #[arg(long, value_name = "N", default_value_t = 8)]
    tasks: usize,
    /// Seeds the random actions
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    #[serde(flatten)]
    facts: Facts,
    checks: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    name: &'static str,
    passed: bool,
    detail: String,
}

impl From<Check> for Finding {
    fn from(Check { name, passed, detail }: Check) -> Self {
        Finding { name, passed, detail }
    }
}

/// Runs the command.
pub(crate) fn run(args: CheckArgs, format: Format) -> Result<()> {
    let (facts, checks) = match args.name {
        WorldName::Alfworld => check_alfworld(&args)?,
        WorldName::Corridor => check_toy(&args, check_env(corridor, &corridors(), args.seed))?,
        WorldName::Echo => check_toy(&args, check_env(Echo::new, &echoes(), args.seed))?,
    };
    let failed = checks.iter().filter(|finding| !finding.passed).count();
    let report = Report { ok: failed == 0, facts, checks };
    let printed = print_result(format, &report, describe);
    ensure!(report.ok, "{} fails {failed} of {} checks", args.name.name(), report.checks.len());
    printed
}

fn check_alfworld(args: &CheckArgs) -> Result<(Facts, Vec<Finding>)> {
    let games = Games::open(args.data.as_deref(), &GeneratorConfig::small(args.seed), GENERATED)?;
    let facts = Facts::of_games(&games)?;
    let dataset = &games.dataset;
    let count = args.tasks.clamp(1, dataset.len());
    let load = |index| dataset.load(index * dataset.len() / count).map(Arc::new);
    let tasks = (0..count).map(load).collect::<Result<Vec<_>, _>>()?;
    let checks = check_env(AlfWorld::new, &tasks, args.seed).into_iter();
    let mut findings: Vec<Finding> = checks.map(Finding::from).collect();
    if args.walkthroughs {
        findings.push(walk_through(dataset)?);
    }
    Ok((facts, findings))
}

fn walk_through(dataset: &Dataset) -> Result<Finding> {
    let WalkthroughReport { played, without, lost } = win_walkthroughs(dataset)?;
    for game in &lost {
        let refused = game.refused.as_ref();
        let why =
            refused.map_or("it ends unsolved".into(), |action| format!("{action:?} is refused"));
        talk(format!("lost: {}: {why}", game.game));
    }
    let detail = format!("{} of {played} win, {without} games have none", played - lost.len());
    Ok(Finding { name: "walkthroughs win", passed: lost.is_empty(), detail })
}

fn check_toy(args: &CheckArgs, checks: Vec<Check>) -> Result<(Facts, Vec<Finding>)> {
    let name = args.name.name();
    ensure!(args.data.is_none(), "{name} has no data; leave --data out");
    ensure!(!args.walkthroughs, "{name} has no walkthroughs; leave --walkthroughs out");
    Ok((Facts::of_toy(name), checks.into_iter().map(Finding::from).collect()))
}

fn corridor() -> Corridor {
    Corridor::new(CORRIDOR_STEPS)
}

fn corridors() -> Vec<CorridorTask> {
    let task = |rooms, start, key| CorridorTask { rooms, start, key };
    vec![task(1, 0, 0), task(3, 1, 0), task(5, 4, 2)]
}

fn echoes() -> Vec<EchoTask> {
    let words =
        |words: &[&str]| EchoTask { words: words.iter().map(|w| (*w).to_owned()).collect() };
    vec![words(&["red"]), words(&["blue", "red", "green"])]
}

fn describe(report: &Report) -> String {
    let line = |Finding { name, passed, detail }: &Finding| {
        format!("{}  {name}: {detail}\n", if *passed { "ok  " } else { "FAIL" })
    };
    let Facts { env, version, source, .. } = &report.facts;
    let verdict = if report.ok { "ok" } else { "not fit for training" };
    let checks: String = report.checks.iter().map(line).collect();
    format!("{checks}{env} ({version}, {source}): {verdict}\n")
}
