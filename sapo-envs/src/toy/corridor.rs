//! Rooms in a row, a key in one of them, a locked door in the last.

use sapo_core::env::{Environment, Observation, Status, Step};

use super::ToyError;

/// Which corridor is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorridorTask {
    /// How many rooms there are.
    pub rooms: usize,
    /// The room in which the agent starts, counted from 0.
    pub start: usize,
    /// The room in which the key lies.
    pub key: usize,
}

/// A corridor: find the key, carry it to the last room, open the door.
///
/// The reward is 1 for the opened door, which ends the episode, and 0 otherwise.
#[derive(Clone, Debug)]
pub struct Corridor {
    step_limit: usize,
    state: Option<State>,
}

#[derive(Clone, Debug)]
struct State {
    task: CorridorTask,
    room: usize,
    has_key: bool,
    open: bool,
    steps: usize,
    end: Option<Step>,
}

impl Corridor {
    /// A corridor whose episodes are truncated after `step_limit` steps.
    pub fn new(step_limit: usize) -> Self {
        Corridor { step_limit, state: None }
    }

    /// The action of a player who knows where the key is; nothing before a reset or after the end.
    pub fn expert(&self) -> Option<&'static str> {
        let state = self.state.as_ref().filter(|state| !state.open)?;
        let goal = if state.has_key { state.task.rooms - 1 } else { state.task.key };
        Some(match (state.room.cmp(&goal), state.has_key) {
            (std::cmp::Ordering::Less, _) => "go right",
            (std::cmp::Ordering::Greater, _) => "go left",
            (std::cmp::Ordering::Equal, false) => "take key",
            (std::cmp::Ordering::Equal, true) => "open door",
        })
    }
}

impl Environment for Corridor {
    type Task = CorridorTask;
    type Error = ToyError;

    fn reset(&mut self, task: &CorridorTask) -> Result<Observation, ToyError> {
        let CorridorTask { rooms, start, key } = *task;
        if let Some(place) = [start, key].into_iter().find(|place| *place >= rooms) {
            return Err(ToyError::NoSuchPlace { place, places: rooms });
        }
        let state =
            State { task: *task, room: start, has_key: false, open: false, steps: 0, end: None };
        let text = format!("task: open the door. {}", state.view());
        let shown = Observation { text, ..state.shown() };
        self.state = Some(state);
        Ok(shown)
    }

    fn step(&mut self, action: &str) -> Result<Step, ToyError> {
        let state = self.state.as_mut().ok_or(ToyError::NotStarted)?;
        if let Some(end) = &state.end {
            return Ok(end.clone());
        }
        let happened = state.act(action);
        state.steps += 1;
        let mut observation = state.shown();
        if !happened {
            observation.text = "nothing happens.".into();
        }
        let status = match (state.open, state.steps >= self.step_limit) {
            (true, _) => Status::Terminated,
            (false, true) => Status::Truncated,
            (false, false) => Status::Running,
        };
        let score = if state.open { 1.0 } else { 0.0 };
        let step = Step { observation, reward: score, status, score, success: state.open };
        state.end = status.is_done().then(|| step.clone());
        Ok(step)
    }
}

impl State {
    /// Performs an action; whether anything came of it.
    fn act(&mut self, action: &str) -> bool {
        if !self.admissible().iter().any(|admissible| admissible == action) {
            return false;
        }
        match action {
            "go left" => self.room -= 1,
            "go right" => self.room += 1,
            "take key" => self.has_key = true,
            _ => self.open = true,
        }
        true
    }

    fn admissible(&self) -> Vec<String> {
        let actions = [
            ("go left", self.room > 0),
            ("go right", !self.at_door()),
            ("open door", self.at_door() && self.has_key),
            ("take key", self.sees_key()),
        ];
        actions.into_iter().filter(|(_, can)| *can && !self.open).map(|(a, _)| a.into()).collect()
    }

    fn at_door(&self) -> bool {
        self.room + 1 == self.task.rooms
    }

    fn sees_key(&self) -> bool {
        self.room == self.task.key && !self.has_key
    }

    fn shown(&self) -> Observation {
        Observation { text: self.view(), admissible: self.admissible() }
    }

    fn view(&self) -> String {
        if self.open {
            return "the door is open.".into();
        }
        let things = [
            ("a key", self.sees_key()),
            ("a door", self.at_door()),
            ("a way left", self.room > 0),
            ("a way right", !self.at_door()),
        ];
        let seen: Vec<&str> =
            things.into_iter().filter(|(_, here)| *here).map(|(thing, _)| thing).collect();
        let hand = if self.has_key { " you have the key." } else { "" };
        format!("you see {}.{hand}", seen.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: CorridorTask = CorridorTask { rooms: 3, start: 1, key: 0 };

    #[test]
    fn the_expert_solves_every_corridor() {
        for (start, key) in (0..3).flat_map(|start| (0..3).map(move |key| (start, key))) {
            let mut corridor = Corridor::new(9);
            corridor.reset(&CorridorTask { rooms: 3, start, key }).unwrap();
            let mut rewards = Vec::new();
            while let Some(action) = corridor.expert() {
                let step = corridor.step(action).unwrap();
                rewards.push(step.reward);
                assert_eq!(step.success, step.status == Status::Terminated);
            }
            // To the key, take it, to the door, open it.
            assert_eq!(rewards.len(), start.abs_diff(key) + 1 + (2 - key) + 1);
            assert_eq!(rewards.iter().sum::<f32>(), 1.0);
        }
    }

    #[test]
    fn what_is_seen_and_admissible_follows_the_state() {
        let mut corridor = Corridor::new(9);
        let first = corridor.reset(&TASK).unwrap();
        assert_eq!(first.text, "task: open the door. you see a way left and a way right.");
        assert_eq!(first.admissible, ["go left", "go right"]);
        let step = corridor.step("go left").unwrap();
        assert_eq!(step.observation.text, "you see a key and a way right.");
        assert_eq!(step.observation.admissible, ["go right", "take key"]);
        let step = corridor.step("take key").unwrap();
        assert_eq!(step.observation.text, "you see a way right. you have the key.");
    }

    #[test]
    fn the_door_stays_shut_without_the_key() {
        let mut corridor = Corridor::new(9);
        corridor.reset(&TASK).unwrap();
        corridor.step("go right").unwrap();
        let step = corridor.step("open door").unwrap();
        assert_eq!(step.observation.text, "nothing happens.");
        assert!(!step.success);
    }

    #[test]
    fn an_episode_is_truncated_at_its_limit() {
        let mut corridor = Corridor::new(2);
        corridor.reset(&TASK).unwrap();
        assert_eq!(corridor.step("wait").unwrap().status, Status::Running);
        assert_eq!(corridor.step("wait").unwrap().status, Status::Truncated);
    }

    #[test]
    fn a_task_outside_the_corridor_is_refused() {
        let task = CorridorTask { rooms: 3, start: 0, key: 3 };
        let refused = Corridor::new(9).reset(&task).unwrap_err();
        assert_eq!(refused, ToyError::NoSuchPlace { place: 3, places: 3 });
        assert_eq!(Corridor::new(9).step("wait").unwrap_err(), ToyError::NotStarted);
    }
}
