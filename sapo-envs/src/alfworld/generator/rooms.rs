//! What rooms of each kind contain, after the rooms of ALFRED.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::alfworld::kind::TaskKind;

/// The kind of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoomKind {
    /// Has a fridge, a microwave and a sink: the only place to heat and cool.
    Kitchen,
    /// Has a sofa and tables.
    LivingRoom,
    /// Has a bed and often a desk lamp.
    Bedroom,
    /// Has a sink and a toilet.
    Bathroom,
}

/// A receptacle type in a room.
pub(super) struct Furniture {
    pub(super) name: &'static str,
    /// Every room of the kind has so many.
    pub(super) least: usize,
    pub(super) most: usize,
    /// How many an average room has.
    pub(super) usual: f64,
}

/// An object type in a room, and how many an average room has.
pub(super) struct Thing {
    pub(super) name: &'static str,
    pub(super) usual: f64,
}

/// The same object type is there at most so often.
pub(super) const MOST_OF_A_TYPE: usize = 4;

impl RoomKind {
    /// Every kind.
    pub const ALL: [RoomKind; 4] =
        [RoomKind::Kitchen, RoomKind::LivingRoom, RoomKind::Bedroom, RoomKind::Bathroom];

    /// Rooms are numbered from here, as in ALFRED: 1 is a kitchen, 201 a living room.
    pub(super) fn first_number(self) -> u32 {
        match self {
            RoomKind::Kitchen => 1,
            RoomKind::LivingRoom => 201,
            RoomKind::Bedroom => 301,
            RoomKind::Bathroom => 401,
        }
    }

    /// How many receptacles real rooms have.
    pub(super) fn usual_receptacles(self) -> RangeInclusive<usize> {
        match self {
            RoomKind::Kitchen => 20..=46,
            RoomKind::LivingRoom => 6..=24,
            RoomKind::Bedroom => 7..=22,
            RoomKind::Bathroom => 10..=19,
        }
    }

    /// How many objects that can be picked up real rooms have.
    pub(super) fn usual_objects(self) -> RangeInclusive<usize> {
        match self {
            RoomKind::Kitchen => 32..=58,
            RoomKind::LivingRoom => 12..=29,
            RoomKind::Bedroom => 16..=33,
            RoomKind::Bathroom => 13..=23,
        }
    }

    /// How often the real games set a task of this type in such a room.
    pub(super) fn share_of(self, task: TaskKind) -> u32 {
        use TaskKind as T;
        match (self, task) {
            (RoomKind::Kitchen, T::PickAndPlaceSimple) => 92,
            (RoomKind::Kitchen, T::PickCleanThenPlaceInRecep) => 541,
            (RoomKind::Kitchen, T::PickHeatThenPlaceInRecep) => 498,
            (RoomKind::Kitchen, T::PickCoolThenPlaceInRecep) => 579,
            (RoomKind::Kitchen, T::PickTwoObjAndPlace) => 131,
            (RoomKind::LivingRoom, T::PickAndPlaceSimple) => 226,
            (RoomKind::LivingRoom, T::LookAtObjInLight) => 53,
            (RoomKind::LivingRoom, T::PickTwoObjAndPlace) => 226,
            (RoomKind::Bedroom, T::PickAndPlaceSimple) => 251,
            (RoomKind::Bedroom, T::LookAtObjInLight) => 286,
            (RoomKind::Bedroom, T::PickTwoObjAndPlace) => 249,
            (RoomKind::Bathroom, T::PickAndPlaceSimple) => 280,
            (RoomKind::Bathroom, T::PickCleanThenPlaceInRecep) => 167,
            (RoomKind::Bathroom, T::PickTwoObjAndPlace) => 248,
            _ => 0,
        }
    }

    pub(super) fn furniture(self) -> impl Iterator<Item = Furniture> {
        rows(match self {
            RoomKind::Kitchen => KITCHEN_FURNITURE,
            RoomKind::LivingRoom => LIVING_ROOM_FURNITURE,
            RoomKind::Bedroom => BEDROOM_FURNITURE,
            RoomKind::Bathroom => BATHROOM_FURNITURE,
        })
        .filter_map(|row| match row[..] {
            [name, least, most, usual] => Some(Furniture {
                name,
                least: least.parse().ok()?,
                most: most.parse().ok()?,
                usual: usual.parse().ok()?,
            }),
            _ => None,
        })
    }

    pub(super) fn things(self) -> impl Iterator<Item = Thing> {
        rows(match self {
            RoomKind::Kitchen => KITCHEN_THINGS,
            RoomKind::LivingRoom => LIVING_ROOM_THINGS,
            RoomKind::Bedroom => BEDROOM_THINGS,
            RoomKind::Bathroom => BATHROOM_THINGS,
        })
        .filter_map(|row| match row[..] {
            [name, usual] => Some(Thing { name, usual: usual.parse().ok()? }),
            _ => None,
        })
    }
}

/// Rows are separated by commas, words within a row by blanks.
fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.split(',').map(|row| row.split_ascii_whitespace().collect())
}

// Type, least, most, average number; counted over the rooms of the public games.

const KITCHEN_FURNITURE: &str = "
    SinkBasin 1 1 1, Microwave 1 1 1, Fridge 1 1 1, CounterTop 1 4 2.3, Cabinet 0 27 13.3,
    Drawer 0 27 5.8, StoveBurner 0 6 4.1, CoffeeMachine 0 1 1, Toaster 0 1 1, GarbageCan 0 1 1,
    DiningTable 0 3 0.7, Shelf 0 3 0.7, SideTable 0 1 0.1, Safe 0 1 0.1";
const LIVING_ROOM_FURNITURE: &str = "
    Sofa 1 2 1.2, ArmChair 0 3 1.3, SideTable 0 5 1.6, CoffeeTable 0 2 1, Drawer 0 21 4,
    DiningTable 0 2 0.6, Dresser 0 2 0.4, Shelf 0 14 2.4, TVStand 0 2 0.4, Cabinet 0 8 0.8,
    Ottoman 0 1 0.1, Safe 0 1 0.1, Desk 0 1 0.1, GarbageCan 0 1 1";
const BEDROOM_FURNITURE: &str = "
    Bed 1 2 1.2, Drawer 0 17 5.9, Desk 0 2 0.9, Shelf 0 14 3.1, SideTable 0 2 0.8, Dresser 0 2 0.5,
    LaundryHamper 0 1 0.3, Safe 0 1 0.2, ArmChair 0 3 0.3, Cabinet 0 4 0.4, DiningTable 0 1 0.1,
    GarbageCan 0 1 1";
const BATHROOM_FURNITURE: &str = "
    SinkBasin 1 2 1.5, Toilet 1 1 1, CounterTop 0 2 1, HandTowelHolder 0 4 1.5, TowelHolder 0 2 1.3,
    ToiletPaperHanger 0 1 1, BathtubBasin 0 1 0.7, Drawer 0 8 2.6, Cabinet 0 9 2, Shelf 0 4 0.5,
    Cart 0 1 0.1, Dresser 0 1 0.1, SideTable 0 1 0.1, GarbageCan 0 1 1";

// Type, average number.

const KITCHEN_THINGS: &str = "
    Spoon 2, Mug 2, Bread 1.6, SoapBottle 2, Pot 1.5, Cup 2, Fork 2, Knife 1.9, PepperShaker 2.1,
    Potato 2, Egg 2, Tomato 2, Bowl 2, DishSponge 2, Apple 2, Lettuce 1.8, Pan 1.4, Plate 1.9,
    Spatula 2, SaltShaker 2, ButterKnife 1.9, Kettle 0.9, WineBottle 0.8, Ladle 0.7, Glassbottle 0.5,
    Vase 0.5, Statue 0.3, CellPhone 0.3, CreditCard 0.3, Book 0.2, Pencil 0.1, SprayBottle 0.1, Pen 0.1";
const LIVING_ROOM_THINGS: &str = "
    RemoteControl 2.1, CreditCard 2.1, Box 1.4, Laptop 1.4, KeyChain 2, Pillow 1.1, Statue 2.2,
    Newspaper 1.2, Vase 1.6, Watch 1.1, WateringCan 0.5, TissueBox 0.7, Plate 0.6, Book 0.5,
    CellPhone 0.5, Pen 0.4, Pencil 0.3, Bowl 0.2, Candle 0.2";
const BEDROOM_THINGS: &str = "
    Pencil 2, KeyChain 2.1, CreditCard 2, CellPhone 2.1, Laptop 1.6, CD 2.1, AlarmClock 1.7, Pen 2.1,
    Book 1.9, Pillow 1.7, Mug 1, Bowl 0.8, Box 0.5, BaseballBat 0.5, BasketBall 0.4, TennisRacket 0.4,
    Cloth 0.3, Statue 0.2, TissueBox 0.2, RemoteControl 0.2, Watch 0.1, Vase 0.1";
const BATHROOM_THINGS: &str = "
    Candle 2.1, ToiletPaper 2.3, Cloth 2, SprayBottle 2, SoapBottle 2, SoapBar 2.1, HandTowel 1.2,
    Plunger 1, Towel 1.1, TissueBox 0.5, DishSponge 0.5";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alfworld::places::{likelihood, object_types};

    #[test]
    fn every_row_of_the_tables_is_read() {
        for kind in RoomKind::ALL {
            assert!(kind.furniture().count() > 10, "{kind:?}");
            assert!(kind.furniture().all(|f| f.least <= f.most && f.usual > 0.0), "{kind:?}");
        }
        let furniture =
            [KITCHEN_FURNITURE, LIVING_ROOM_FURNITURE, BEDROOM_FURNITURE, BATHROOM_FURNITURE];
        let written: usize = furniture.iter().map(|table| rows(table).count()).sum();
        assert_eq!(
            RoomKind::ALL.iter().map(|kind| kind.furniture().count()).sum::<usize>(),
            written
        );
    }

    #[test]
    fn every_thing_has_a_place_in_its_room() {
        for kind in RoomKind::ALL {
            for thing in kind.things() {
                assert!(object_types().any(|name| name == thing.name), "{}", thing.name);
                let fits = kind.furniture().any(|f| likelihood(thing.name, f.name) > 0);
                assert!(fits, "{} in {kind:?}", thing.name);
            }
        }
    }
}
