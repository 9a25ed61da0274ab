//! A small hand-written kitchen for tests: two receptacles share a spot, an object is in both.

use std::fmt::Write as _;
use std::sync::Arc;

use super::game::Game;
use super::rules::RuleSet;
use super::source::PackLine;

/// Declarations of things, then facts about them; receptacles as `id type place`.
const RECEPTACLES: [(&str, &str, &str); 6] = [
    ("Desk_bar_1", "DeskType", "loc_bar_1"),
    ("Drawer_bar_1", "DrawerType", "loc_bar_1"),
    ("Fridge_bar_1", "FridgeType", "loc_bar_2"),
    ("Microwave_bar_1", "MicrowaveType", "loc_bar_3"),
    ("Sink_bar_1_bar_SinkBasin", "SinkBasinType", "loc_bar_4"),
    ("Shelf_bar_1", "ShelfType", "loc_bar_5"),
];

/// Objects as `id type receptacle abilities`.
const OBJECTS: [(&str, &str, &str, &str); 8] = [
    ("Apple_bar_1", "AppleType", "Desk_bar_1", "pickupable cleanable heatable coolable sliceable"),
    ("DeskLamp_bar_1", "DeskLampType", "Drawer_bar_1", "toggleable"),
    ("Knife_bar_1", "KnifeType", "Desk_bar_1", "pickupable cleanable"),
    ("Mug_bar_1", "MugType", "Shelf_bar_1", "pickupable heatable cleanable isReceptacleObject"),
    ("Pen_bar_1", "PenType", "Fridge_bar_1", "pickupable"),
    ("Pen_bar_2", "PenType", "Desk_bar_1", "pickupable"),
    // The first index of an object whose type is a sink's: no receptacle of that index cleans.
    ("AAA_bar_1", "SinkType", "Sink_bar_1_bar_SinkBasin", "toggleable"),
    ("Potato_bar_1", "PotatoType", "Shelf_bar_1", "pickupable heatable coolable isCool"),
];

/// The goal of looking at the pen under the lamp.
pub(crate) const LOOK_GOAL: &str = "(and
    (exists (?ot - object ?r - receptacle ?a - agent ?l - location)
        (and (objectType ?ot DeskLampType) (toggleable ?ot) (isToggled ?ot)
             (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))
    (exists (?o - object ?a - agent) (and (objectType ?o PenType) (holds ?a ?o))))";

/// The goal of putting a cool apple on the desk.
pub(crate) const COOL_GOAL: &str = "(and (exists (?r - receptacle) (exists (?o - object)
    (and (coolable ?o) (objectType ?o AppleType) (receptacleType ?r DeskType) (isCool ?o)
         (inReceptacle ?o ?r)))))";

/// The goal of putting two pens on the shelf.
pub(crate) const TWO_GOAL: &str = "(and (exists (?r - receptacle) (exists (?o1 - object)
    (and (objectType ?o1 PenType) (receptacleType ?r ShelfType) (inReceptacle ?o1 ?r)
         (exists (?o2 - object) (and (not (= ?o1 ?o2)) (objectType ?o2 PenType)
              (receptacleType ?r ShelfType) (inReceptacle ?o2 ?r)))))))";

/// The problem's text with a goal.
pub(crate) fn problem(goal: &str) -> String {
    let mut objects =
        "agent1 - agent\nloc_bar_0 loc_bar_1 loc_bar_2 loc_bar_3 loc_bar_4 loc_bar_5 \
                       - location\n"
            .to_owned();
    let mut facts = "(atLocation agent1 loc_bar_0) (inReceptacle Pen_bar_2 Drawer_bar_1)
        (openable Drawer_bar_1) (openable Fridge_bar_1) (inReceptacleObject Pen_bar_1 Mug_bar_1)\n"
        .to_owned();
    let place_of = |id: &str| RECEPTACLES.iter().find(|it| it.0 == id).map_or("", |it| it.2);
    for (id, kind, place) in RECEPTACLES {
        let _ = writeln!(objects, "{id} - receptacle {kind} - rtype");
        let _ = writeln!(facts, "(receptacleType {id} {kind}) (receptacleAtLocation {id} {place})");
        for (_, object_type, _, _) in OBJECTS.iter().filter(|it| it.0 != "Pen_bar_2") {
            let _ = writeln!(facts, "(canContain {kind} {object_type})");
        }
    }
    for (id, kind, receptacle, abilities) in OBJECTS {
        let _ = write!(objects, "{id} - object ");
        objects.push_str(&if id == "Pen_bar_2" {
            String::new()
        } else {
            format!("{kind} - otype\n")
        });
        let place = place_of(receptacle);
        let _ = writeln!(
            facts,
            "(objectType {id} {kind}) (inReceptacle {id} {receptacle}) (objectAtLocation {id} {place})"
        );
        for ability in abilities.split(' ') {
            let _ = writeln!(facts, "({ability} {id})");
        }
    }
    format!(
        "(define (problem kitchen) (:domain alfred)\n(:objects {objects})\n(:init {facts})\n(:goal {goal}))"
    )
}

/// The kitchen as a line of a pack.
pub(crate) fn line(rules: RuleSet, goal: &str) -> PackLine {
    PackLine {
        name: "train/pick_and_place_simple-Pen-None-Desk-1/trial_1".to_owned(),
        rules,
        task: "do something.".to_owned(),
        problem: problem(goal),
        walkthrough: Vec::new(),
    }
}

/// The kitchen as a game.
pub(crate) fn game(rules: RuleSet, goal: &str) -> Arc<Game> {
    Arc::new(line(rules, goal).to_game().expect("the fixture is well-formed"))
}
