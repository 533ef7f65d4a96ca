//! Tables for files: comma-separated values for programs, Markdown for documents.

use std::fmt::Write;

use tactus_judge::compare::{Comparison, Difference, PairComparison, QuantileComparison};
use tactus_model::run::Run;

use super::column::{Align, Column, Entry, Exact};
use super::content;
use crate::format::{self, printable};
use crate::summary::cell_results;

/// The form of a table in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Comma-separated values (RFC 4180): a line of names, then numbers without rounding,
    /// durations in nanoseconds.
    Csv,
    /// A table of Markdown, with the texts of the terminal.
    Markdown,
}

/// Writes the cells of `runs` as one table.
pub fn cells_file(runs: &[&Run], form: TableForm) -> String {
    let tables = runs.iter().map(|run| {
        let results = cell_results(run);
        let run = Column::names("run", &results, |_| Entry::text(run.header.id.to_string()));
        let mut columns = vec![run];
        columns.extend(content::cells_of_file(&results));
        columns.push(content::load(&results));
        columns
    });
    written(joined(tables), form)
}

/// Writes the figures of `comparison` as one table.
pub fn comparison_file(comparison: &Comparison, form: TableForm) -> String {
    let rows: Vec<(&PairComparison, &QuantileComparison)> = comparison
        .pairs
        .iter()
        .flat_map(|pair| pair.quantiles.iter().map(move |figure| (pair, figure)))
        .collect();
    let difference = |figure: &QuantileComparison, of: fn(&Difference) -> String| {
        Entry::optional(figure.difference.as_ref().map(of))
    };
    let column = |head: &str, of: fn(&Difference) -> String| {
        Column::of(head, &rows, move |(_, figure)| difference(figure, of))
    };
    let columns = vec![
        Column::names("cell of A", &rows, |(pair, _)| Entry::text(&pair.a.label)),
        Column::names("cell of B", &rows, |(pair, _)| Entry::text(&pair.b.label)),
        Column::names("quantile", &rows, |(_, figure)| {
            Entry::text(format::percentile(figure.quantile))
        }),
        Column::of("A", &rows, |(_, figure)| Entry::latency(figure.a)),
        Column::of("B", &rows, |(_, figure)| Entry::latency(figure.b)),
        column("B / A", |of| format!("{:.4}", of.ratio)),
        column("B / A low", |of| format!("{:.4}", of.ratio_low)),
        column("B / A high", |of| format!("{:.4}", of.ratio_high)),
        column("B − A (ns)", |of| format!("{:.0}", of.nanos)),
        column("B − A low (ns)", |of| format!("{:.0}", of.nanos_low)),
        column("B − A high (ns)", |of| format!("{:.0}", of.nanos_high)),
        Column::names("verdict", &rows, |(_, figure)| match figure.verdict {
            Some(verdict) => Entry::text(verdict.words()),
            None => Entry::text("not compared"),
        }),
    ];
    written(columns, form)
}

/// Puts tables one below the other. Columns of the same name become one; where a table has no such
/// column, its entries are empty.
fn joined(tables: impl IntoIterator<Item = Vec<Column>>) -> Vec<Column> {
    let mut all: Vec<Column> = Vec::new();
    let mut rows = 0;
    for table in tables {
        rows += table.first().map_or(0, |column| column.entries.len());
        for column in table {
            match all.iter_mut().find(|known| known.head == column.head) {
                Some(known) => known.entries.extend(column.entries),
                None => {
                    let above = rows - column.entries.len();
                    let mut entries = vec![Entry::empty(); above];
                    entries.extend(column.entries);
                    all.push(Column { entries, ..column });
                }
            }
        }
        for column in &mut all {
            column.entries.resize(rows, Entry::empty());
        }
    }
    all
}

fn written(columns: Vec<Column>, form: TableForm) -> String {
    let shown: Vec<Column> = columns.into_iter().filter(Column::is_shown).collect();
    match form {
        TableForm::Csv => csv(&shown),
        TableForm::Markdown => markdown(&shown),
    }
}

/// Writes columns as comma-separated values; an interval becomes two columns.
fn csv(columns: &[Column]) -> String {
    let fields: Vec<Vec<String>> = columns.iter().flat_map(csv_columns).collect();
    let rows = fields.first().map_or(0, Vec::len);
    let mut text = String::new();
    for row in 0..rows {
        let line: Vec<String> = fields.iter().map(|column| csv_field(&column[row])).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", line.join(","));
    }
    text
}

/// The fields of a column from top to bottom, its name first.
fn csv_columns(column: &Column) -> Vec<Vec<String>> {
    let with_head = |head: String, of: fn(&Entry) -> String| {
        [head].into_iter().chain(column.entries.iter().map(of)).collect()
    };
    let has = |kind: fn(&Exact) -> bool| column.entries.iter().any(|entry| kind(&entry.exact));
    if has(|exact| matches!(exact, Exact::Interval(..))) {
        let end = |name: &str| format!("{} {name} (ns)", column.head);
        return vec![
            with_head(end("low"), |entry| match entry.exact {
                Exact::Interval(low, _) => low.as_nanos().to_string(),
                _ => String::new(),
            }),
            with_head(end("high"), |entry| match entry.exact {
                Exact::Interval(_, high) => high.as_nanos().to_string(),
                _ => String::new(),
            }),
        ];
    }
    let unit = if has(|exact| matches!(exact, Exact::Length(_))) { " (ns)" } else { "" };
    vec![with_head(format!("{}{unit}", column.head), |entry| match entry.exact {
        Exact::Count(count) => count.to_string(),
        Exact::Length(length) => {
            length.map_or_else(String::new, |length| length.as_nanos().to_string())
        }
        Exact::Text | Exact::Interval(..) => entry.text.clone(),
    })]
}

/// A field, quoted if necessary. Thin spaces are for people.
fn csv_field(text: &str) -> String {
    let text = printable(text).replace(format::THIN_SPACE, " ");
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

fn markdown(columns: &[Column]) -> String {
    let line = |fields: Vec<String>| format!("| {} |\n", fields.join(" | "));
    let rows = columns.first().map_or(0, |column| column.entries.len());
    let mut text = line(columns.iter().map(|column| markdown_field(&column.head)).collect());
    let rules = columns.iter().map(|column| match column.align {
        Align::Left => ":--".to_owned(),
        Align::Right => "--:".to_owned(),
    });
    text.push_str(&line(rules.collect()));
    for row in 0..rows {
        let fields = columns.iter().map(|column| markdown_field(&column.entries[row].text));
        text.push_str(&line(fields.collect()));
    }
    text
}

/// A text without what Markdown or HTML would interpret.
fn markdown_field(text: &str) -> String {
    let mut field = String::new();
    for letter in printable(text).chars() {
        if matches!(letter, '|' | '\\' | '`' | '*' | '_' | '<' | '[' | '&') {
            field.push('\\');
        }
        field.push(letter);
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_line_has_the_same_fields_and_numbers_are_exact() {
        let run = fixture::quick();
        let text = cells_file(&[&run], TableForm::Csv);
        let unquoted = |line: &str| line.split('"').step_by(2).collect::<String>();
        let fields: Vec<usize> =
            text.lines().map(|line| unquoted(line).matches(',').count()).collect();
        assert_eq!(fields.len(), 11);
        assert!(fields.iter().all(|count| *count == fields[0]), "{text}");
        let results = cell_results(&run);
        let max = results[0].max().unwrap().as_nanos();
        let first = text.lines().nth(1).unwrap();
        assert!(first.split(',').any(|field| field == max.to_string()), "{first}");
        assert!(text.starts_with("run,#,cell,") && first.contains(",1,idle"), "{text}");
        assert!(!text.contains(format::THIN_SPACE), "{text}");
    }

    #[test]
    fn a_file_names_the_rule_of_every_latency_even_if_both_agree() {
        let settings = "policy = \"fifo:90\"\nduration = \"3s\"";
        let run = fixture::run(&format!("name = \"small\"\n[settings]\n{settings}"), 5);
        let text = cells_file(&[&run], TableForm::Csv);
        let heads: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        for head in [
            "median per wakeup (ns)",
            "p99 per wakeup (ns)",
            "p99.9 per wakeup (ns)",
            "max per wakeup (ns)",
            "p99 by schedule (ns)",
            "p99.9 by schedule (ns)",
            "95 % CI of p99 per wakeup low (ns)",
        ] {
            assert_eq!(
                heads.iter().filter(|known| **known == head).count(),
                1,
                "{head}: {heads:?}"
            );
        }
    }

    #[test]
    fn runs_with_different_columns_share_a_table() {
        let (long, short) = (
            fixture::quick(),
            fixture::run("name = \"short\"\n[settings]\nduration = \"20ms\"", 3),
        );
        let text = cells_file(&[&short, &long], TableForm::Markdown);
        let fields: Vec<usize> = text.lines().map(|line| line.matches(" | ").count()).collect();
        assert!(fields.iter().all(|count| *count == fields[0]), "{text}");
    }

    #[test]
    fn a_label_cannot_leave_its_field() {
        assert_eq!(csv_field("cmd:\"a, b\""), "\"cmd:\"\"a, b\"\"\"");
        assert_eq!(markdown_field("a|b <i>"), "a\\|b \\<i>");
    }
}
