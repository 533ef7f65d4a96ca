//! Sentences about longer times.

use tactus_model::time::Nanos;
use tactus_stats::extreme::{LevelEstimation, TailEstimate, TailEstimation};

use super::CellTail;
use crate::format;
use crate::table::{TableOptions, wrapped};

/// Writes what the cells of a run say of longer times than were measured.
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

/// All that is said of a cell, sentence by sentence.
pub(super) fn of_cell(cell: &CellTail) -> Vec<String> {
    let CellTail { all_causes, by_cause, not_by_cause, unseen, .. } = cell;
    let mut told = sentences(all_causes);
    for cause in by_cause {
        let answer = sentences(&cause.answer).join(" ");
        told.push(format!(
            "By {} alone, first cause of {}: {answer}",
            cause.cause,
            format::counted(cause.wakeups as u64, "late wakeup")
        ));
    }
    told.extend(not_by_cause.clone());
    if let Some(unseen) = unseen {
        told.push(format!(
            "What was not seen in {} comes in fewer than one of {}, with 95 % confidence, if \
             wakeups were independent.",
            format::counted(unseen.trials, "wakeup"),
            format::count((1.0 / unseen.rate) as u64)
        ));
    }
    told
}

/// What an answer says: the levels and what they rest on, or why there are none.
fn sentences(answer: &TailEstimation) -> Vec<String> {
    match answer {
        TailEstimation::Estimate { estimate, levels } => {
            let mut told: Vec<String> = levels.iter().map(level).collect();
            told.push(rests_on(estimate));
            told
        }
        TailEstimation::Refused { words, .. } => {
            vec![format!("No estimate of longer times: {words}.")]
        }
    }
}

fn level(LevelEstimation { period, level, refused }: &LevelEstimation) -> String {
    let once = once_in(*period);
    match (level, refused) {
        (Some(level), _) => format!(
            "Exceeded {once}: about {} (95 % interval {} to {}); an estimate, not a bound.",
            format::latency(level.level),
            format::latency(level.low),
            format::latency(level.high)
        ),
        (None, Some(reason)) => format!("Exceeded {once}: not told, since {reason}."),
        (None, None) => format!("Exceeded {once}: not told."),
    }
}

/// A time in words: `once in an hour`.
fn once_in(period: Nanos) -> String {
    match period.as_nanos() / 1_000_000_000 {
        3_600 => "once in an hour".to_owned(),
        86_400 => "once in a day".to_owned(),
        _ => format!("once in {}", format::span(period)),
    }
}

/// What an estimate rests on, with its diagnostics.
fn rests_on(estimate: &TailEstimate) -> String {
    let [low, high] = estimate.shape_interval;
    let diagnostics = &estimate.diagnostics;
    let thresholds = diagnostics.thresholds.len();
    format!(
        "It rests on {} above {} in {}; shape {:.2} ({low:.2} to {high:.2}), the same above {}; \
         chance of such spacings {:.2}, of such an order {:.2}, of rounds so different in number {:.2} and \
         in size {:.2}.",
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
            not_by_cause: Some("Causes are not told apart: nothing was recorded.".to_owned()),
            unseen: UnseenBound::after(wakeups as u64),
        }
    }

    #[test]
    fn longer_times_in_words() {
        let cells = [cell("idle", 60_000), cell("compute", 1_000)];
        insta::assert_snapshot!(tail_text(&cells, &TableOptions::default()));
    }
}
