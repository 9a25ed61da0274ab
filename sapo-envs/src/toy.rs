//! Small worlds for tests and first steps: their few words need only a tiny model.

mod corridor;
mod echo;

pub use corridor::{Corridor, CorridorTask};
pub use echo::{Echo, EchoTask};

/// What toy worlds refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToyError {
    /// A step before a reset.
    #[error("the world was not started; call reset before step")]
    NotStarted,
    /// A task without a turn.
    #[error("the task has no words; give it at least one")]
    NoWords,
    /// A task outside its world.
    #[error("there is no place {place} among {places}; count places from 0")]
    NoSuchPlace {
        /// The place that was named.
        place: usize,
        /// How many there are.
        places: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Check, check_env};

    #[test]
    fn toy_worlds_are_sound() {
        let corridor = [CorridorTask { rooms: 3, start: 1, key: 0 }];
        let echo = [EchoTask { words: vec!["red".into(), "blue".into()] }];
        let mut checks = check_env(|| Corridor::new(50), &corridor, 0);
        checks.extend(check_env(Echo::new, &echo, 0));
        let failed: Vec<Check> = checks.into_iter().filter(|check| !check.passed).collect();
        assert_eq!(failed, []);
    }
}
