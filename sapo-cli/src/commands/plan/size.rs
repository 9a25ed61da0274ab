//! Sizes of memory as people write them.

use std::str::FromStr;

/// So many bytes, written as in `80GB` (10^9 bytes each) or `80GiB` (2^30 bytes each).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemorySize {
    /// As it was written.
    pub(super) text: String,
    pub(super) bytes: u64,
}

const UNITS: [(&str, f64); 6] = [
    ("TB", 1e12),
    ("GB", 1e9),
    ("MB", 1e6),
    ("TiB", 1_099_511_627_776.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
];

impl FromStr for MemorySize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit = |(unit, bytes): (&str, f64)| {
            let start = text.len().checked_sub(unit.len())?;
            let is_unit = text.get(start..)?.eq_ignore_ascii_case(unit);
            is_unit.then(|| (text[..start].trim(), bytes))
        };
        let read = UNITS.into_iter().find_map(unit).and_then(|(number, bytes)| {
            let number: f64 = number.parse().ok()?;
            (number > 0.0 && number <= 1e6).then_some((number * bytes) as u64)
        });
        match read {
            Some(bytes) => Ok(MemorySize { text: text.to_owned(), bytes }),
            None => Err("write a number and a unit, as in 80GB or 80GiB".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decimal_or_binary() {
        let bytes = |text: &str| text.parse::<MemorySize>().map(|size| size.bytes);
        assert_eq!(bytes("80GB"), Ok(80_000_000_000));
        assert_eq!(bytes("1.5 gib"), Ok(1_610_612_736));
        for wrong in ["80", "GB", "-1GB", "0MB", "nanGB", "infGB", "80€"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
