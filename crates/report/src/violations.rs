//! What real-time code did that it must not, as text.

use std::collections::BTreeSet;

use tactus_model::violation::{LintReport, Violation};

use crate::format;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

/// Writes a row for each kind of violation at each place, the most frequent first, and what the
/// watching could not see.
pub fn violations_text(report: &LintReport, options: &TableOptions) -> String {
    let LintReport { violations, unplaced, unseen, .. } = report;
    let mut text = String::new();
    if !violations.is_empty() {
        text.push_str(&grid(columns(violations), options.width));
        text.push('\n');
    }
    let count: u64 = violations.iter().map(|violation| violation.count).sum();
    let in_sections = format::counted(report.sections + report.lost, "section");
    let found = match (count, report.is_whole()) {
        (0, true) => format!("No violation in {in_sections}."),
        (0, false) => format!("No violation was recorded in {in_sections}."),
        (_, true) => format!("{} in {in_sections}.", format::counted(count, "violation")),
        (_, false) => {
            format!("At least {} in {in_sections}.", format::counted(count, "violation"))
        }
    };
    let more = (*unplaced > 0).then(|| {
        let more = format::counted(*unplaced, "more violation");
        format!("{more} came too fast to find the lines.")
    });
    let cut = (!report.has_whole_sections()).then(|| partly(report));
    let threads = (!report.has_whole_threads()).then(|| unwatched(report));
    let unseen = unseen.iter().map(|unseen| {
        let fix = unseen.fix.as_ref().map(|fix| format!(" fix: {fix}")).unwrap_or_default();
        format!("Not seen: {}, because {}.{fix}", unseen.asked, unseen.reason)
    });
    for sentence in [found].into_iter().chain(more).chain(cut).chain(threads).chain(unseen) {
        text.push_str(&wrapped(&sentence, "", options.width));
    }
    text
}

/// How many sections were watched from begin to end, in part, and not at all.
fn partly(report: &LintReport) -> String {
    let whole = format::count(report.sections.saturating_sub(report.interrupted));
    let (part, lost) = (format::count(report.interrupted), format::count(report.lost));
    let lost = if report.lost > 0 { format!(", about {lost} lost") } else { String::new() };
    let records = match report.lost_records {
        0 => String::new(),
        count => format!(" {} came too fast to be kept.", format::counted(count, "record")),
    };
    format!("Of these, {whole} watched in whole, {part} in part{lost}.{records}")
}

/// How many threads were not watched from their begin.
fn unwatched(report: &LintReport) -> String {
    let (late, missed) = (format::count(report.late_threads), format::count(report.missed_threads));
    format!("Threads watched late: {late}, never: {missed}. What they did before is not known.")
}

fn columns(rows: &[Violation]) -> Vec<Column> {
    let threads: BTreeSet<&str> = rows.iter().map(|row| row.thread.as_str()).collect();
    let thread = Column::names("thread", rows, |row| Entry::text(format::printable(&row.thread)));
    let function = |row: &Violation| row.at.function.as_deref().map(format::printable);
    let others = [
        Column::names("kind", rows, |row| Entry::text(row.kind.to_string())),
        Column::names("what", rows, |row| Entry::text(format::printable(&row.what))),
        Column::names("where", rows, |row| Entry::text(format::printable(&row.at.to_string()))),
        Column::names("function", rows, |row| Entry::optional(function(row))).dispensable(1),
        Column::of("count", rows, |row| Entry::count(row.count)),
        Column::of("worst", rows, |row| Entry::latency(row.worst))
            .meaning("the longest time it took"),
    ];
    (threads.len() > 1).then_some(thread).into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use tactus_model::result::Shortfall;
    use tactus_model::time::{Instant, Nanos};
    use tactus_model::violation::{CodePlace, ViolationKind};

    use super::*;

    fn violation(thread: &str, kind: ViolationKind, what: &str, count: u64) -> Violation {
        Violation {
            thread: thread.to_owned(),
            kind,
            what: what.to_owned(),
            at: CodePlace {
                function: Some("step".to_owned()),
                file: Some("src/servo.c".to_owned()),
                line: Some(42),
                code: Some("servo+0x1234".to_owned()),
            },
            count,
            first: Instant::from_nanos(0),
            worst: (kind != ViolationKind::PageFault).then(|| Nanos::from_micros(17)),
        }
    }

    #[test]
    fn violations_are_rows_and_what_was_not_seen_follows() {
        let report = LintReport {
            violations: vec![
                violation("servo", ViolationKind::SystemCall, "openat", 120),
                violation("mixer", ViolationKind::ContendedLock, "futex wait", 3),
                violation("servo", ViolationKind::PageFault, "[heap]", 1),
            ],
            sections: 5000,
            unplaced: 2,
            interrupted: 1,
            lost: 12,
            lost_records: 700,
            late_threads: 3,
            missed_threads: 1,
            unseen: vec![Shortfall {
                asked: "page faults".to_owned(),
                granted: "none of them".to_owned(),
                reason: "kernel.perf_event_paranoid is 3".to_owned(),
                fix: Some("sudo sysctl kernel.perf_event_paranoid=2".to_owned()),
            }],
        };
        insta::assert_snapshot!(violations_text(&report, &TableOptions::default()));
    }

    #[test]
    fn a_clean_report_says_how_much_was_watched() {
        let report = LintReport { sections: 1_000_000, ..LintReport::default() };
        insta::assert_snapshot!(violations_text(&report, &TableOptions::default()));
    }
}
