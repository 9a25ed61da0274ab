//! ALFWorld: household tasks as text games, played by an exact native engine.
//!
//! The engine gives the observations, the admissible commands with their order, the score and the end of
//! an episode to the letter as the Python stack does (alfworld 0.4.2 on textworld 1.7.0), for the game
//! files of its releases. It is written for the [rule sets](RuleSet) of those files and is no general PDDL
//! interpreter: a file with other rules is refused.
//!
//! ```text
//! folder or pack ─ Dataset ─ Arc<Game> ─ World (no limit) ─ AlfWorld: Environment (50 steps)
//! ```
//!
//! What in it looks like a slip is the world's own way: `go to` is not offered for receptacles at the
//! present spot, `examine` of an object needs it in hand, `use` always turns on, a room is described in
//! the introduction only.

pub mod demonstration;
pub mod expert;
pub mod generator;
pub mod prompt;
pub mod replay;

mod actions;
mod bench;
mod bits;
mod build;
mod commands;
mod dataset;
mod env;
mod error;
#[cfg(test)]
mod fixture;
mod game;
mod goal;
mod kind;
mod names;
mod numbering;
mod observe;
mod pack;
mod places;
mod problem;
mod rules;
mod source;
mod state;
#[cfg(test)]
mod tests;
mod tokens;
mod walkthrough;
mod world;

pub use bench::{AlfWorldSpeed, bench_alfworld};
pub use dataset::Dataset;
pub use env::{AlfWorld, AlfWorldConfig, DEFAULT_STEP_LIMIT};
pub use error::{AlfWorldError, GAME_FILE};
pub use game::Game;
pub use kind::TaskKind;
pub use pack::write_pack;
pub use rules::RuleSet;
pub use source::PackLine;
pub use walkthrough::{LostWalkthrough, WalkthroughReport, win_walkthroughs};
pub use world::World;
