//! Reads observations and actions into facts.

/// An action taken apart. The names are as the game writes them, such as `mug 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act<'a> {
    GoTo(&'a str),
    Open(&'a str),
    Take(&'a str, &'a str),
    Put(&'a str, &'a str),
    Use(&'a str),
    Treat(&'a str, &'a str, &'a str),
    Other,
}

/// Takes an action apart, in the words of any rule set.
pub(super) fn read_action(action: &str) -> Act<'_> {
    let action = action.trim();
    let Some((verb, rest)) = action.split_once(' ') else { return Act::Other };
    let pair = |link: &str| rest.split_once(link);
    match verb {
        "go" => rest.strip_prefix("to ").map_or(Act::Other, Act::GoTo),
        "open" => Act::Open(rest),
        "use" => Act::Use(rest),
        "take" => pair(" from ").map_or(Act::Other, |(o, r)| Act::Take(o, r)),
        "move" => pair(" to ").map_or(Act::Other, |(o, r)| Act::Put(o, r)),
        "put" => pair(" in/on ").map_or(Act::Other, |(o, r)| Act::Put(o, r)),
        "clean" | "heat" | "cool" => {
            pair(" with ").map_or(Act::Other, |(o, r)| Act::Treat(verb, o, r))
        }
        _ => Act::Other,
    }
}

/// What one sentence of an observation tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fact<'a> {
    /// The agent went somewhere.
    Arrived,
    /// An older rule set speaks: it names a place by number, or says "put".
    OldWording,
    /// A receptacle has a door, and it is shut.
    Closed(&'a str),
    /// A receptacle has a door, and it is open.
    Opened(&'a str),
    /// All that a receptacle holds.
    Holds(&'a str, Vec<&'a str>),
    Taken(&'a str, &'a str),
    Put(&'a str, &'a str),
    Treated(&'a str, &'a str),
    Carrying(Vec<&'a str>),
    /// All receptacles at the agent's spot.
    Facing(Vec<&'a str>),
}

/// Whether the world refused the action.
pub(super) fn is_refusal(observation: &str) -> bool {
    observation.trim() == "Nothing happens."
}

/// The facts of an observation, in its order.
pub(super) fn read_observation(text: &str) -> Vec<Fact<'_>> {
    let mut facts = Vec::new();
    let mut subject = None;
    for sentence in text.split('.').map(str::trim).filter(|sentence| !sentence.is_empty()) {
        read_sentence(sentence, &mut subject, &mut facts);
    }
    facts
}

fn read_sentence<'a>(s: &'a str, subject: &mut Option<&'a str>, facts: &mut Vec<Fact<'a>>) {
    if let Some(place) = s.strip_prefix("You arrive at ") {
        facts.push(Fact::Arrived);
        facts.extend(place.starts_with("loc ").then_some(Fact::OldWording));
    } else if let Some(list) = s.strip_prefix("In it, you see ") {
        facts.extend(subject.take().map(|name| Fact::Holds(name, read_list(list))));
    } else if let Some((name, list)) = two_parts(s, "On the ", ", you see ") {
        facts.push(Fact::Holds(name, read_list(list)));
    } else if let Some((object, place)) = two_parts(s, "You pick up the ", " from the ") {
        facts.push(Fact::Taken(object, place));
    } else if let Some((object, place)) = two_parts(s, "You move the ", " to the ") {
        facts.push(Fact::Put(object, place));
    } else if let Some((object, place)) = two_parts(s, "You put the ", " in/on the ") {
        facts.extend([Fact::OldWording, Fact::Put(object, place)]);
    } else if let Some(list) = s.strip_prefix("You are carrying: ") {
        facts.push(Fact::Carrying(read_list(list)));
    } else if s == "You are not carrying anything" {
        facts.push(Fact::Carrying(Vec::new()));
    } else if let Some(list) = s.strip_prefix("You are facing the ") {
        facts.push(Fact::Facing(read_list(list)));
    } else if let Some(name) = s.strip_prefix("You open the ") {
        facts.push(Fact::Opened(name));
    } else if let Some(name) = s.strip_prefix("You close the ") {
        facts.push(Fact::Closed(name));
    } else if let Some(state) = s.strip_prefix("The ") {
        read_door(state, subject, facts);
    } else {
        read_treatment(s, facts);
    }
}

fn read_door<'a>(state: &'a str, subject: &mut Option<&'a str>, facts: &mut Vec<Fact<'a>>) {
    if let Some(name) = state.strip_suffix(" is closed") {
        facts.push(Fact::Closed(name));
    } else if let Some(name) = state.strip_suffix(" is open") {
        *subject = Some(name);
        facts.push(Fact::Opened(name));
    }
}

fn read_treatment<'a>(s: &'a str, facts: &mut Vec<Fact<'a>>) {
    for verb in ["clean", "heat", "cool"] {
        let rest = s.strip_prefix("You ").and_then(|rest| rest.strip_prefix(verb));
        let object = rest.and_then(|rest| two_parts(rest, " the ", " using the "));
        if let Some((object, _)) = object {
            facts.push(Fact::Treated(&s["You ".len()..][..verb.len()], object));
        }
    }
}

fn two_parts<'a>(s: &'a str, prefix: &str, link: &str) -> Option<(&'a str, &'a str)> {
    s.strip_prefix(prefix)?.split_once(link)
}

/// Reads "a mug 1, a pen 2, and a cup 3"; articles may be missing, and "nothing" is the empty list.
pub(super) fn read_list(list: &str) -> Vec<&str> {
    list.split(", ")
        .map(|item| item.strip_prefix("and ").unwrap_or(item))
        .map(|item| item.strip_prefix("a ").or(item.strip_prefix("an ")).unwrap_or(item).trim())
        .filter(|item| !item.is_empty() && *item != "nothing")
        .collect()
}

/// The receptacles that the intro names.
pub(super) fn read_room(intro: &str) -> Vec<&str> {
    let list = intro.split_once("you see ").and_then(|(_, rest)| rest.split_once('.'));
    list.map_or_else(Vec::new, |(list, _)| read_list(list))
}

/// The type within a name: `mug` of `mug 1`.
pub(super) fn type_of(name: &str) -> &str {
    name.split_once(' ').map_or(name, |(kind, _)| kind)
}

/// The number within a name: 1 of `mug 1`.
pub(super) fn number_of(name: &str) -> u32 {
    name.split_once(' ').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arriving_at_an_open_drawer_tells_the_door_and_the_contents() {
        let text =
            "You arrive at drawer 1. The drawer 1 is open. In it, you see a pen 1, and a cd 2.";
        let expected = vec![
            Fact::Arrived,
            Fact::Opened("drawer 1"),
            Fact::Holds("drawer 1", vec!["pen 1", "cd 2"]),
        ];
        assert_eq!(read_observation(text), expected);
    }

    #[test]
    fn an_empty_shelf_holds_an_empty_list() {
        let facts = read_observation("You arrive at loc 3. On the shelf 1, you see nothing.");
        let expected = vec![Fact::Arrived, Fact::OldWording, Fact::Holds("shelf 1", vec![])];
        assert_eq!(facts, expected);
    }

    #[test]
    fn what_is_inside_an_examined_mug_is_not_taken_for_a_receptacles_contents() {
        assert_eq!(read_observation("This is a normal mug 1. In it, you see a pen 1."), vec![]);
    }

    #[test]
    fn actions_of_all_rule_sets_are_taken_apart() {
        assert_eq!(read_action("move mug 1 to desk 2"), Act::Put("mug 1", "desk 2"));
        assert_eq!(read_action("put mug 1 in/on desk 2"), Act::Put("mug 1", "desk 2"));
        assert_eq!(read_action("go to desk 2"), Act::GoTo("desk 2"));
        assert_eq!(read_action("look"), Act::Other);
    }

    #[test]
    fn treatments_and_moves_become_facts() {
        let heated = read_observation("You heat the egg 1 using the microwave 1.");
        assert_eq!(heated, vec![Fact::Treated("heat", "egg 1")]);
        let put = read_observation("You put the egg 1 in/on the desk 1.");
        assert_eq!(put, vec![Fact::OldWording, Fact::Put("egg 1", "desk 1")]);
    }

    #[test]
    fn the_room_is_read_from_the_intro() {
        let intro = "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking \
                     quickly around you, you see a bed 1, a desk 2, and a desk 1.\n\nYour task is to: x.";
        assert_eq!(read_room(intro), ["bed 1", "desk 2", "desk 1"]);
    }
}
