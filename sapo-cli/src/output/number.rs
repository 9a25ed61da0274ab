//! Numbers as people read them.

/// A count with a comma between each three digits.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share from 0 to 1 in percent with one decimal.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A number of bytes in the unit that leaves a whole part of one to three digits.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(f64, &str, usize); 4] =
        [(1e12, "TB", 2), (1e9, "GB", 1), (1e6, "MB", 1), (1e3, "kB", 1)];
    match UNITS.into_iter().find(|(unit, ..)| count as f64 >= *unit) {
        Some((unit, name, places)) => format!("{:.places$} {name}", count as f64 / unit),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_between_each_three_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn shares_are_told_in_percent() {
        assert_eq!(percent(0.875), "87.5 %");
    }

    #[test]
    fn bytes_have_a_unit_of_their_size() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1_500_000), "1.5 MB");
        assert_eq!(bytes(80_000_000_000), "80.0 GB");
        assert_eq!(bytes(1_234_000_000_000), "1.23 TB");
    }
}
