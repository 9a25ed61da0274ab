//! The names that players see, made from the raw ids: `mug_bar__plus_01…` becomes `mug 2`.

use std::collections::HashMap;

/// What ends the type's name in a raw id.
const SEPARATOR: &str = "_bar_";

/// The name of each id. Each type is numbered from the highest number down in the order of the ids.
///
/// `ids` must be sorted by code point, without repeats, and hold every id that a fact mentions.
pub(crate) fn player_names<'a>(ids: &[&'a str]) -> HashMap<&'a str, String> {
    let mut left: HashMap<String, usize> = HashMap::new();
    for kind in ids.iter().filter_map(|id| kind(id)) {
        *left.entry(kind).or_default() += 1;
    }
    let mut name = |id: &&'a str| {
        let name = match kind(id).and_then(|kind| left.get_mut(&kind).map(|left| (kind, left))) {
            Some((kind, left)) => {
                *left -= 1;
                format!("{kind} {}", *left + 1)
            }
            // The Python code leaves the blank before the number that such an id has not.
            None => format!("{} ", unescape(id)),
        };
        (*id, name)
    };
    ids.iter().map(&mut name).collect()
}

/// The type's name: what stands before the separator, and `basin` if the id has that anywhere.
fn kind(id: &str) -> Option<String> {
    let (kind, _) = id.split_once(SEPARATOR)?;
    let suffix = if id.contains("basin") { "basin" } else { "" };
    Some(format!("{}{suffix}", unescape(kind)))
}

fn unescape(text: &str) -> String {
    let mut text = text.to_owned();
    for (code, sign) in [("_minus_", "-"), ("_plus_", "+"), ("_dot_", "."), ("_comma_", ",")] {
        if text.contains(code) {
            text = text.replace(code, sign);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_numbered_from_the_highest_number_down() {
        let names = player_names(&["mug_bar_a", "mug_bar_b", "pen_bar_a"]);
        assert_eq!(names["mug_bar_a"], "mug 2");
        assert_eq!(names["mug_bar_b"], "mug 1");
        assert_eq!(names["pen_bar_a"], "pen 1");
    }

    #[test]
    fn an_id_with_basin_appends_it_to_the_type() {
        let names = player_names(&["sink_bar_a", "sink_bar_a_bar_sinkbasin"]);
        assert_eq!(names["sink_bar_a"], "sink 1");
        assert_eq!(names["sink_bar_a_bar_sinkbasin"], "sinkbasin 1");
    }

    #[test]
    fn an_id_without_a_place_has_no_number_but_keeps_the_blank() {
        assert_eq!(player_names(&["mug"])["mug"], "mug ");
    }
}
