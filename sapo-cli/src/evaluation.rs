//! Success on held-out tasks.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use sapo_core::env::Dialogue;
use sapo_core::episode::Episode;
use sapo_core::rollout::{self, Progress, Rollout, RolloutConfig};
use sapo_core::seed;
use sapo_models::Decoder;
use serde::Serialize;

use crate::agent::Agent;
use crate::config::RunConfig;
use crate::output::percent;
use crate::world::TaskSet;

/// Sets evaluations apart from the other randomness of a run.
const EVALUATION: u64 = 4;

/// Success of some episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Tally {
    /// The share that was solved.
    pub(crate) success: f64,
    /// How many there were.
    pub(crate) episodes: usize,
}

impl Tally {
    fn of<'a>(episodes: impl IntoIterator<Item = &'a Episode>) -> Self {
        let (mut solved, mut count) = (0, 0);
        for episode in episodes {
            solved += usize::from(episode.success);
            count += 1;
        }
        Tally { success: solved as f64 / count.max(1) as f64, episodes: count }
    }
}

/// What an evaluation found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Evaluation {
    /// All episodes.
    #[serde(flatten)]
    pub(crate) all: Tally,
    /// Episodes by type of task.
    pub(crate) by_type: BTreeMap<String, Tally>,
    /// Turns an episode.
    pub(crate) mean_turns: f64,
    /// Tasks that could not be played.
    pub(crate) dropped: usize,
    /// The split that was played.
    pub(crate) split: String,
}

/// A line: the whole, then the types of task.
impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evaluation { all, by_type, mean_turns, dropped, split } = self;
        let types: Vec<String> = by_type
            .iter()
            .map(|(kind, Tally { success, episodes })| {
                format!("{kind} {} of {episodes}", percent(*success))
            })
            .collect();
        let (solved, tasks, types) = (percent(all.success), all.episodes, types.join(", "));
        write!(
            f,
            "{solved} of {tasks} tasks of {split} solved in {mean_turns:.1} turns ({types})"
        )?;
        match dropped {
            0 => Ok(()),
            dropped => write!(f, "; {dropped} could not be played"),
        }
    }
}

/// How an evaluation is played.
pub(crate) struct Settings<'a> {
    pub(crate) config: &'a RunConfig,
    pub(crate) temperature: f32,
    /// Seeds the sampling.
    pub(crate) seed: u64,
}

/// Plays every task of `tasks` once with the weights of `decoder`; `None` if it was ended early.
pub(crate) fn evaluate(
    agent: &Agent,
    decoder: &Decoder,
    tasks: &TaskSet,
    split: &str,
    settings: &Settings<'_>,
    observe: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Option<Evaluation>> {
    let mut generator = agent.generator(decoder, settings.config, settings.temperature);
    let dialogues: Vec<Box<dyn Dialogue>> =
        (0..tasks.len()).map(|task| tasks.dialogue(task)).collect::<Result<_>>()?;
    let config = RolloutConfig {
        slots: settings.config.rollout.slots,
        seed: seed::derive(settings.seed, &[EVALUATION]),
        retries: settings.config.rollout.retries,
        bootstrap: false,
    };
    let played = rollout::play(&mut generator, dialogues, config, observe)?;
    if played.interrupted {
        return Ok(None);
    }
    ensure!(
        !played.episodes.is_empty(),
        "no episode of split {split:?} came to an end; the last fault: {}",
        played.faults.last().map_or("none".into(), ToString::to_string)
    );
    Ok(Some(summarize(&played, split)))
}

fn summarize(Rollout { episodes, dropped, .. }: &Rollout, split: &str) -> Evaluation {
    let mut by_type: BTreeMap<String, Vec<&Episode>> = BTreeMap::new();
    for episode in episodes {
        by_type.entry(episode.kind.clone()).or_default().push(episode);
    }
    let turns: usize = episodes.iter().map(|episode| episode.turns.len()).sum();
    Evaluation {
        all: Tally::of(episodes),
        by_type: by_type.into_iter().map(|(kind, episodes)| (kind, Tally::of(episodes))).collect(),
        mean_turns: turns as f64 / episodes.len().max(1) as f64,
        dropped: *dropped,
        split: split.to_owned(),
    }
}
