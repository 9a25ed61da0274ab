//! Raw ids in the form of the real games: a type and a position in the room.

use std::collections::BTreeSet;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A position as the ids spell it: `_bar__plus_01_dot_23_bar_…`.
fn position(rng: &mut ChaCha8Rng) -> String {
    (0..3)
        .map(|_| {
            let hundredths: i32 = rng.random_range(-399..=399);
            let sign = if hundredths < 0 { "minus" } else { "plus" };
            let (metres, rest) = (hundredths.abs() / 100, hundredths.abs() % 100);
            format!("_bar__{sign}_{metres:02}_dot_{rest:02}")
        })
        .collect()
}

/// Sinks and bathtubs hold things in their basins, whose ids say so at their ends.
pub(super) fn receptacle_id(kind: &str, position: &str) -> String {
    match kind.strip_suffix("Basin") {
        Some(owner) => format!("{owner}{position}_bar_{kind}"),
        None => format!("{kind}{position}"),
    }
}

/// The ids given out so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    given: BTreeSet<String>,
}

impl Ids {
    /// An id that `spell` makes of a position and that was not given out before.
    pub(super) fn fresh(&mut self, rng: &mut ChaCha8Rng, spell: impl Fn(&str) -> String) -> String {
        loop {
            let id = spell(&position(rng));
            if self.given.insert(id.to_lowercase()) {
                return id;
            }
        }
    }

    /// A place to stand: two coordinates, the way it faces, and how far the head is bent.
    pub(super) fn spot(&mut self, rng: &mut ChaCha8Rng) -> String {
        loop {
            let [x, z] = [-16..=16, -16..=16].map(|range| signed(rng.random_range(range)));
            let facing = rng.random_range(0..4);
            let bend = signed(rng.random_range(-2..=4) * 15);
            let id = format!("loc_bar_{x}_bar_{z}_bar_{facing}_bar_{bend}");
            if self.given.insert(id.clone()) {
                return id;
            }
        }
    }
}

fn signed(number: i32) -> String {
    if number < 0 { format!("_minus_{}", -number) } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_basin_belongs_to_its_sink() {
        let id = receptacle_id("SinkBasin", "_bar__plus_01_dot_23");
        assert_eq!(id, "Sink_bar__plus_01_dot_23_bar_SinkBasin");
        assert_eq!(receptacle_id("Shelf", "_bar__plus_01"), "Shelf_bar__plus_01");
    }

    #[test]
    fn below_zero_is_spelled_out() {
        assert_eq!(
            (signed(-12), signed(0), signed(7)),
            ("_minus_12".into(), "0".into(), "7".into())
        );
    }
}
