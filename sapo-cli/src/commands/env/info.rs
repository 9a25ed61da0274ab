//! `sapo env info`: a world's version and data.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use sapo_envs::alfworld::generator::GeneratorConfig;

use super::WorldName;
use super::facts::Facts;
use crate::commands::games::Games;
use crate::output::{Format, grouped, key_values, print_result};

/// How many games a split are generated where there is no data.
const GENERATED: u64 = 32;

/// Tells a world's version and what its data holds: rule sets, splits, kinds of tasks, a hash.
///
/// The hash of a pack is the sha256 of its file; that of a folder is the sha256 of what `sha256sum`
/// prints for its game files, sorted by their paths below the folder.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// The world
    #[arg(value_enum, value_name = "NAME")]
    name: WorldName,
    /// A folder with the world's data, or a pack; without it, generated tasks
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: InfoArgs, format: Format) -> Result<()> {
    let facts = match args.name {
        WorldName::Alfworld => {
            let config = GeneratorConfig::small(0);
            Facts::of_games(&Games::open(args.data.as_deref(), &config, GENERATED)?)?
        }
        toy @ (WorldName::Corridor | WorldName::Echo) => {
            ensure!(args.data.is_none(), "{} has no data; leave --data out", toy.name());
            Facts::of_toy(toy.name())
        }
    };
    print_result(format, &facts, describe)
}

fn describe(facts: &Facts) -> String {
    let mut rows = vec![
        ("world", facts.env.to_owned()),
        ("version", facts.version.clone()),
        ("source", facts.source.clone()),
    ];
    if let Some(hash) = &facts.data_hash {
        rows.push(("data hash", hash.clone()));
        rows.push(("games", grouped(facts.games as u64)));
        rows.push(("rule sets", counted(&facts.rule_sets)));
        rows.push(("splits", counted(&facts.splits)));
        rows.push(("kinds", counted(&facts.kinds)));
    }
    key_values(rows)
}

fn counted<K: AsRef<str>>(counts: &std::collections::BTreeMap<K, usize>) -> String {
    let count =
        |(name, count): (&K, &usize)| format!("{} {}", name.as_ref(), grouped(*count as u64));
    counts.iter().map(count).collect::<Vec<_>>().join(", ")
}
