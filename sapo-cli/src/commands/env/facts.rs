//! What there is to know about a set of games.

use std::collections::BTreeMap;

use anyhow::Result;
use sapo_envs::alfworld::{Dataset, RuleSet, TaskKind};
use serde::Serialize;

use crate::commands::games::Games;
use crate::output::progress_bar;

/// A world's version, and what its data holds.
#[derive(Serialize)]
pub(crate) struct Facts {
    pub(crate) env: &'static str,
    /// Which rules are played: their names, with the beginning of the digest of the texts that define
    /// them. For a toy, this program's version.
    pub(crate) version: String,
    pub(crate) data_hash: Option<String>,
    pub(crate) source: String,
    pub(crate) games: usize,
    pub(crate) rule_sets: BTreeMap<&'static str, usize>,
    pub(crate) splits: BTreeMap<String, usize>,
    pub(crate) kinds: BTreeMap<&'static str, usize>,
}

impl Facts {
    /// Reads every game.
    pub(crate) fn of_games(games: &Games) -> Result<Self> {
        let dataset = &games.dataset;
        let rule_sets = rule_sets(dataset)?;
        let splits = dataset.splits().into_iter();
        Ok(Facts {
            env: "alfworld",
            version: version(&rule_sets),
            data_hash: Some(games.data_hash()?),
            source: games.origin(),
            games: dataset.len(),
            rule_sets: rule_sets.into_iter().map(|(rules, count)| (rules.name(), count)).collect(),
            splits: splits.map(|(split, count)| (split.to_owned(), count)).collect(),
            kinds: kinds(dataset),
        })
    }

    /// A toy comes without data.
    pub(crate) fn of_toy(env: &'static str) -> Self {
        Facts {
            env,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data_hash: None,
            source: "built in".to_owned(),
            games: 0,
            rule_sets: BTreeMap::new(),
            splits: BTreeMap::new(),
            kinds: BTreeMap::new(),
        }
    }
}

fn rule_sets(dataset: &Dataset) -> Result<BTreeMap<RuleSet, usize>> {
    let bar = progress_bar(dataset.len() as u64, "reading games");
    let mut counts = BTreeMap::new();
    for index in 0..dataset.len() {
        *counts.entry(dataset.load(index)?.rules()).or_default() += 1;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(counts)
}

fn version(rule_sets: &BTreeMap<RuleSet, usize>) -> String {
    let named = |rules: &RuleSet| format!("{}@{}", rules.name(), &rules.sha256()[..8]);
    rule_sets.keys().map(named).collect::<Vec<_>>().join("+")
}

fn kinds(dataset: &Dataset) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for index in 0..dataset.len() {
        let name = dataset.kind(index).map_or("unknown", TaskKind::name);
        *counts.entry(name).or_default() += 1;
    }
    counts
}
