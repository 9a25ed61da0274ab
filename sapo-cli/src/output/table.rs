//! Aligned columns.

/// A table of names and their values.
pub(crate) fn key_values<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows: Vec<(&str, String)> = pairs.into_iter().collect();
    let width = rows.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
    rows.iter()
        .map(|(key, value)| format!("{key:width$}  {value}").trim_end().to_owned() + "\n")
        .collect()
}

/// A table of lines; the first column is of names, the others are of numbers.
pub(crate) fn table(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |(column, text): (usize, &String)| match column {
        0 => format!("{text:width$}", width = widths[0]),
        _ => format!("  {text:>width$}", width = widths[column]),
    };
    lines.iter().map(|line| line.iter().enumerate().map(cell).collect::<String>() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_one_column() {
        let text = key_values([("a", "1".to_owned()), ("long", "x".to_owned())]);
        assert_eq!(text, "a     1\nlong  x\n");
    }

    #[test]
    fn numbers_stand_right_below_their_heading() {
        let line = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let text = table(&[line(["", "size"]), line(["all", "1"])]);
        assert_eq!(text, "     size\nall     1\n");
    }
}
