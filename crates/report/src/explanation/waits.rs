//! Where the time of threads went, and why they waited for a CPU, as text for the terminal.

use tactus_explain::{WaitExplanation, Waits};
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use super::words::{self, Subject};
use super::{text, thread_time};
use crate::format;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

/// The most thread names that have a row of their own.
const ROWS: usize = 20;

/// The threads of one name together.
struct Row {
    name: String,
    threads: u64,
    lengths: LatencyHistogram,
    late: u64,
    late_time: Nanos,
}

impl Row {
    fn of(waits: &WaitExplanation) -> Self {
        Self {
            name: thread_time::name(waits),
            threads: waits.threads.len() as u64,
            lengths: LatencyHistogram::from_record(&waits.lengths),
            late: waits.explanation.samples,
            late_time: waits.explanation.pareto.time,
        }
    }
}

/// Writes where the time of the threads of a recording went, and how long they waited for a CPU, the
/// most delayed first; then, for the `explained`, what they slept for and why they waited longer than
/// `threshold`, with at most `worst` stretches each.
pub fn waits_text(
    waits: &Waits,
    explained: &[&WaitExplanation],
    threshold: Nanos,
    worst: usize,
    options: &TableOptions,
) -> String {
    if waits.names.is_empty() {
        let none = "The recording has no event that shows a thread waiting for a CPU.";
        return wrapped(none, "", options.width);
    }
    let waited = waits.names.iter().filter(|name| name.lengths.count > 0);
    let rows: Vec<Row> = waited.clone().take(ROWS).map(Row::of).collect();
    let limit = format::axis_length(threshold);
    let columns = vec![
        Column::names("thread", &rows, |row| Entry::text(row.name.as_str())),
        Column::of("threads", &rows, |row| Entry::count(row.threads)),
        Column::of("waits", &rows, |row| Entry::count(row.lengths.count())),
        Column::of("median", &rows, |row| Entry::latency(row.lengths.quantile(0.5))),
        Column::of("p99", &rows, |row| Entry::latency(row.lengths.quantile(0.99))),
        Column::of("max", &rows, |row| Entry::latency(row.lengths.max())),
        Column::of(&format!("over {limit}"), &rows, |row| Entry::count(row.late)),
        Column::of("their sum", &rows, |row| Entry::latency(Some(row.late_time))),
    ];
    let mut text = format!(
        "{}\nRunqueue waits, from when a thread became runnable or its timer was due\n\n{}",
        thread_time::overview(waits, options),
        grid(columns, options.width)
    );
    if let Some(more) = waited.count().checked_sub(ROWS).filter(|more| *more > 0) {
        let names = format::counted(more as u64, "name");
        text.push_str(&wrapped(
            &format!("Not shown: {names} with shorter waits."),
            "",
            options.width,
        ));
    }
    for waits in explained {
        text.push('\n');
        text.push_str(&group_text(waits, worst, options.width));
    }
    text
}

fn group_text(waits: &WaitExplanation, worst: usize, width: usize) -> String {
    let explanation = &waits.explanation;
    let mut written = format!("{}\n\n", thread_time::name(waits));
    written.push_str(&thread_time::of_name(waits, worst, width));
    if explanation.samples == 0 {
        return written;
    }
    written.push('\n');
    let late = format!(
        "{} of {} took longer than {}, {} in total.",
        format::count(explanation.samples),
        format::counted(waits.lengths.count, "wait"),
        format::axis_length(explanation.threshold),
        format::latency(explanation.pareto.time)
    );
    let headline =
        (explanation.samples > 0).then(|| words::headline(explanation, Subject::Waits, None));
    let (remainder, observer) = (words::remainder(explanation), words::observer(explanation));
    let throttled = words::throttling(explanation, Subject::Waits);
    for sentence in [headline, Some(late), remainder, throttled, observer].into_iter().flatten() {
        written.push_str(&wrapped(&sentence, "", width));
    }
    written.push_str(&text::pareto(explanation, Subject::Waits, width));
    if !explanation.worst.is_empty() {
        written.push_str(&format!("\n{}\n", Subject::Waits.slowest()));
    }
    for (number, explained) in (1..).zip(&explanation.worst) {
        let thread = waits.threads.get(explained.task as usize);
        let head = format!(
            "thread {} waited {}, from {} into the recording; {}",
            thread.map_or_else(|| "?".to_owned(), ToString::to_string),
            format::latency(explained.sample.latency()),
            format::latency(explained.sample.due),
            explained.outcome
        );
        written.push_str(&text::sample(number, &head, explained, Subject::Waits, width));
    }
    written
}

#[cfg(test)]
mod tests {
    use tactus_explain::{Options, waits};
    use tactus_record::file::RecordingFile;

    use super::*;

    /// The waits of a recorded real session, explained.
    fn shown(recording: &str, width: usize) -> String {
        let path = format!("{}/../../tests/data/blame/{recording}", env!("CARGO_MANIFEST_DIR"));
        let mut source = RecordingFile::open(path.as_ref()).expect("a golden recording opens");
        let threshold = Nanos::from_millis(1);
        let options = Options { threshold, slowest: 1, timelines: 1 };
        let found = waits(&mut source, options, |_, _| true).expect("a golden recording is whole");
        waits_text(&found, &[&found.names[0]], threshold, 1, &TableOptions::of_width(width))
    }

    #[test]
    fn waits_of_a_recording_at_100() {
        insta::assert_snapshot!(shown("higher-priority-spinner.tactusrec", 100));
    }

    #[test]
    fn throttling_stands_beside_what_the_kernel_counted() {
        let path = format!("{}/../../tests/data/quota/one.tactusrec", env!("CARGO_MANIFEST_DIR"));
        let mut source = RecordingFile::open(path.as_ref()).expect("a golden recording opens");
        let options = Options { threshold: Nanos::from_millis(1), slowest: 1, timelines: 1 };
        let mut found = waits(&mut source, options, |_, name| name == "spinner").expect("whole");
        let explanation = &mut found.names[0].explanation;
        let said = words::throttling(explanation, Subject::Waits).expect("its group was throttled");
        let plain = said.replace(format::THIN_SPACE, " ");
        let start =
            "The control group /quota15-one was throttled for 324 ms (cpu.stat, added up over";
        assert!(plain.starts_with(start), "{plain}");
        assert!(plain.ends_with("in these waits, the sum over all their threads."), "{plain}");
        explanation.throttled[0].throttled = explanation.throttled_by_quota();
        let whole = words::remainder(explanation).expect("there are waits");
        assert!(whole.starts_with("The events explain 100"), "{whole}");
        // Some of the named causes are wrong if the kernel counted much more.
        let more = explanation.throttled_by_quota().as_nanos() / 4 * 5;
        explanation.throttled[0].throttled = Nanos::from_nanos(more);
        let part = words::remainder(explanation).expect("there are waits");
        assert!(part.starts_with("The events explain at least"), "{part}");
    }

    #[test]
    fn waits_of_a_recording_at_60() {
        insta::assert_snapshot!(shown("ordinary-spinner.tactusrec", 60));
    }
}
