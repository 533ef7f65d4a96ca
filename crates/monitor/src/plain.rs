//! The monitor's figures as lines of text, for pipes and files.

use tactus_explain::ExplainedSample;
use tactus_model::time::Nanos;

use crate::StretchFigures;
use crate::view::causes::cause_line;
use tactus_model::format;

/// The names of the columns.
pub fn plain_header() -> String {
    row(["time", "observed", "missed", "min", "median", "p99", "max", "max interval", "on CPU"])
}

/// The line of one second, which ended `at` after the window opened. `cpus` has the CPU of
/// each task.
pub fn plain_line(at: Nanos, figures: &StretchFigures, cpus: &[u32]) -> String {
    line(format::span(at), figures, cpus)
}

/// The line of all samples, after `length`.
pub fn plain_total(length: Nanos, figures: &StretchFigures, cpus: &[u32]) -> String {
    let mut text = line(format!("all {}", format::span(length)), figures, cpus);
    if figures.accounting.dropped > 0 {
        text.push_str(&format!(
            "\n{} dropped: this program did not read them in time",
            format::counted(figures.accounting.dropped, "sample")
        ));
    }
    text
}

/// The causes of a late sample, printed below its second; `cpu` is the CPU of its task.
pub fn plain_cause(explained: &ExplainedSample, cpu: Option<u32>) -> String {
    format!("{:>14}{}", "late", cause_line(explained, cpu))
}

fn line(first: String, figures: &StretchFigures, cpus: &[u32]) -> String {
    let StretchFigures { accounting, latency, latest, longest_interarrival } = figures;
    let gap = longest_interarrival.map(|worst| worst.length);
    let cpu = latest.and_then(|worst| cpus.get(worst.task as usize));
    row([
        &first,
        &format::count(accounting.observed),
        &format::count(accounting.missed),
        &format::latency_or_nothing(latency.min),
        &format::latency_or_nothing(latency.median),
        &format::latency_or_nothing(latency.p99),
        &format::latency_or_nothing(latency.max),
        &format::latency_or_nothing(gap),
        &cpu.map_or_else(|| format::NOTHING.to_owned(), u32::to_string),
    ])
}

fn row(columns: [&str; 9]) -> String {
    let [time, observed, missed, min, median, p99, max, gap, cpu] = columns;
    format!(
        "{time:>14}{observed:>10}{missed:>8}{min:>10}{median:>10}{p99:>10}{max:>10}{gap:>15}{cpu:>8}"
    )
}

#[cfg(test)]
mod tests {
    use tactus_model::live::Batch;
    use tactus_model::sample::Sample;

    use super::*;
    use crate::LiveFigures;

    #[test]
    fn every_second_has_a_line() {
        let mut figures = LiveFigures::new();
        let sample = |k: u64| {
            let due = Nanos::from_millis(k);
            Sample { due, came: due + Nanos::from_nanos(40_000 + k * 977 % 30_000) }
        };
        let samples = (0..1000).map(sample).collect();
        figures.take(&Batch { samples, ..Batch::default() }, |_, _| {});
        let cpus = [3];
        let second = figures.end_second();
        let text = [
            plain_header(),
            plain_line(Nanos::from_secs(1), &second, &cpus),
            plain_line(Nanos::from_secs(2), &figures.end_second(), &cpus),
            plain_total(Nanos::from_secs(2), &figures.whole(), &cpus),
        ];
        insta::assert_snapshot!(text.join("\n"));
    }
}
