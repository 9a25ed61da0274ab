//! Worlds for language-model agents.

pub mod alfworld;
pub mod check;
pub mod prompt;
pub mod toy;
