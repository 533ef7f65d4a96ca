//! Columns of text, aligned, in a given width.

use std::fmt::Write;

use crate::format::printable;

/// Which side of its column a text keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A column: its head, its texts, and how readily it is given up when width is short.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) head: &'static str,
    pub(super) align: Align,
    /// Columns of a higher number are left out first; 0 is never left out.
    pub(super) dispensable: u8,
    pub(super) texts: Vec<String>,
}

impl Column {
    pub(super) fn new(
        head: &'static str,
        align: Align,
        dispensable: u8,
        texts: Vec<String>,
    ) -> Self {
        let texts = texts.iter().map(|text| printable(text)).collect();
        Self { head, align, dispensable, texts }
    }

    fn width(&self) -> usize {
        self.texts
            .iter()
            .map(|text| columns_of(text))
            .chain([columns_of(self.head)])
            .max()
            .unwrap_or(0)
    }

    /// Whether no row has anything to say here.
    fn says_nothing(&self) -> bool {
        self.texts.iter().all(|text| text.is_empty())
    }
}

/// The gap between columns.
const GAP: usize = 2;

/// The least width of a first column that is cut to fit.
const LEAST_FIRST: usize = 16;

/// Sets the columns side by side, leaving out what `width` has no room for and saying so.
pub(super) fn grid(columns: Vec<Column>, width: usize) -> String {
    let mut kept: Vec<Column> = columns
        .into_iter()
        .filter(|column| column.dispensable == 0 || !column.says_nothing())
        .collect();
    let mut left_out: Vec<&'static str> = Vec::new();
    while least_width(&kept) > width {
        let Some(place) = most_dispensable(&kept) else { break };
        left_out.push(kept.remove(place).head);
    }
    if let Some((first, rest)) = kept.split_first_mut() {
        let rest: usize = rest.iter().map(|column| column.width() + GAP).sum();
        cut_texts(first, width.saturating_sub(rest).max(LEAST_FIRST));
    }
    let mut text = set(&kept);
    if !left_out.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "(no room in {width} columns for: {})", left_out.join(", "));
    }
    text
}

/// The place of the column that is given up first, when any may be.
fn most_dispensable(columns: &[Column]) -> Option<usize> {
    columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.dispensable > 0)
        .max_by_key(|(_, column)| column.dispensable)
        .map(|(place, _)| place)
}

/// The width when the first column is cut as far as it may be.
fn least_width(columns: &[Column]) -> usize {
    let widths = columns.iter().enumerate().map(|(place, column)| match place {
        0 => column.width().min(LEAST_FIRST.max(24)),
        _ => column.width() + GAP,
    });
    widths.sum()
}

fn cut_texts(column: &mut Column, width: usize) {
    for text in &mut column.texts {
        if columns_of(text) > width {
            let kept: String = text.chars().take(width.saturating_sub(1)).collect();
            *text = format!("{}…", kept.trim_end());
        }
    }
}

fn set(columns: &[Column]) -> String {
    let widths: Vec<usize> = columns.iter().map(Column::width).collect();
    let rows = columns.iter().map(|column| column.texts.len()).max().unwrap_or(0);
    let mut lines = vec![line(columns, &widths, |column| column.head)];
    lines.extend((0..rows).map(|row| {
        line(columns, &widths, |column| column.texts.get(row).map_or("", String::as_str))
    }));
    lines.concat()
}

fn line<'c>(
    columns: &'c [Column],
    widths: &[usize],
    text_of: impl Fn(&'c Column) -> &'c str,
) -> String {
    let cells: Vec<String> = columns
        .iter()
        .zip(widths)
        .map(|(column, width)| {
            let text = text_of(column);
            let padding = " ".repeat(width.saturating_sub(columns_of(text)));
            match column.align {
                Align::Left => format!("{text}{padding}"),
                Align::Right => format!("{padding}{text}"),
            }
        })
        .collect();
    format!("{}\n", cells.join(&" ".repeat(GAP)).trim_end())
}

/// How many terminal columns a text takes.
///
/// Every letter counts as one: our own words have no wide letters, and a label
/// that quotes a command with some is only set a little out of line.
fn columns_of(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text into lines of at most `width`, each after `indent`.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let room = width.saturating_sub(columns_of(indent)).max(20);
    let mut lines: Vec<String> = vec![String::new()];
    for word in printable(text).split(' ') {
        let Some(last) = lines.last_mut() else { break };
        if last.is_empty() {
            last.push_str(word);
        } else if columns_of(last) + 1 + columns_of(word) <= room {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        vec![
            Column::new(
                "cell",
                Align::Left,
                0,
                vec!["idle".into(), "a very long label of a cell indeed".into()],
            ),
            Column::new("max", Align::Right, 0, vec!["1 µs".into(), "312 ms".into()]),
            Column::new("extra", Align::Right, 2, vec!["yes".into(), "no".into()]),
            Column::new("empty", Align::Right, 1, vec![String::new(), String::new()]),
        ]
    }

    #[test]
    fn columns_stand_side_by_side() {
        let text = grid(columns(), 80);
        assert_eq!(
            text,
            "cell                                   max  extra\n\
             idle                                  1 µs    yes\n\
             a very long label of a cell indeed  312 ms     no\n"
        );
    }

    #[test]
    fn what_has_no_room_is_named() {
        let text = grid(columns(), 34);
        assert!(text.contains("(no room in 34 columns for: extra)"), "{text}");
        for line in text.lines().take(3) {
            assert!(line.chars().count() <= 34, "{line}");
        }
    }

    #[test]
    fn control_letters_of_a_label_never_reach_the_terminal() {
        let column = Column::new("cell", Align::Left, 0, vec!["cmd:\"\u{1b}[31m\n\"".into()]);
        assert!(!grid(vec![column], 80).contains('\u{1b}'));
    }

    #[test]
    fn long_text_is_broken_between_words() {
        assert_eq!(
            wrapped("one two three four five six", "  ", 22),
            "  one two three four\n  five six\n"
        );
    }
}
