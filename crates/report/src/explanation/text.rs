//! Explanations as text for the terminal.

use std::fmt::Write;

use tactus_explain::{ExplainedSample, Explanation, Part};

use super::{CellExplanation, strip, words};
use crate::format;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid, wrapped};

/// The width of the longest bar of the Pareto, in columns.
const BAR: u64 = 20;

/// How far lines under a sample's head are set in.
const INDENT: &str = "   ";

/// Writes why the samples of each cell were late: what delayed them most, in
/// the order of the time it took, then the worst samples with who ran meanwhile.
///
/// All of [`Explanation::worst`] is written; a caller that wants fewer gives fewer.
pub fn explanation_text(cells: &[CellExplanation], options: &TableOptions) -> String {
    let texts: Vec<String> = cells.iter().map(|cell| cell_text(cell, options.width)).collect();
    texts.join("\n")
}

fn cell_text(cell: &CellExplanation, width: usize) -> String {
    let explanation = &cell.explanation;
    let mut text = format!("{}\n\n", format::printable(&cell.label));
    text.push_str(&wrapped(&words::headline(explanation), "", width));
    let sentences = [
        words::divided(explanation),
        words::remainder(explanation),
        Some(words::matched(explanation)),
        Some(words::cost(cell.tracing_cost.as_ref())),
    ];
    for sentence in sentences.into_iter().flatten() {
        text.push_str(&wrapped(&sentence, "", width));
    }
    text.push_str(&pareto(explanation, width));
    if !explanation.worst.is_empty() {
        text.push_str("\nThe worst samples\n");
    }
    for (number, explained) in (1..).zip(&explanation.worst) {
        text.push_str(&sample(number, explained, width));
    }
    text
}

fn pareto(explanation: &Explanation, width: usize) -> String {
    let rows = words::rows(explanation);
    if rows.is_empty() {
        return String::new();
    }
    let whole = explanation.pareto.time.as_nanos();
    let most = rows.iter().map(|row| row.time.as_nanos()).max().unwrap_or(0).max(1);
    let columns = vec![
        Column::names("cause", &rows, |row| Entry::text(row.cause.to_string())),
        Column::of("share", &rows, |row| Entry::text(format::share(row.time.as_nanos(), whole))),
        Column::names("", &rows, |row| Entry::text(bar(row.time.as_nanos(), most))).dispensable(4),
        Column::of("time", &rows, |row| Entry::latency(Some(row.time))),
        Column::of("samples", &rows, |row| Entry::count(row.samples)).dispensable(2),
        Column::of("first in", &rows, |row| Entry::count(row.first)).dispensable(3),
        Column::of("most in one", &rows, |row| Entry::latency(Some(row.max))).dispensable(1),
    ];
    format!("\n{}", grid(columns, width))
}

fn bar(part: u64, most: u64) -> String {
    let length = (u128::from(part) * u128::from(BAR)).div_ceil(u128::from(most));
    "█".repeat(length.min(u128::from(BAR)) as usize)
}

fn sample(number: usize, explained: &ExplainedSample, width: usize) -> String {
    let mut text = String::from("\n");
    let head = format!("{number}. {}", words::sample(explained));
    text.push_str(&wrapped(&head, "", width));
    if let Some(segments) = &explained.segments {
        let stages: Vec<String> = segments
            .iter()
            .map(|(segment, length)| format!("{segment} {}", format::latency(length)))
            .collect();
        text.push_str(&wrapped(&stages.join(" | "), INDENT, width));
    }
    let latency = explained.sample.latency().as_nanos();
    for Part { cause, time } in &explained.parts {
        let line = format!(
            "{:>7}  {:>7}  {}",
            format::share(time.as_nanos(), latency),
            format::latency(*time),
            format::printable(&cause.to_string())
        );
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{INDENT}{line}");
    }
    if let Some(timeline) = &explained.timeline {
        text.push_str(&strip::draw(timeline, INDENT, width));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explanation_fixture;

    fn shown(width: usize) -> String {
        explanation_text(&explanation_fixture::cells(), &TableOptions::of_width(width))
    }

    #[test]
    fn explanations_of_planted_causes_at_110() {
        insta::assert_snapshot!(shown(110));
    }

    #[test]
    fn explanations_of_planted_causes_at_60() {
        insta::assert_snapshot!(shown(60));
    }

    #[test]
    fn the_remainder_is_shown_where_it_is_nothing() {
        let mut cell = explanation_fixture::cell("net", &["softirq-storm"], None);
        cell.explanation.pareto.rows.retain(|row| row.cause.explains());
        let text = explanation_text(&[cell], &TableOptions::default());
        assert!(text.contains("unexplained gap"), "{text}");
        assert!(text.contains("nothing remains"), "{text}");
    }

    #[test]
    fn late_samples_without_events_are_told() {
        let mut cell = explanation_fixture::cell("net", &[], None);
        cell.explanation.pareto.undivided = 3;
        let text = explanation_text(&[cell], &TableOptions::default());
        assert!(text.contains("3 samples came later than"), "{text}");
    }

    #[test]
    fn a_hostile_name_steers_no_terminal() {
        let mut cell = explanation_fixture::cell("\u{1b}[2J", &["ordinary-spinner"], None);
        for part in &mut cell.explanation.worst[0].parts {
            if let tactus_explain::Cause::OtherThread { thread } = &mut part.cause {
                thread.name = "\u{1b}]0;title".to_owned();
            }
        }
        let text = explanation_text(&[cell], &TableOptions::default());
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
