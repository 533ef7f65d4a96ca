//! Explanations as text for the terminal.

use std::fmt::Display;

use tactus_explain::{ExplainedSample, Explanation, Part};
use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use super::words::Subject;
use super::{CellExplanation, strip, thread_time, words};
use crate::columns::columns_of;
use crate::format;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::{hanging, wrapped};

/// The width of the longest bar of the Pareto table, in columns.
const BAR: u64 = 10;

/// The least width at which the Pareto table has columns of sample counts.
const FOR_COUNTS: usize = 70;

/// The least width at which the Pareto table has bars.
const FOR_BARS: usize = 90;

/// The indentation of lines below a sample's head.
const INDENT: &str = "   ";

/// Writes why the samples of each cell were late: the causes, the greatest first, then the worst
/// samples with what ran during their delay.
///
/// All of [`Explanation::worst`] is written; truncate it for fewer samples.
pub fn explanation_text(cells: &[CellExplanation], options: &TableOptions) -> String {
    let texts: Vec<String> = cells.iter().map(|cell| cell_text(cell, options.width)).collect();
    texts.join("\n")
}

/// Writes why the wakeup was late for which a recording was saved.
pub fn saved_wakeup_text(explanation: &Explanation, options: &TableOptions) -> String {
    let mut text = wrapped("The recording was saved for this late wakeup:", "", options.width);
    for (number, explained) in (1..).zip(&explanation.worst) {
        let latency = format::latency(explained.sample.latency());
        let head = format!("{latency} late: {}", explained.outcome);
        text.push_str(&sample(number, &head, explained, Subject::Samples, options.width));
    }
    text.push('\n');
    text
}

fn cell_text(cell: &CellExplanation, width: usize) -> String {
    let explanation = &cell.explanation;
    let mut text = format!("{}\n\n", format::printable(&cell.label));
    text.push_str(&wrapped(&words::headline(explanation, Subject::Samples, None), "", width));
    let sentences = [
        words::divided(explanation),
        words::remainder(explanation),
        words::throttling(explanation, Subject::Samples),
        words::observer(explanation),
        words::circumstances(explanation),
        Some(words::matched(explanation)),
        Some(words::cost(cell.tracing_cost.as_ref())),
    ];
    for sentence in sentences.into_iter().flatten() {
        text.push_str(&wrapped(&sentence, "", width));
    }
    text.push_str(&pareto(explanation, Subject::Samples, width));
    text.push_str(&segments(explanation, width));
    if !explanation.worst.is_empty() {
        text.push('\n');
        text.push_str(&wrapped(Subject::Samples.slowest(), "", width));
    }
    for (number, explained) in (1..).zip(&explanation.worst) {
        let head = words::sample(explained);
        text.push_str(&sample(number, &head, explained, Subject::Samples, width));
    }
    text
}

pub(super) fn pareto(explanation: &Explanation, subject: Subject, width: usize) -> String {
    let rows = words::rows(explanation);
    if rows.is_empty() {
        return String::new();
    }
    let whole = explanation.pareto.time.as_nanos();
    let most = rows.iter().map(|row| row.time.as_nanos()).max().unwrap_or(0).max(1);
    let noun = subject.noun();
    let mut columns = vec![
        Column::of("share", &rows, |row| Entry::text(format::share(row.time.as_nanos(), whole))),
        Column::of("time", &rows, |row| Entry::latency(Some(row.time))),
    ];
    if width >= FOR_COUNTS {
        columns.extend([
            Column::of(&format!("{noun}s"), &rows, |row| Entry::text(samples(row.samples))),
            Column::of("main cause in", &rows, |row| Entry::count(row.first)),
            Column::of(&format!("max per {noun}"), &rows, |row| Entry::latency(Some(row.max))),
        ]);
    }
    if width >= FOR_BARS {
        columns
            .insert(1, Column::names("", &rows, |row| Entry::text(bar(row.time.as_nanos(), most))));
    }
    // The names of causes come last, where the longest has room.
    let causes = rows.iter().map(|row| row.name.clone());
    let figures = grid(columns, usize::MAX);
    let lines = figures.lines().zip(["cause".to_owned()].into_iter().chain(causes));
    let written: String = lines.map(|(figures, cause)| after(figures, &cause, width)).collect();
    format!("\n{written}")
}

/// Writes `text` after `figures`, with its further lines aligned below its first.
fn after(figures: &str, text: &str, width: usize) -> String {
    let first = format!("{figures}  ");
    let indent = " ".repeat(columns_of(&first));
    hanging(&first, text, &indent, width)
}

/// The duration of each segment, over all samples whose timer was found.
fn segments(explanation: &Explanation, width: usize) -> String {
    let segments = explanation.segments.iter();
    lengths(segments.map(|segment| (segment.segment.to_string(), &segment.histogram)), width)
}

/// The durations of segments, by their names.
pub(super) fn lengths<'a>(
    segments: impl Iterator<Item = (String, &'a Histogram)>,
    width: usize,
) -> String {
    let counted = segments.filter(|(_, lengths)| lengths.count > 0);
    let rows: Vec<(String, LatencyHistogram)> =
        counted.map(|(name, lengths)| (name, LatencyHistogram::from_record(lengths))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns = vec![
        Column::names("segment", &rows, |(name, _)| Entry::text(name.as_str())),
        Column::of("median", &rows, |(_, lengths)| Entry::latency(lengths.quantile(0.5))),
        Column::of("p99", &rows, |(_, lengths)| Entry::latency(lengths.quantile(0.99))),
        Column::of("max", &rows, |(_, lengths)| Entry::latency(lengths.max())),
    ];
    format!("\n{}", grid(columns, width))
}

fn samples(count: Option<u64>) -> String {
    count.map_or_else(|| format::NOTHING.to_owned(), format::count)
}

fn bar(part: u64, most: u64) -> String {
    let length = (u128::from(part) * u128::from(BAR)).div_ceil(u128::from(most));
    "█".repeat(length.min(u128::from(BAR)) as usize)
}

/// One late sample or wait below `head`: its segments, its causes, and what ran on which CPU.
pub(super) fn sample(
    number: usize,
    head: &str,
    explained: &ExplainedSample,
    subject: Subject,
    width: usize,
) -> String {
    let mut text = String::from("\n");
    let head = format!("{number}. {head}");
    text.push_str(&wrapped(&head, "", width));
    let stage = |name: &dyn Display, length| format!("{name} {}", format::latency(length));
    let segments = explained.segments.iter().flat_map(|segments| segments.iter());
    let stages = segments.map(|(segment, length)| stage(&segment, length));
    let job = explained.job.iter().flat_map(|job| job.segments.iter());
    let job = job.filter(|(_, length)| *length > Nanos::ZERO);
    let stages: Vec<String> =
        stages.chain(job.map(|(segment, length)| stage(&segment, length))).collect();
    if !stages.is_empty() {
        text.push_str(&strip::items(&stages, INDENT, width));
    }
    if let Some(blocked) = explained.job.as_ref().and_then(|job| job.blocked.as_ref()) {
        let sentence = thread_time::blocked(&blocked.sleep, "", &blocked.stretch);
        text.push_str(&wrapped(&sentence, INDENT, width));
    }
    let latency = explained.sample.latency().as_nanos();
    for (cause, time) in parts(&explained.parts) {
        let figures = format!(
            "{INDENT}{:>7}  {:>7}",
            format::share(time.as_nanos(), latency),
            format::latency(time)
        );
        text.push_str(&after(&figures, &cause, width));
    }
    if let Some(timeline) = &explained.timeline {
        text.push_str(&strip::draw(timeline, subject, subject.end(explained), INDENT, width));
    }
    text
}

/// The most causes of a sample that have a line of their own.
const PARTS: usize = 8;

/// The causes of a sample in words; the smaller ones together if there are many.
fn parts(parts: &[Part]) -> Vec<(String, Nanos)> {
    // A group of one cause takes as much room as the cause itself.
    let own = if parts.len() > PARTS + 1 { PARTS } else { parts.len() };
    let (greatest, lesser) = parts.split_at(own);
    let mut parts: Vec<(String, Nanos)> =
        greatest.iter().map(|part| (part.cause.to_string(), part.time)).collect();
    if !lesser.is_empty() {
        let name = format!("{} together", format::counted(lesser.len() as u64, "smaller cause"));
        parts.push((name, lesser.iter().map(|part| part.time).sum()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use tactus_explain::{Cause, ParetoRow};

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
    fn an_unexplained_gap_of_zero_has_no_row() {
        let mut cell = explanation_fixture::cell("net", &["softirq-storm"], None);
        cell.explanation.pareto.rows.retain(|row| row.cause.explains());
        let text = explanation_text(&[cell], &TableOptions::default());
        let table = text.split("The worst samples").next().unwrap_or_default();
        assert!(!table.contains("unexplained gap"), "{text}");
        assert!(
            text.replace(format::THIN_SPACE, " ").contains("explain 100 % of that time."),
            "{text}"
        );
    }

    #[test]
    fn the_rows_beneath_a_group_add_up_to_it() {
        let beneath = |count: u32| {
            let mut cell = explanation_fixture::cell("net", &["softirq-storm"], None);
            let pareto = &mut cell.explanation.pareto;
            let row = pareto.rows[0].clone();
            pareto.rows = (0..count)
                .map(|cpu| ParetoRow { cause: Cause::Steal { cpu }, ..row.clone() })
                .collect();
            pareto.time = row.time.saturating_mul(count.into());
            let rows = words::rows(&cell.explanation);
            let sum: Nanos = rows[1..].iter().map(|row| row.time).sum();
            assert_eq!(rows[0].time, sum);
            rows.into_iter().skip(1).map(|row| row.name).collect::<Vec<_>>()
        };
        assert_eq!(beneath(2), ["– steal time on CPU 0", "– steal time on CPU 1"]);
        assert_eq!(beneath(4).last().map(String::as_str), Some("– steal time on CPU 3"));
        assert_eq!(beneath(5).len(), 4);
        assert_eq!(beneath(5).last().map(String::as_str), Some("– others"));
    }

    #[test]
    fn the_observer_stands_apart_from_the_causes() {
        let planted = |observes: bool| {
            let mut cell = explanation_fixture::cell("net", &["ordinary-spinner"], None);
            for row in &mut cell.explanation.pareto.rows {
                if let (true, tactus_explain::Cause::OtherThread { thread }) =
                    (observes, &row.cause)
                {
                    row.cause = tactus_explain::Cause::Observer { thread: thread.clone() };
                }
            }
            explanation_text(&[cell], &TableOptions::default())
        };
        let control = planted(false);
        let headline = |text: &str| text.lines().nth(2).unwrap_or_default().to_owned();
        assert!(headline(&control).contains("thread spinner"), "{control}");
        assert!(!control.contains("bserver"), "{control}");
        let text = planted(true);
        assert!(!headline(&text).contains("spinner"), "{text}");
        assert!(text.contains("Observer: Tactus's own threads took"), "{text}");
        let table = text.split("The worst samples").next().unwrap_or_default();
        assert!(table.find("unexplained gap") < table.find("observer: thread"), "{text}");
    }

    #[test]
    fn late_samples_without_events_are_counted() {
        let mut cell = explanation_fixture::cell("net", &[], None);
        cell.explanation.pareto.undivided = 3;
        let text = explanation_text(&[cell], &TableOptions::default());
        assert!(text.contains("3 samples more than"), "{text}");
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
