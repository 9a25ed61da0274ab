//! The six types of task, as the names of the games' folders tell them.

use serde::{Deserialize, Serialize};

/// The type of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Put an object somewhere.
    PickAndPlaceSimple,
    /// Look at an object under a lamp.
    LookAtObjInLight,
    /// Clean an object and put it somewhere.
    PickCleanThenPlaceInRecep,
    /// Heat an object and put it somewhere.
    PickHeatThenPlaceInRecep,
    /// Cool an object and put it somewhere.
    PickCoolThenPlaceInRecep,
    /// Put two objects of a type in one receptacle.
    PickTwoObjAndPlace,
}

impl TaskKind {
    /// Every type, in the order of the Python stack's numbers 1 to 6.
    pub const ALL: [TaskKind; 6] = [
        TaskKind::PickAndPlaceSimple,
        TaskKind::LookAtObjInLight,
        TaskKind::PickCleanThenPlaceInRecep,
        TaskKind::PickHeatThenPlaceInRecep,
        TaskKind::PickCoolThenPlaceInRecep,
        TaskKind::PickTwoObjAndPlace,
    ];

    /// The name, as folder names begin with.
    pub fn name(self) -> &'static str {
        match self {
            TaskKind::PickAndPlaceSimple => "pick_and_place_simple",
            TaskKind::LookAtObjInLight => "look_at_obj_in_light",
            TaskKind::PickCleanThenPlaceInRecep => "pick_clean_then_place_in_recep",
            TaskKind::PickHeatThenPlaceInRecep => "pick_heat_then_place_in_recep",
            TaskKind::PickCoolThenPlaceInRecep => "pick_cool_then_place_in_recep",
            TaskKind::PickTwoObjAndPlace => "pick_two_obj_and_place",
        }
    }

    /// The type that a game's path tells: the last part of the path that begins with a type's name.
    pub fn from_path(path: &str) -> Option<TaskKind> {
        let of_part = |part: &str| Self::ALL.into_iter().find(|kind| part.starts_with(kind.name()));
        path.rsplit(['/', '\\']).find_map(of_part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_tells_the_type() {
        let path = "train/pick_heat_then_place_in_recep-Egg-None-Bin-2/trial_1/game.tw-pddl";
        assert_eq!(TaskKind::from_path(path), Some(TaskKind::PickHeatThenPlaceInRecep));
        assert_eq!(TaskKind::from_path("elsewhere/game.tw-pddl"), None);
    }
}
