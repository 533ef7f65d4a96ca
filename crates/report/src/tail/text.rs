//! Tail estimations in sentences.

use tactus_model::time::Nanos;
use tactus_stats::extreme::{LevelEstimation, TailEstimate, TailEstimation};

use super::CellTail;
use crate::format;
use crate::table::TableOptions;
use crate::wrap::wrapped;

/// Writes the tail estimations of a run's cells.
pub fn tail_text(cells: &[CellTail], options: &TableOptions) -> String {
    let mut text = String::new();
    for cell in cells {
        text.push_str(&format!("{}\n", format::printable(&cell.label)));
        for sentence in of_cell(cell) {
            text.push_str(&wrapped(&format!("  {sentence}"), "    ", options.width));
        }
    }
    text
}

/// The sentences about a cell.
pub(super) fn of_cell(cell: &CellTail) -> Vec<String> {
    let CellTail { all_causes, by_cause, not_by_cause, unseen, .. } = cell;
    let mut words = sentences(all_causes);
    for cause in by_cause {
        let estimation = sentences(&cause.estimation).join(" ");
        words.push(format!(
            "From {} alone, the main cause of {}: {estimation}",
            cause.cause,
            format::counted(cause.wakeups as u64, "late wakeup")
        ));
    }
    words.extend(not_by_cause.clone());
    if let Some(unseen) = unseen {
        words.push(format!(
            "An event not seen in {} occurs in fewer than 1 of {} wakeups (95\u{202f}% confidence, if wakeups \
             are independent).",
            format::counted(unseen.trials, "wakeup"),
            format::count((1.0 / unseen.rate) as u64)
        ));
    }
    words
}

/// The levels and their basis, or why there are none.
fn sentences(estimation: &TailEstimation) -> Vec<String> {
    match estimation {
        TailEstimation::Estimate { estimate, levels } => {
            let mut words: Vec<String> = levels.iter().map(level).collect();
            words.push(basis(estimate));
            words
        }
        TailEstimation::Refused { words, .. } => {
            vec![format!("No estimate beyond the measured time: {words}.")]
        }
    }
}

fn level(LevelEstimation { period, level, refused }: &LevelEstimation) -> String {
    let once = once_in(*period);
    match (level, refused) {
        (Some(level), _) => format!(
            "Exceeded {once}: about {} (95\u{202f}% interval {} to {}). This is an estimate, not a bound.",
            format::latency(level.level),
            format::latency(level.low),
            format::latency(level.high)
        ),
        (None, Some(reason)) => format!("Exceeded {once}: unknown, because {reason}."),
        (None, None) => format!("Exceeded {once}: unknown."),
    }
}

/// A period in words: `once an hour`.
fn once_in(period: Nanos) -> String {
    match period.as_nanos() / 1_000_000_000 {
        3_600 => "once an hour".to_owned(),
        86_400 => "once a day".to_owned(),
        _ => format!("once in {}", format::span(period)),
    }
}

/// The basis of an estimate, with its diagnostics.
fn basis(estimate: &TailEstimate) -> String {
    let [low, high] = estimate.shape_interval;
    let diagnostics = &estimate.diagnostics;
    let thresholds = diagnostics.thresholds.len();
    format!(
        "Basis: {} above {} in {}; shape {:.2} ({low:.2} to {high:.2}), stable over {}. Goodness of fit \
         (p-values): spacing of events {:.2}, sequence of their sizes {:.2}, counts per round {:.2}, sizes \
         per round {:.2}.",
        format::counted(estimate.events as u64, "late event"),
        format::latency(estimate.threshold),
        format::span(estimate.observed),
        estimate.tail.shape,
        format::counted(thresholds as u64, "threshold"),
        diagnostics.spacings,
        diagnostics.sizes,
        diagnostics.rates,
        diagnostics.levels,
    )
}

#[cfg(test)]
mod tests {
    use tactus_stats::UnseenBound;
    use tactus_stats::extreme::{LateWakeup, TailWindow};
    use tactus_stats::simulate::{Draw, Process};

    use super::*;

    fn cell(label: &str, wakeups: usize) -> CellTail {
        let latencies = Process::Pareto(0.2).draw(wakeups, &mut Draw::new(8));
        let late = (0..).zip(&latencies).map(|(nth, latency)| LateWakeup {
            due: Nanos::from_millis(nth),
            latency: Nanos::from_nanos((latency * 1000.0) as u64),
        });
        let length = Nanos::from_millis(wakeups as u64);
        let window = TailWindow::of_samples(length, wakeups as u64, late, Nanos::ZERO);
        CellTail {
            cell: 0,
            label: label.to_owned(),
            all_causes: TailEstimation::of(&[window]),
            by_cause: Vec::new(),
            not_by_cause: Some("No estimate by cause: nothing was recorded.".to_owned()),
            unseen: UnseenBound::after(wakeups as u64),
        }
    }

    #[test]
    fn tail_estimations_in_words() {
        let cells = [cell("idle", 60_000), cell("compute", 1_000)];
        insta::assert_snapshot!(tail_text(&cells, &TableOptions::default()));
    }
}
