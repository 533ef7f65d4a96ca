//! Columns of text, aligned, in a given width.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::column::{Align, Column, name_in_group};
use crate::columns::{beginning, columns_of, end};
use crate::format::printable;
use crate::wrap::wrapped;

/// The gap between columns.
const GAP: usize = 2;

/// The least width of a truncated column of names.
const LEAST_NAMES: usize = 16;

/// The width that the column of names keeps while other columns can still be omitted.
const WANTED_NAMES: usize = 26;

/// The width that shows every column is named as a multiple of this.
const ROUND_WIDTH: usize = 20;

/// A column as it is printed.
struct Written {
    head: String,
    group: &'static str,
    align: Align,
    is_of_names: bool,
    dispensable: u8,
    texts: Vec<String>,
}

impl Written {
    fn of(column: Column) -> Self {
        Self {
            is_of_names: column.is_of_names(),
            texts: column.entries.iter().map(|entry| printable(&entry.text)).collect(),
            head: column.head,
            group: column.group,
            align: column.align,
            dispensable: column.dispensable,
        }
    }

    fn name(&self) -> String {
        name_in_group(&self.head, self.group)
    }

    fn width(&self) -> usize {
        let texts = self.texts.iter().map(|text| columns_of(text));
        texts.chain([columns_of(&self.head)]).max().unwrap_or(0)
    }
}

/// Prints the columns side by side. Columns that do not fit into `width` are omitted and named
/// below.
pub(crate) fn grid(columns: Vec<Column>, width: usize) -> String {
    let mut kept: Vec<Written> =
        columns.into_iter().filter(Column::is_shown).map(Written::of).collect();
    let needed = span(&widths(&kept));
    let mut left_out: Vec<String> = Vec::new();
    while least_width(&kept) > width {
        let Some(place) = most_dispensable(&kept) else { break };
        left_out.push(kept.remove(place).name());
    }
    if let Some(names) = names(&kept) {
        let widths = widths(&kept);
        let rest = span(&widths) - widths[names];
        cut_texts(&mut kept[names], width.saturating_sub(rest).max(LEAST_NAMES));
    }
    let mut text = set(&kept);
    if !left_out.is_empty() {
        left_out.reverse();
        let (names, wide) = (left_out.join(", "), needed.next_multiple_of(ROUND_WIDTH));
        let named = format!("(columns not shown: {names}; COLUMNS={wide} shows them)");
        text.push_str(&wrapped(&named, "", width));
    }
    text
}

/// The index of the column to omit next, if any may be omitted.
fn most_dispensable(columns: &[Written]) -> Option<usize> {
    columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.dispensable > 0)
        .max_by_key(|(_, column)| column.dispensable)
        .map(|(place, _)| place)
}

/// The index of the column that names the rows.
fn names(columns: &[Written]) -> Option<usize> {
    columns.iter().position(|column| column.is_of_names)
}

/// The total width with the names truncated.
fn least_width(columns: &[Written]) -> usize {
    let mut widths = widths(columns);
    if let Some(names) = names(columns) {
        widths[names] = widths[names].min(WANTED_NAMES);
    }
    span(&widths)
}

/// The width of each column, with room for the heading of its group.
fn widths(columns: &[Written]) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(Written::width).collect();
    let mut place = 0;
    for group in columns.chunk_by(|a, b| a.group == b.group) {
        let missing =
            columns_of(group[0].group).saturating_sub(span(&widths[place..][..group.len()]));
        widths[place] += missing;
        place += group.len();
    }
    widths
}

/// The width of neighbouring columns with the gaps between them.
fn span(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// The headings of the groups above their columns; empty without groups.
fn group_line(columns: &[Written], widths: &[usize]) -> String {
    if columns.iter().all(|column| column.group.is_empty()) {
        return String::new();
    }
    let mut place = 0;
    let mut headings = Vec::new();
    for group in columns.chunk_by(|a, b| a.group == b.group) {
        let width = span(&widths[place..][..group.len()]);
        headings.push(match group[0].group {
            "" => " ".repeat(width),
            heading if columns_of(heading) + 2 > width => format!("{heading:>width$}"),
            heading => format!("{:─^width$}", format!(" {heading} ")),
        });
        place += group.len();
    }
    format!("{}\n", headings.join(&" ".repeat(GAP)).trim_end())
}

/// Truncates long texts at the end, or in the middle if that keeps more of them distinct: kernels
/// in one directory have a common prefix.
fn cut_texts(column: &mut Written, width: usize) {
    let kept = width.min(column.width()).saturating_sub(1);
    let cuts = [0, kept / 2, kept * 2 / 3].map(|end| -> Vec<String> {
        column.texts.iter().map(|text| cut(text, kept - end, end)).collect()
    });
    let distinct = |texts: &Vec<String>| texts.iter().collect::<BTreeSet<_>>().len();
    let most = cuts.iter().map(distinct).max();
    if let Some(texts) = cuts.into_iter().find(|texts| Some(distinct(texts)) == most) {
        column.texts = texts;
    }
}

/// The first `before` and the last `after` columns of a text, if it has at least two more.
fn cut(text: &str, before: usize, after: usize) -> String {
    if columns_of(text) <= before + after + 1 {
        return text.to_owned();
    }
    format!("{}…{}", beginning(text, before).trim_end(), end(text, after))
}

fn set(columns: &[Written]) -> String {
    let widths = widths(columns);
    let rows = columns.first().map_or(0, |column| column.texts.len());
    let mut text = group_line(columns, &widths);
    if !columns.is_empty() {
        put_line(&mut text, columns, &widths, |column| &column.head);
    }
    for row in 0..rows {
        put_line(&mut text, columns, &widths, |column| &column.texts[row]);
    }
    text
}

fn put_line<'c>(
    text: &mut String,
    columns: &'c [Written],
    widths: &[usize],
    text_of: impl Fn(&'c Written) -> &'c str,
) {
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
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", cells.join(&" ".repeat(GAP)).trim_end());
}

#[cfg(test)]
mod tests {
    use super::super::column::Entry;
    use super::*;

    fn columns() -> Vec<Column> {
        let texts = |texts: [&'static str; 2]| move |row: &usize| Entry::text(texts[*row]);
        vec![
            Column::names("cell", &[0, 1], texts(["idle", "a very long label of a cell indeed"])),
            Column::of("max", &[0, 1], texts(["1 µs", "312 ms"])),
            Column::of("extra", &[0, 1], texts(["yes", "no"])).dispensable(2),
            Column::of("empty", &[0, 1], texts(["", ""])).dispensable(1),
        ]
    }

    #[test]
    fn columns_are_side_by_side() {
        assert_eq!(
            grid(columns(), 80),
            "cell                                   max  extra\n\
             idle                                  1 µs    yes\n\
             a very long label of a cell indeed  312 ms     no\n"
        );
    }

    #[test]
    fn columns_that_do_not_fit_are_named() {
        let text = grid(columns(), 34);
        assert!(text.ends_with("extra;\nCOLUMNS=60 shows them)\n"), "{text}");
        for line in text.lines() {
            assert!(columns_of(line) <= 34, "{line}");
        }
    }

    #[test]
    fn a_group_has_one_heading_and_names_its_omitted_columns() {
        let columns = || {
            let mut columns = columns();
            columns[1] = columns[1].clone().grouped("per wakeup");
            columns[2] = columns[2].clone().grouped("per wakeup");
            columns
        };
        let text = grid(columns(), 80);
        let head = format!("{}{}", " ".repeat(36), " per wakeup ─");
        assert_eq!(text.lines().next(), Some(head.as_str()), "{text}");
        assert!(grid(columns(), 40).contains("(columns not shown: extra per wakeup;"));
    }

    #[test]
    fn labels_that_differ_only_at_their_ends_are_cut_in_the_middle() {
        let labels = ["./kernels/bzImage:preempt=none", "./kernels/bzImage:preempt=full"];
        let columns = vec![
            Column::names("cell", &labels, |text| Entry::text(*text)),
            Column::of("max", &labels, |_| Entry::text("1 µs")),
        ];
        assert_eq!(
            grid(columns, 24),
            "cell                 max\n\
             ./kernels…mpt=none  1 µs\n\
             ./kernels…mpt=full  1 µs\n"
        );
    }

    #[test]
    fn columns_are_aligned_with_wide_characters() {
        let labels = ["cmd:\"./録音\"", "cmd:\"./rec\""];
        let columns = vec![
            Column::names("cell", &labels, |text| Entry::text(*text)),
            Column::of("max", &labels, |_| Entry::text("1 µs")),
        ];
        assert_eq!(
            grid(columns, 80),
            "cell           max\n\
             cmd:\"./録音\"  1 µs\n\
             cmd:\"./rec\"   1 µs\n"
        );
    }

    #[test]
    fn control_characters_of_a_label_never_reach_the_terminal() {
        let column = Column::names("cell", &["cmd:\"\u{1b}[31m\n\""], |text| Entry::text(*text));
        let text = grid(vec![column], 80);
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }

    #[test]
    fn no_column_is_no_text() {
        assert_eq!(grid(Vec::new(), 80), "");
    }
}
