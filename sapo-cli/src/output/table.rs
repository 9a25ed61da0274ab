//! Aligned columns.

/// Rows with their columns aligned, two blanks apart; numbers to the right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell =
        |row: &Vec<String>, column| row.get(column).map_or(0, |c: &String| c.chars().count());
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| cell(row, column)).max().unwrap_or(0))
        .collect();
    rows.iter().map(|row| line(row, &widths) + "\n").collect()
}

/// A table of names and their values.
pub(crate) fn key_values<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows: Vec<(&str, String)> = pairs.into_iter().collect();
    let width = rows.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
    rows.iter()
        .map(|(key, value)| format!("{key:width$}  {value}").trim_end().to_owned() + "\n")
        .collect()
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, &width)| match is_number(cell) {
        true => format!("{cell:>width$}"),
        false => format!("{cell:width$}"),
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

fn is_number(cell: &str) -> bool {
    cell.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_left_and_numbers_right() {
        let rows =
            [["train", "3,553"], ["valid_seen", "140"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(table(&rows), "train       3,553\nvalid_seen    140\n");
    }

    #[test]
    fn values_stand_in_one_column() {
        let text = key_values([("a", "1".to_owned()), ("long", "x".to_owned())]);
        assert_eq!(text, "a     1\nlong  x\n");
    }
}
