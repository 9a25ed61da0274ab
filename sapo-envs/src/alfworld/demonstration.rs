//! Games played by the expert for a model to imitate, with somebody jogging its elbow.
//!
//! Clean play never shows what a mistake looks like, nor how to go on after one. So now and then a
//! random or a wrong action is executed in the expert's place. Such turns carry no loss: the model
//! shall learn to recover from mistakes, not to make them.

mod disturb;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use sapo_core::env::{Environment, Observation};

use super::expert::{Expert, Ties, UnknownTask};

/// How demonstrations are played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DemonstrationConfig {
    /// The chance that a turn's action is not the expert's, from 0 to 1.
    pub disturbance: f64,
    /// The share of wrong actions, which the world refuses, among the disturbances, from 0 to 1.
    pub wrong: f64,
    /// The turns after which a game that is not won is given up.
    pub max_turns: usize,
    /// Whether the expert may read the admissible list. Where the model is not shown it, the expert
    /// should not know it either.
    pub reads_admissible: bool,
    /// The order of receptacles that seem equally good.
    pub ties: Ties,
}

impl Default for DemonstrationConfig {
    fn default() -> Self {
        DemonstrationConfig {
            disturbance: 0.2,
            wrong: 0.5,
            max_turns: 50,
            reads_admissible: false,
            ties: Ties::ByNumber,
        }
    }
}

/// One turn: what was seen, what was done, and whether that is worth imitating.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemonstrationTurn {
    /// What was shown before the action.
    pub observation: Observation,
    /// The action that was executed.
    pub action: String,
    /// False for a disturbance: its tokens must carry no loss.
    pub imitate: bool,
}

/// A game as it was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demonstration {
    /// The turns in order; not empty unless no turn was allowed.
    pub turns: Vec<DemonstrationTurn>,
    /// What the last action led to.
    pub last: Observation,
    /// Whether the game was won.
    pub won: bool,
}

/// Why a game could not be demonstrated.
#[derive(Debug, thiserror::Error)]
pub enum DemonstrationError<E: std::error::Error + 'static> {
    /// The world failed.
    #[error("the world failed during a demonstration: {0}")]
    World(#[source] E),
    /// The expert cannot play this task.
    #[error(transparent)]
    Task(#[from] UnknownTask),
}

/// Plays `task` to its end.
///
/// # Errors
/// If the world fails, or if its first observation states no task that the expert knows.
pub fn demonstrate<E: Environment>(
    environment: &mut E,
    task: &E::Task,
    config: &DemonstrationConfig,
    rng: &mut ChaCha8Rng,
) -> Result<Demonstration, DemonstrationError<E::Error>> {
    let mut observation = environment.reset(task).map_err(DemonstrationError::World)?;
    let mut expert = Expert::new(&observation.text, config.ties)?;
    let mut turns = Vec::new();
    let mut won = false;
    while turns.len() < config.max_turns {
        if config.reads_admissible {
            expert.notice_admissible(&observation.admissible);
        }
        let (action, imitate) = choose(&expert, &observation, config, rng);
        let step = environment.step(&action).map_err(DemonstrationError::World)?;
        expert.observe(&action, &step.observation.text);
        turns.push(DemonstrationTurn { observation, action, imitate });
        observation = step.observation;
        won = step.success;
        if step.status.is_done() {
            break;
        }
    }
    Ok(Demonstration { turns, last: observation, won })
}

/// The action of this turn, and whether it is the expert's.
///
/// A disturbance that happens to be what the expert wanted is still not imitated: the kinds of
/// turns stay apart, and the share of disturbed turns is what was asked for.
fn choose(
    expert: &Expert,
    observation: &Observation,
    config: &DemonstrationConfig,
    rng: &mut ChaCha8Rng,
) -> (String, bool) {
    if !rng.random_bool(config.disturbance.clamp(0.0, 1.0)) {
        return (expert.act(), true);
    }
    let wrong = rng.random_bool(config.wrong.clamp(0.0, 1.0));
    let admissible = &observation.admissible;
    let random = (!wrong).then(|| random_admissible(expert, admissible, rng)).flatten();
    (random.unwrap_or_else(|| disturb::wrong_action(expert, observation, rng)), false)
}

/// Any admissible action but `help`, whose long answer teaches nothing, and but those that lose the
/// game for good: what no receptacle takes back stays in the hands for ever.
fn random_admissible(
    expert: &Expert,
    admissible: &[String],
    rng: &mut ChaCha8Rng,
) -> Option<String> {
    let taken =
        |action: &str| Some(action.strip_prefix("take ")?.split_once(" from ")?.0.to_owned());
    let traps = |action: &str| taken(action).is_some_and(|object| !expert.could_put_down(&object));
    let useful: Vec<&String> =
        admissible.iter().filter(|action| *action != "help" && !traps(action)).collect();
    useful.choose(rng).map(|&action| action.clone())
}

#[cfg(test)]
mod tests;
