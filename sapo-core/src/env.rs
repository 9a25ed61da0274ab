//! Worlds that an agent acts in: [`Environment`] is what a world's author writes, [`Dialogue`] is what
//! the [rollout](crate::rollout) plays.
//!
//! An environment knows text and rewards and nothing of prompts. A dialogue adds the prompt's form and
//! the reading of replies, and hides the environment's types, so that different worlds share a batch.

use std::error::Error;

use serde::{Deserialize, Serialize};

/// What the agent is shown, before its first action or after any later one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The text of the observation, as the world words it.
    pub text: String,
    /// The actions that the world accepts now, in its own order; empty where it keeps no such list.
    pub admissible: Vec<String>,
}

/// How a step left the episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It goes on.
    Running,
    /// The task ended in a terminal state.
    Terminated,
    /// The task's time limit was reached.
    Truncated,
}

impl Status {
    /// Whether no further step may follow.
    pub fn is_done(self) -> bool {
        self != Status::Running
    }
}

/// The outcome of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What the agent sees next.
    pub observation: Observation,
    /// The reward of this step alone, in the world's own units.
    pub reward: f32,
    /// Whether and how the episode ended.
    pub status: Status,
    /// The task's score so far, from 0 to 1.
    pub score: f32,
    /// Whether the task is solved.
    pub success: bool,
}

/// A world with text observations and text actions.
///
/// `reset` may be called at any time; `step` only after a `reset`. Two environments share no mutable
/// state: steps may be interleaved in any order, on any threads.
pub trait Environment: Send {
    /// One task of this world: a game file, a shopping goal.
    type Task;
    /// What can go wrong in the world itself. An odd action is no error: the world answers it.
    type Error: Error + Send + Sync + 'static;

    /// Starts `task` and returns the first observation.
    ///
    /// # Errors
    /// If the world cannot start the task.
    fn reset(&mut self, task: &Self::Task) -> Result<Observation, Self::Error>;

    /// Performs `action`.
    ///
    /// # Errors
    /// If the world itself fails; it answers an odd action.
    fn step(&mut self, action: &str) -> Result<Step, Self::Error>;
}

/// Who speaks in a chat message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The environment.
    User,
    /// The agent.
    Assistant,
}

/// A chat message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: String,
}

impl Message {
    /// A message of the environment.
    pub fn user(content: impl Into<String>) -> Self {
        Message { role: Role::User, content: content.into() }
    }

    /// Standing instructions.
    pub fn system(content: impl Into<String>) -> Self {
        Message { role: Role::System, content: content.into() }
    }
}

/// What the model is given before it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// A context of its own: a new stream begins with these messages.
    Fresh(Vec<Message>),
    /// These messages follow the model's last reply in the same stream.
    Continue(Vec<Message>),
}

/// What became of a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The action that was read out of the reply.
    pub action: String,
    /// Whether the reply had the form that was asked for.
    pub valid: bool,
    /// The reward of the action, scaled as training wants it.
    pub reward: f32,
    /// Whether and how the episode ended.
    pub status: Status,
    /// The task's score so far, from 0 to 1.
    pub score: f32,
    /// Whether the task is solved.
    pub success: bool,
    /// What the model sees next, also after the last step (a truncated episode may bootstrap from it).
    pub next: Prompt,
}

/// One task played as a conversation: an [`Environment`], a prompt's form and a reading of replies.
pub trait Dialogue: Send {
    /// The task's name, unique within its world: it labels episodes and defines groups of equal tasks.
    fn task(&self) -> &str;

    /// The kind of task, for reports by kind; may be empty.
    fn kind(&self) -> &str;

    /// Starts, or starts again, and returns the first prompt.
    ///
    /// # Errors
    /// If the task cannot be started.
    fn open(&mut self) -> Result<Prompt, DialogueError>;

    /// Reads an action out of `reply` and performs it.
    ///
    /// # Errors
    /// If the world fails.
    fn reply(&mut self, reply: &str) -> Result<Exchange, DialogueError>;
}

/// A task cannot be played, through no fault of the agent: its world failed, or its first prompt is too long.
#[derive(Debug, thiserror::Error)]
#[error("task {task}: {source}")]
pub struct DialogueError {
    /// The task that was being played.
    pub task: String,
    /// What is wrong.
    pub source: Box<dyn Error + Send + Sync>,
}
