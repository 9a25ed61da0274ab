//! From an [`Environment`] to a [`Dialogue`](sapo_core::env::Dialogue): how observations become prompts
//! and replies become actions.
//!
//! Two forms of prompts exist. [`Conversation`] is append-only: each observation is a new message of one
//! chat. [`History`] is the papers': every turn is a chat of its own that retells the last turns. Which
//! part of a reply is the action is said by a [`Projection`]. [`Play`] joins them with a world and a task.
//!
//! [`Environment`]: sapo_core::env::Environment

mod actions;
mod conversation;
mod history;
mod play;
mod projection;
mod wording;

use sapo_core::env::{Observation, Prompt};

pub use actions::ActionList;
pub use conversation::Conversation;
pub use history::History;
pub use play::{Play, PlayConfig};
pub use projection::{Projected, Projection};
pub use wording::{Wording, WordingError};

/// A turn that has been played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastTurn {
    /// What the agent saw before it acted.
    pub observation: String,
    /// The action that was read out of its reply.
    pub action: String,
}

/// All that a prompt may tell.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// What is to be done.
    pub task: &'a str,
    /// The turns played so far, in their order.
    pub past: &'a [PastTurn],
    /// What is seen now.
    pub now: &'a Observation,
}

/// How an episode is shown to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptForm {
    /// One chat that grows.
    Conversation(Conversation),
    /// A new chat each turn.
    History(History),
}

impl PromptForm {
    /// The prompt of a scene.
    pub fn prompt(&self, scene: Scene<'_>) -> Prompt {
        match self {
            PromptForm::Conversation(form) => form.prompt(scene),
            PromptForm::History(form) => form.prompt(scene),
        }
    }
}
