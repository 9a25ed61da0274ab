//! ALFWorld as an [`Environment`]: a world with a step limit that stops when the task is solved.

use std::sync::Arc;

use sapo_core::env::{Environment, Observation, Status, Step};

use super::error::AlfWorldError;
use super::game::Game;
use super::world::World;

/// The limit of the papers and of the Python stack.
pub const DEFAULT_STEP_LIMIT: usize = 50;

/// How episodes are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlfWorldConfig {
    /// The number of steps after which an unsolved episode is truncated. 0 plays one step.
    pub step_limit: usize,
}

impl Default for AlfWorldConfig {
    fn default() -> Self {
        AlfWorldConfig { step_limit: DEFAULT_STEP_LIMIT }
    }
}

impl AlfWorldConfig {
    /// An environment without a game yet.
    pub fn init(self) -> AlfWorld {
        AlfWorld { config: self, episode: None }
    }
}

/// The ALFWorld text world.
///
/// The reward of a step is 1 if it solves the task, which ends the episode, and 0 otherwise. Every
/// command counts as a step, admissible or not. A step after the end repeats the last one.
#[derive(Clone, Debug, Default)]
pub struct AlfWorld {
    config: AlfWorldConfig,
    episode: Option<Episode>,
}

#[derive(Clone, Debug)]
struct Episode {
    world: World,
    steps: usize,
    end: Option<Step>,
}

impl AlfWorld {
    /// An environment with the default step limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// The world in its present state, after a reset.
    pub fn world(&self) -> Option<&World> {
        self.episode.as_ref().map(|episode| &episode.world)
    }
}

impl Environment for AlfWorld {
    type Task = Arc<Game>;
    type Error = AlfWorldError;

    fn reset(&mut self, task: &Arc<Game>) -> Result<Observation, AlfWorldError> {
        let world = World::new(Arc::clone(task));
        let observation = observation(&world);
        self.episode = Some(Episode { world, steps: 0, end: None });
        Ok(observation)
    }

    fn step(&mut self, action: &str) -> Result<Step, AlfWorldError> {
        let episode = self.episode.as_mut().ok_or(AlfWorldError::NotStarted)?;
        if let Some(end) = &episode.end {
            return Ok(end.clone());
        }
        episode.world.step(action);
        episode.steps += 1;
        let step = outcome(&episode.world, episode.steps >= self.config.step_limit);
        episode.end = step.status.is_done().then(|| step.clone());
        Ok(step)
    }
}

fn outcome(world: &World, at_limit: bool) -> Step {
    let status = match (world.won(), at_limit) {
        (true, _) => Status::Terminated,
        (false, true) => Status::Truncated,
        (false, false) => Status::Running,
    };
    Step {
        observation: observation(world),
        reward: world.score(),
        status,
        score: world.score(),
        success: world.won(),
    }
}

fn observation(world: &World) -> Observation {
    Observation {
        text: world.observation().to_owned(),
        admissible: world.admissible().map(str::to_owned).collect(),
    }
}
