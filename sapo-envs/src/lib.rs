//! Worlds for language-model agents.

pub mod alfworld;
