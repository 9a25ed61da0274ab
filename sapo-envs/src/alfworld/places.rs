//! Which receptacles may hold an object, and how often they do.
//!
//! The pairs are those of ALFRED's public object-receptacle table. The numbers are counts over the
//! public ALFWorld training games: of the receptacles of that type, in rooms that have such an object,
//! so many per cent hold one at the start. 1 stands for "allowed, but hardly ever seen". The expert
//! searches by these numbers, the generator places objects by them.

/// One object type a line, then receptacle types, each with its per cent; the likeliest first.
const PLACES: &str = "\
AlarmClock: DiningTable 67 Desk 54 CounterTop 52 Dresser 45 SideTable 39 Shelf 12
Apple: Fridge 37 DiningTable 36 SideTable 36 GarbageCan 25 Microwave 24 CounterTop 21 SinkBasin 16
BaseballBat: Bed 1 DiningTable 1 SideTable 1
BasketBall: Bed 1 Desk 1 DiningTable 1 Dresser 1 SideTable 1
Book: Bed 60 CoffeeTable 46 Desk 43 CounterTop 33 DiningTable 33 Dresser 27 Sofa 18 ArmChair 15 SideTable 9 Cabinet 4 TVStand 4 Drawer 3 Shelf 2 Ottoman 1
Bowl: Desk 73 DiningTable 35 Dresser 34 TVStand 32 CoffeeTable 31 Fridge 30 CounterTop 18 Shelf 11 SideTable 9 Microwave 6 SinkBasin 6 Cabinet 5
Box: DiningTable 41 CoffeeTable 28 Sofa 26 Desk 13 TVStand 12 Cabinet 5 Dresser 5 SideTable 5 Ottoman 4 ArmChair 3 Shelf 2
Bread: DiningTable 51 CounterTop 34 Fridge 16 SideTable 9 GarbageCan 2 Microwave 1
ButterKnife: DiningTable 49 CounterTop 39 SideTable 25 SinkBasin 9 Drawer 3
CD: DiningTable 67 Dresser 46 Desk 44 SideTable 26 GarbageCan 14 ArmChair 13 Cabinet 8 Drawer 8 Safe 6 Shelf 4 CounterTop 1
Candle: SideTable 56 CounterTop 53 Toilet 48 CoffeeTable 39 TVStand 33 DiningTable 30 Cart 27 Dresser 25 Shelf 23 Cabinet 10 Drawer 8
CellPhone: CoffeeTable 49 Bed 42 Desk 41 DiningTable 40 Dresser 37 Ottoman 35 TVStand 30 CounterTop 27 Sofa 26 ArmChair 21 SideTable 20 Safe 18 Shelf 6 Drawer 5 Cabinet 1
Cloth: BathtubBasin 62 Cart 37 CounterTop 37 Dresser 23 Cabinet 20 Toilet 8 Drawer 7 Shelf 7 SinkBasin 7 ArmChair 1 Desk 1 DiningTable 1 GarbageCan 1 LaundryHamper 1 SideTable 1
CreditCard: Dresser 40 Desk 39 TVStand 38 DiningTable 36 Sofa 33 CoffeeTable 30 CounterTop 28 SideTable 26 Ottoman 19 ArmChair 17 Shelf 9 Drawer 8 Safe 1
Cup: DiningTable 36 Fridge 35 SideTable 26 CounterTop 18 SinkBasin 18 Microwave 13 Shelf 6 Cabinet 3
DeskLamp: SideTable 42 Desk 40 Dresser 36 CoffeeTable 16 Shelf 4
DishSponge: BathtubBasin 44 DiningTable 30 Cart 28 CounterTop 22 Toilet 21 SinkBasin 14 SideTable 13 Shelf 12 GarbageCan 11 Drawer 7 Cabinet 3
Egg: Fridge 36 DiningTable 32 SideTable 28 GarbageCan 23 SinkBasin 23 CounterTop 21 Microwave 19
Fork: DiningTable 48 CounterTop 31 SideTable 25 SinkBasin 15 Drawer 7
Glassbottle: DiningTable 37 CounterTop 19 SinkBasin 18 Fridge 15 GarbageCan 14 Shelf 9 Cabinet 4 Microwave 1
HandTowel: HandTowelHolder 81 CounterTop 5 BathtubBasin 1 Cabinet 1 Cart 1 Drawer 1 GarbageCan 1 Shelf 1 SideTable 1 SinkBasin 1 Toilet 1
Kettle: DiningTable 26 StoveBurner 18 CounterTop 17 Cabinet 3 SinkBasin 3 Shelf 1 SideTable 1
KeyChain: Desk 36 CoffeeTable 34 Dresser 34 Safe 32 DiningTable 31 TVStand 28 SideTable 25 Ottoman 19 ArmChair 14 Sofa 13 Shelf 8 Drawer 7 CounterTop 4 Cabinet 2
Knife: DiningTable 47 CounterTop 34 SideTable 16 SinkBasin 8 Drawer 6
Ladle: DiningTable 57 CounterTop 32 Cabinet 4 Drawer 4 SinkBasin 3
Laptop: Bed 70 CounterTop 48 DiningTable 41 Desk 35 Sofa 33 CoffeeTable 31 Dresser 17 TVStand 17 Ottoman 8 ArmChair 5 SideTable 4
Lettuce: DiningTable 52 Fridge 31 CounterTop 27 SideTable 25 SinkBasin 8 GarbageCan 3
Mug: Desk 60 CoffeeMachine 42 Dresser 36 DiningTable 30 CounterTop 26 SideTable 26 Fridge 24 Microwave 14 SinkBasin 12 Shelf 8 Cabinet 3
Newspaper: DiningTable 49 Dresser 44 CoffeeTable 31 Sofa 28 SideTable 19 Ottoman 17 ArmChair 16 Shelf 13 TVStand 13 Cabinet 1 Drawer 1 GarbageCan 1
Pan: CounterTop 24 StoveBurner 24 DiningTable 9 Fridge 7 Cabinet 1 SideTable 1 SinkBasin 1
Pen: DiningTable 65 Desk 59 CoffeeTable 52 Dresser 47 CounterTop 31 SideTable 29 TVStand 24 Shelf 11 Drawer 6 GarbageCan 5
Pencil: DiningTable 51 Desk 49 Dresser 40 SideTable 38 CoffeeTable 36 CounterTop 25 TVStand 16 Shelf 11 GarbageCan 10 Drawer 6
PepperShaker: DiningTable 36 SideTable 32 CounterTop 25 Shelf 10 Cabinet 5 Drawer 5
Pillow: Bed 93 Sofa 70 ArmChair 14 Ottoman 1
Plate: DiningTable 38 CoffeeTable 24 TVStand 22 CounterTop 21 Dresser 18 Fridge 15 SideTable 10 Cabinet 5 Shelf 5 SinkBasin 5 Microwave 1
Plunger: Cabinet 1 Cart 1
Pot: StoveBurner 33 DiningTable 11 CounterTop 10 Fridge 7 Cabinet 1 Shelf 1 SideTable 1 SinkBasin 1
Potato: DiningTable 38 Fridge 38 SideTable 26 CounterTop 25 SinkBasin 19 Microwave 18 GarbageCan 13
RemoteControl: Desk 51 CounterTop 45 CoffeeTable 42 DiningTable 39 Dresser 35 TVStand 35 Sofa 29 SideTable 16 Ottoman 12 ArmChair 10 Drawer 3 Shelf 2
SaltShaker: DiningTable 37 SideTable 36 CounterTop 25 Shelf 9 Cabinet 5 Drawer 4
SoapBar: SideTable 64 CounterTop 39 BathtubBasin 35 Toilet 35 Cart 26 GarbageCan 17 Shelf 14 SinkBasin 14 Cabinet 12 Drawer 7
SoapBottle: Dresser 45 DiningTable 44 Toilet 38 CounterTop 29 SideTable 26 GarbageCan 18 Shelf 16 Cart 15 Cabinet 5 Drawer 1
Spatula: DiningTable 50 CounterTop 33 SinkBasin 15 SideTable 9 Drawer 6
Spoon: DiningTable 44 CounterTop 29 SideTable 29 SinkBasin 19 Drawer 8
SprayBottle: SideTable 72 Cart 47 CounterTop 45 Toilet 45 DiningTable 33 Dresser 24 GarbageCan 20 Shelf 20 Cabinet 8 Drawer 1
Statue: Desk 53 DiningTable 48 CoffeeTable 41 Dresser 35 TVStand 33 CounterTop 28 SideTable 26 Shelf 20 Safe 1
TennisRacket: Bed 1 Desk 1 DiningTable 1 Dresser 1 SideTable 1
TissueBox: CounterTop 68 Desk 53 CoffeeTable 47 DiningTable 45 TVStand 28 Cart 26 Shelf 19 Dresser 18 SideTable 17 Cabinet 11 Toilet 7 Drawer 6 GarbageCan 3
ToiletPaper: Dresser 52 CounterTop 45 Toilet 45 SideTable 38 Cart 30 Shelf 23 ToiletPaperHanger 22 GarbageCan 21 Cabinet 10 Drawer 6
Tomato: Fridge 47 DiningTable 43 SideTable 29 CounterTop 24 GarbageCan 19 SinkBasin 12 Microwave 1
Towel: TowelHolder 87 CounterTop 3
Vase: Dresser 56 CoffeeTable 39 DiningTable 39 Desk 34 TVStand 30 CounterTop 27 Shelf 23 SideTable 18 Cabinet 6 Safe 1
Watch: TVStand 50 DiningTable 43 CoffeeTable 35 Dresser 35 Desk 34 SideTable 25 Drawer 8 Shelf 5
WateringCan: CoffeeTable 16 Shelf 15 Cabinet 1 Desk 1 DiningTable 1 Drawer 1 Dresser 1 SideTable 1
WineBottle: DiningTable 49 CounterTop 32 GarbageCan 18 Shelf 6 Cabinet 3 Fridge 3 SideTable 2\
";

/// Places where objects lie at the start although nothing of that type may be put there.
const NOT_RETURNABLE: [(&str, &str); 7] = [
    ("CellPhone", "Cabinet"),
    ("CD", "ArmChair"),
    ("KeyChain", "Cabinet"),
    ("Glassbottle", "GarbageCan"),
    ("Towel", "CounterTop"),
    ("SoapBottle", "Dresser"),
    ("DeskLamp", "*"),
];

/// The receptacle types that open and close, at least most of them.
const OPENABLE: [&str; 5] = ["Cabinet", "Drawer", "Fridge", "Microwave", "Safe"];

/// The object types of the table, in alphabetical order.
pub(crate) fn object_types() -> impl Iterator<Item = &'static str> {
    rows().map(|(object, _)| object)
}

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    PLACES.lines().filter_map(|line| line.split_once(": "))
}

/// The places of an object type with their per cents; the type's case does not matter.
pub(crate) fn places_of(object: &str) -> impl Iterator<Item = (&'static str, u32)> {
    let row = rows().find(|(name, _)| name.eq_ignore_ascii_case(object));
    let mut words = row.map_or("", |(_, places)| places).split_ascii_whitespace();
    std::iter::from_fn(move || Some((words.next()?, words.next()?.parse().ok()?)))
}

/// How likely a receptacle of that type holds such an object, in per cent; 0 for a pair not listed.
pub(crate) fn likelihood(object: &str, receptacle: &str) -> u32 {
    places_of(object)
        .find(|(place, _)| place.eq_ignore_ascii_case(receptacle))
        .map_or(0, |(_, per_cent)| per_cent)
}

/// Whether such an object may be put into such a receptacle.
pub(crate) fn can_contain(receptacle: &str, object: &str) -> bool {
    let barred = NOT_RETURNABLE.iter().any(|(o, r)| {
        o.eq_ignore_ascii_case(object) && (*r == "*" || r.eq_ignore_ascii_case(receptacle))
    });
    let stand = receptacle.eq_ignore_ascii_case("TVStand");
    !barred && !stand && likelihood(object, receptacle) > 0
}

/// Whether receptacles of this type usually have a door or a lid.
pub(crate) fn is_openable(receptacle: &str) -> bool {
    OPENABLE.iter().any(|name| name.eq_ignore_ascii_case(receptacle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_reads_as_pairs_of_a_place_and_a_per_cent() {
        assert_eq!(rows().count(), PLACES.lines().count());
        for (object, row) in rows() {
            let places: Vec<_> = places_of(object).collect();
            assert_eq!(places.len() * 2, row.split_ascii_whitespace().count(), "{object}");
            assert!(places.iter().all(|(_, per_cent)| (1..100).contains(per_cent)), "{object}");
        }
    }

    #[test]
    fn a_lamp_is_found_on_a_desk_but_cannot_be_put_there() {
        assert!(likelihood("desklamp", "desk") > 0);
        assert!(!can_contain("Desk", "DeskLamp"));
        assert!(can_contain("diningtable", "mug"));
    }
}
