//! The tasks of a run: where they come from, which are learned from, and how they are played.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sapo_core::env::Dialogue;
use sapo_core::seed;
use sapo_envs::alfworld::demonstration::{Demonstration, DemonstrationConfig, demonstrate};
use sapo_envs::alfworld::expert::Ties;
use sapo_envs::alfworld::generator::{GeneratorConfig, Split, generate};
use sapo_envs::alfworld::prompt::{papers_play, plain_play, play};
use sapo_envs::alfworld::{AlfWorldConfig, Dataset, Game};
use sapo_envs::prompt::{ActionList, PlayConfig, PromptForm};

use crate::config::{EnvSection, PromptName};

/// Decides which training games the warm start uses; the same in every run.
const PARTITION_SEED: u64 = 0x5a50;

/// What a task is used for. No task has two uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The expert demonstrates it.
    Imitation,
    /// Reinforcement learning plays it.
    Training,
}

/// A set of tasks of one split.
pub(crate) struct TaskSet {
    source: Source,
    games: Vec<usize>,
    section: EnvSection,
    is_training: bool,
}

enum Source {
    Files(Arc<Dataset>),
    Generated(GeneratorConfig, Split),
}

impl TaskSet {
    /// The training games of one use, at least one; `share` of all is for imitation.
    pub(crate) fn training(section: &EnvSection, usage: Use, share: f64) -> Result<Self> {
        let tasks = Self::part(section, usage, share)?;
        let (end, remedy) = match usage {
            Use::Imitation => ("to imitate", "raise it"),
            Use::Training => ("for reinforcement learning", "lower it"),
        };
        ensure!(
            !tasks.games.is_empty(),
            "warm_start.share = {share} leaves no game {end}; {remedy}, or give more games"
        );
        Ok(tasks)
    }

    /// The training games of one use, if it has any.
    pub(crate) fn part(section: &EnvSection, usage: Use, share: f64) -> Result<Self> {
        let mut tasks = Self::open(section, &section.split, section.generated)?;
        seed::shuffle(&mut tasks.games, PARTITION_SEED);
        let imitation = (tasks.games.len() as f64 * share).round() as usize;
        tasks.games = match usage {
            Use::Imitation => tasks.games[..imitation].to_vec(),
            Use::Training => tasks.games[imitation..].to_vec(),
        };
        Ok(TaskSet { is_training: true, ..tasks })
    }

    /// Games of `split` to evaluate on: `count` of them spread over the split, all for 0.
    pub(crate) fn evaluation(section: &EnvSection, split: &str, count: usize) -> Result<Self> {
        let generated = if count == 0 { 256 } else { count };
        let mut tasks = Self::open(section, split, generated)?;
        if count > 0 && count < tasks.games.len() {
            seed::shuffle(&mut tasks.games, PARTITION_SEED);
            tasks.games.truncate(count);
        }
        Ok(tasks)
    }

    fn open(section: &EnvSection, split: &str, generated: usize) -> Result<Self> {
        let types = &section.task_types;
        let (source, games) = match &section.data {
            Some(data) => {
                let dataset = Dataset::open(data)?;
                let mut games = dataset.split(split)?;
                games.retain(|&game| {
                    types.is_empty() || dataset.kind(game).is_some_and(|kind| types.contains(&kind))
                });
                ensure!(
                    !games.is_empty(),
                    "{}: split {split:?} has no game of env.task_types",
                    data.display()
                );
                (Source::Files(Arc::new(dataset)), games)
            }
            None => {
                let split = Split::ALL
                    .into_iter()
                    .find(|known| known.name() == split)
                    .with_context(|| {
                        format!(
                            "unknown split {split:?}; known are train, valid_seen, valid_unseen"
                        )
                    })?;
                let mut config = GeneratorConfig::small(section.generated_seed);
                config.tasks.retain(|(kind, _)| types.is_empty() || types.contains(kind));
                (Source::Generated(config, split), (0..generated).collect())
            }
        };
        Ok(TaskSet { source, games, section: section.clone(), is_training: false })
    }

    /// How many tasks there are.
    pub(crate) fn len(&self) -> usize {
        self.games.len()
    }

    /// The tasks of an iteration: `count` of them out of an endless row of shuffles of all.
    pub(crate) fn draw(&self, iteration: usize, count: usize, seed: u64) -> Vec<usize> {
        let first = iteration * count;
        let epochs = first / self.len()..=(first + count - 1) / self.len();
        let order: Vec<usize> = epochs
            .clone()
            .flat_map(|epoch| {
                let mut order: Vec<usize> = (0..self.len()).collect();
                seed::shuffle(&mut order, seed::derive(seed, &[epoch as u64]));
                order
            })
            .collect();
        let offset = first - epochs.start() * self.len();
        order[offset..offset + count].to_vec()
    }

    /// A task as a dialogue.
    pub(crate) fn dialogue(&self, task: usize) -> Result<Box<dyn Dialogue>> {
        let world = AlfWorldConfig { step_limit: self.section.max_turns };
        Ok(Box::new(play(self.game(task)?, world, self.play_config())))
    }

    /// The expert's play of a task.
    pub(crate) fn demonstration(
        &self,
        task: usize,
        disturbance: f64,
        seed: u64,
    ) -> Result<Demonstration> {
        let config = DemonstrationConfig {
            disturbance,
            wrong: 0.5,
            max_turns: self.section.max_turns,
            reads_admissible: self.section.show_admissible,
            ties: Ties::ByNumber,
        };
        let mut environment = AlfWorldConfig { step_limit: self.section.max_turns }.init();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        Ok(demonstrate(&mut environment, &self.game(task)?, &config, &mut random)?)
    }

    /// What a model would say to perform `action`.
    pub(crate) fn phrase(&self, action: &str) -> String {
        match self.section.prompt {
            PromptName::Conversation => action.to_owned(),
            PromptName::History => format!("<think></think><action>{action}</action>"),
        }
    }

    fn game(&self, task: usize) -> Result<Arc<Game>> {
        let index = self.games[task];
        match &self.source {
            Source::Files(dataset) => Ok(dataset.game(index)?),
            Source::Generated(config, split) => {
                Ok(Arc::new(generate(config, *split, index as u64)?.to_game()?))
            }
        }
    }

    fn play_config(&self) -> PlayConfig {
        let EnvSection { prompt, show_admissible, reward, max_invalid_streak, .. } = self.section;
        let mut config = match prompt {
            PromptName::Conversation => plain_play(),
            PromptName::History => papers_play(),
        };
        if let PromptForm::Conversation(form) = &mut config.form {
            form.actions = show_admissible.then(ActionList::default);
        }
        let ends_early = self.is_training && max_invalid_streak > 0;
        PlayConfig {
            reward_scale: reward,
            max_invalid_streak: ends_early.then_some(max_invalid_streak),
            ..config
        }
    }
}
