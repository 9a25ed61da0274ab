//! Worlds for language-model agents.

pub mod alfworld;
pub mod check;
