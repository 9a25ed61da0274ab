//! Plays the walkthroughs that come with games: each must win.

use super::dataset::Dataset;
use super::error::AlfWorldError;
use super::game::Game;
use super::world::World;
use std::sync::Arc;

/// A walkthrough that does not win.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostWalkthrough {
    /// The game.
    pub game: String,
    /// The first command that was not admissible, if any.
    pub refused: Option<String>,
}

/// What playing the walkthroughs of a dataset found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkthroughReport {
    /// How many walkthroughs were played.
    pub played: usize,
    /// How many games have none.
    pub without: usize,
    /// Those that do not win.
    pub lost: Vec<LostWalkthrough>,
}

/// Plays every walkthrough of a dataset. Games are not kept in memory.
///
/// # Errors
/// If a game cannot be read; a walkthrough that does not win is no error.
pub fn win_walkthroughs(dataset: &Dataset) -> Result<WalkthroughReport, AlfWorldError> {
    let mut report = WalkthroughReport::default();
    for index in 0..dataset.len() {
        let game = Arc::new(dataset.load(index)?);
        if game.walkthrough().is_empty() {
            report.without += 1;
        } else {
            report.played += 1;
            report.lost.extend(play_walkthrough(&game).err());
        }
    }
    Ok(report)
}

/// Plays a game's walkthrough, which must win at its last command.
fn play_walkthrough(game: &Arc<Game>) -> Result<(), LostWalkthrough> {
    let mut world = World::new(Arc::clone(game));
    let mut refused = None;
    for command in game.walkthrough() {
        if refused.is_none() && !world.admissible().any(|admissible| admissible == command) {
            refused = Some(command.clone());
        }
        world.step(command);
    }
    if world.won() && refused.is_none() {
        return Ok(());
    }
    Err(LostWalkthrough { game: game.name().to_owned(), refused })
}
