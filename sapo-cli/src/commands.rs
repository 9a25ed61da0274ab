//! One module a command: its arguments and what it does.

pub(crate) mod completions;
pub(crate) mod env;
pub(crate) mod eval;
mod games;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod plan;
pub(crate) mod play;
pub(crate) mod train;
