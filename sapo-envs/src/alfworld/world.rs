//! A game being played, without time limit: the engine under the environment.

use std::sync::Arc;

use super::actions::{list_admissible, perform};
use super::commands::Rank;
use super::game::Game;
use super::observe::{NOTHING_HAPPENS, Writer};
use super::state::State;

/// A game in some state.
///
/// A clone is a snapshot: worlds share only the immutable game.
///
/// `won` says whether the goal holds in the present state; it can hold and fail again, and playing may
/// go on after it. The [environment](super::AlfWorld) ends the episode instead.
#[derive(Clone, Debug)]
pub struct World {
    game: Arc<Game>,
    state: State,
    admissible: Vec<Rank>,
    text: String,
    won: bool,
}

impl World {
    /// The game at its start, with the introduction as the observation.
    pub fn new(game: Arc<Game>) -> Self {
        let state = game.start.clone();
        let mut world = World {
            won: game.is_won(&state),
            game,
            state,
            admissible: Vec::with_capacity(64),
            text: String::with_capacity(1024),
        };
        let World { game, state, text, .. } = &mut world;
        Writer { game, state, text }.intro();
        list_admissible(&world.game, &world.state, &mut world.admissible);
        world
    }

    /// Performs a command and returns the observation. Blanks around it are ignored; a command that is
    /// not admissible, to the letter, changes nothing.
    pub fn step(&mut self, command: &str) -> &str {
        let World { game, state, admissible, text, won } = self;
        text.clear();
        let command = strip(command);
        match admissible.binary_search_by(|&rank| game.commands.text(rank).cmp(command)) {
            Ok(index) => {
                let action = game.commands.action(admissible[index]);
                perform(game, state, action);
                Writer { game, state, text }.outcome(action);
                list_admissible(game, state, admissible);
                *won = game.is_won(state);
            }
            Err(_) => text.push_str(NOTHING_HAPPENS),
        }
        &self.text
    }

    /// The latest observation.
    pub fn observation(&self) -> &str {
        &self.text
    }

    /// The commands admissible now, in the order that players see: by code point.
    pub fn admissible(&self) -> impl ExactSizeIterator<Item = &str> {
        self.admissible.iter().map(|&rank| self.game.commands.text(rank))
    }

    /// Whether the goal holds now.
    pub fn won(&self) -> bool {
        self.won
    }

    /// 1 if the goal holds now, else 0.
    pub fn score(&self) -> f32 {
        f32::from(self.won)
    }

    /// The game being played.
    pub fn game(&self) -> &Arc<Game> {
        &self.game
    }
}

/// Removes what Python's `str.strip` removes: Unicode blanks and the four ASCII separators.
fn strip(command: &str) -> &str {
    command.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_stripped_as_python_does() {
        assert_eq!(strip(" \t\u{1c}look\u{1f}\u{a0}\u{3000}\n"), "look");
        assert_eq!(strip("\u{200b}look\0"), "\u{200b}look\0");
    }
}
