//! Writes a scene as the text of a PDDL problem, in the schema of the real games.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::layout::Layout;
use super::rooms::RoomKind;
use super::scene::{CLEANABLE, COOLABLE, HEATABLE, Item, LAMP, Wish};
use crate::alfworld::kind::TaskKind;
use crate::alfworld::places::{can_contain, object_types};

const SLICEABLE: [&str; 6] = ["Apple", "Bread", "Egg", "Lettuce", "Potato", "Tomato"];
const VESSELS: [&str; 7] = ["Bowl", "Box", "Cup", "Mug", "Pan", "Plate", "Pot"];

/// Object types that the domain's rules name although no object here has them.
const NAMED_BY_THE_RULES: [&str; 1] = ["Sink"];

/// The whole problem.
pub(super) fn write_problem(name: &str, layout: &Layout, items: &[Item], wish: &Wish) -> String {
    let mut text = format!("(define (problem {name})\n(:domain alfred)\n(:objects\n");
    for line in declarations(layout, items) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(")\n(:init\n");
    for fact in facts(layout, items) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "({fact})");
    }
    let _ = writeln!(text, ")\n(:goal\n{}\n)\n)", goal(wish));
    text
}

fn declarations(layout: &Layout, items: &[Item]) -> Vec<String> {
    let mut lines = vec!["agent1 - agent".to_owned()];
    let object_types = object_types().chain(NAMED_BY_THE_RULES);
    lines.extend(object_types.map(|kind| format!("{kind}Type - otype")));
    lines.extend(receptacle_types().into_iter().map(|kind| format!("{kind}Type - rtype")));
    lines.extend(items.iter().map(|item| format!("{} - object", item.id)));
    lines.extend(layout.fixtures.iter().map(|fixture| format!("{} - receptacle", fixture.id)));
    let spots: BTreeSet<&str> = layout.fixtures.iter().map(|f| f.spot.as_str()).collect();
    let spots = spots.into_iter().chain([layout.start.as_str()]);
    lines.extend(spots.map(|spot| format!("{spot} - location")));
    lines
}

fn receptacle_types() -> BTreeSet<&'static str> {
    RoomKind::ALL.into_iter().flat_map(RoomKind::furniture).map(|f| f.name).collect()
}

fn facts(layout: &Layout, items: &[Item]) -> Vec<String> {
    let mut facts = vec![format!("atLocation agent1 {}", layout.start)];
    facts.extend(pairs(layout, items));
    for fixture in &layout.fixtures {
        facts.push(format!("receptacleType {} {}Type", fixture.id, fixture.kind));
        facts.push(format!("receptacleAtLocation {} {}", fixture.id, fixture.spot));
        if fixture.openable {
            facts.push(format!("openable {}", fixture.id));
        }
    }
    for item in items {
        let holder = &layout.fixtures[item.holder];
        facts.push(format!("objectType {} {}Type", item.id, item.kind));
        facts.push(format!("inReceptacle {} {}", item.id, holder.id));
        facts.push(format!("objectAtLocation {} {}", item.id, holder.spot));
        facts.extend(abilities(item.kind).map(|ability| format!("{ability} {}", item.id)));
    }
    facts
}

/// What may be put where, for the types that are in the room.
fn pairs(layout: &Layout, items: &[Item]) -> Vec<String> {
    let receptacles: BTreeSet<&str> = layout.fixtures.iter().map(|f| f.kind).collect();
    let objects: BTreeSet<&str> = items.iter().map(|item| item.kind).collect();
    let mut facts = Vec::new();
    for receptacle in receptacles {
        let fitting = objects.iter().filter(|object| can_contain(receptacle, object));
        facts.extend(fitting.map(|object| format!("canContain {receptacle}Type {object}Type")));
    }
    facts
}

fn abilities(kind: &str) -> impl Iterator<Item = &'static str> {
    [
        ("pickupable", kind != LAMP),
        ("toggleable", kind == LAMP),
        ("isReceptacleObject", VESSELS.contains(&kind)),
        ("cleanable", CLEANABLE.contains(&kind)),
        ("heatable", HEATABLE.contains(&kind)),
        ("coolable", COOLABLE.contains(&kind)),
        ("sliceable", SLICEABLE.contains(&kind)),
    ]
    .into_iter()
    .filter_map(|(ability, has)| has.then_some(ability))
}

fn goal(wish: &Wish) -> String {
    let Wish { object, target, .. } = wish;
    let placed = |ability: &str, property: &str| {
        format!(
            "(and (exists (?r - receptacle) (exists (?o - object) (and {ability}(inReceptacle ?o \
             ?r) (objectType ?o {object}Type) (receptacleType ?r {target}Type){property}))))"
        )
    };
    match wish.task {
        TaskKind::PickAndPlaceSimple => placed("", ""),
        TaskKind::PickCleanThenPlaceInRecep => placed("(cleanable ?o) ", " (isClean ?o)"),
        TaskKind::PickHeatThenPlaceInRecep => placed("(heatable ?o) ", " (isHot ?o)"),
        TaskKind::PickCoolThenPlaceInRecep => placed("(coolable ?o) ", " (isCool ?o)"),
        TaskKind::LookAtObjInLight => format!(
            "(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objectType \
             ?ot {target}Type) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l) \
             (atLocation ?a ?l) (inReceptacle ?ot ?r))) (exists (?o - object ?a - agent) (and \
             (objectType ?o {object}Type) (holds ?a ?o))))"
        ),
        TaskKind::PickTwoObjAndPlace => {
            let both = |o: &str| {
                format!(
                    "(objectType {o} {object}Type) (receptacleType ?r {target}Type) (inReceptacle \
                     {o} ?r)"
                )
            };
            format!(
                "(and (exists (?r - receptacle) (exists (?o1 - object) (and {} (exists (?o2 - \
                 object) (and (not (= ?o1 ?o2)) {}))))))",
                both("?o1"),
                both("?o2")
            )
        }
    }
}

/// The task in words: the real games have two wordings of each type, used about equally often.
pub(super) fn task_sentence(wish: &Wish, second_wording: bool) -> String {
    let (o, r) = (wish.object.to_lowercase(), wish.target.to_lowercase());
    match (wish.task, second_wording) {
        (TaskKind::PickAndPlaceSimple, false) => format!("put a {o} in {r}."),
        (TaskKind::PickAndPlaceSimple, true) => format!("put some {o} on {r}."),
        (TaskKind::LookAtObjInLight, false) => format!("look at {o} under the {r}."),
        (TaskKind::LookAtObjInLight, true) => format!("examine the {o} with the {r}."),
        (TaskKind::PickCleanThenPlaceInRecep, false) => format!("put a clean {o} in {r}."),
        (TaskKind::PickCleanThenPlaceInRecep, true) => format!("clean some {o} and put it in {r}."),
        (TaskKind::PickHeatThenPlaceInRecep, false) => format!("put a hot {o} in {r}."),
        (TaskKind::PickHeatThenPlaceInRecep, true) => format!("heat some {o} and put it in {r}."),
        (TaskKind::PickCoolThenPlaceInRecep, false) => format!("put a cool {o} in {r}."),
        (TaskKind::PickCoolThenPlaceInRecep, true) => format!("cool some {o} and put it in {r}."),
        (TaskKind::PickTwoObjAndPlace, false) => format!("put two {o} in {r}."),
        (TaskKind::PickTwoObjAndPlace, true) => format!("find two {o} and put them in {r}."),
    }
}
