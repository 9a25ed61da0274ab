//! Aligned columns.

/// A table of names and their values.
pub(crate) fn key_values<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows: Vec<(&str, String)> = pairs.into_iter().collect();
    let width = rows.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
    rows.iter()
        .map(|(key, value)| format!("{key:width$}  {value}").trim_end().to_owned() + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_one_column() {
        let text = key_values([("a", "1".to_owned()), ("long", "x".to_owned())]);
        assert_eq!(text, "a     1\nlong  x\n");
    }
}
