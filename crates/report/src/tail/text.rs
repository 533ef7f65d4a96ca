//! Tail estimations in sentences.

use tactus_model::time::Nanos;
use tactus_stats::extreme::{LevelEstimation, TailEstimate, TailEstimation, TailRefusal};

use super::CellTail;
use crate::format::{self, THIN_SPACE};
use crate::table::TableOptions;
use crate::wrap::{hanging, wrapped};

/// A remark about a cell: a lead that several cells may share, and the cell's own figures.
struct Remark {
    lead: String,
    figures: Option<String>,
}

/// Writes the tail estimations of a run's cells, then the remarks, each once for all its cells.
pub fn tail_text(cells: &[CellTail], options: &TableOptions) -> String {
    let mut text = String::new();
    for cell in cells {
        let sentences = estimates(cell);
        if !sentences.is_empty() {
            text.push_str(&format!("{}\n", format::printable(&cell.label)));
        }
        for sentence in sentences {
            text.push_str(&hanging("  ", &sentence, "    ", options.width));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    for (lead, about) in shared_remarks(cells) {
        match about {
            Some(about) => {
                text.push_str(&wrapped(&format!("{lead}:"), "", options.width));
                text.push_str(&wrapped(&format!("{about}."), "  ", options.width));
            }
            None => text.push_str(&wrapped(&format!("{lead}."), "", options.width)),
        }
    }
    text
}

/// The remarks about cells, each once for all its cells: its lead, and the cells with their
/// figures; no cells if it holds for all of them without figures.
pub(super) fn shared_remarks(cells: &[CellTail]) -> Vec<(String, Option<String>)> {
    let of_cells: Vec<[Option<Remark>; 3]> = cells.iter().map(remarks).collect();
    let mut all_shared = Vec::new();
    for kind in 0..3 {
        let mut shared: Vec<(&str, Vec<String>)> = Vec::new();
        for (cell, remarks) in cells.iter().zip(&of_cells) {
            let Some(Remark { lead, figures }) = &remarks[kind] else { continue };
            let about = match figures {
                Some(figures) => format!("{}: {figures}", cell.label),
                None => cell.label.clone(),
            };
            match shared.iter_mut().find(|(known, _)| known == lead) {
                Some((_, all)) => all.push(about),
                None => shared.push((lead, vec![about])),
            }
        }
        all_shared.extend(shared.into_iter().map(|(lead, about)| {
            let of_all = cells.iter().map(|cell| &cell.label).eq(&about);
            (lead.to_owned(), (!of_all).then(|| about.join("; ")))
        }));
    }
    all_shared
}

/// The sentences of the estimates of a cell; empty if there are none.
pub(super) fn estimates(CellTail { all_causes, by_cause, .. }: &CellTail) -> Vec<String> {
    let mut words = match all_causes {
        TailEstimation::Estimate { .. } => sentences(all_causes),
        TailEstimation::Refused { .. } => Vec::new(),
    };
    if by_cause.is_empty() && !words.is_empty() {
        words.push("This estimate may mix several causes.".to_owned());
    }
    for cause in by_cause {
        let estimation = sentences(&cause.estimation).join(" ");
        words.push(format!(
            "From {} alone, the main cause of {}: {estimation}",
            cause.cause,
            format::counted(cause.wakeups as u64, "late wakeup")
        ));
    }
    words
}

/// Why a cell has no estimate, why it has none by cause, and the bound on events that were not seen.
fn remarks(cell: &CellTail) -> [Option<Remark>; 3] {
    let CellTail { all_causes, not_by_cause, unseen, .. } = cell;
    let refused = match all_causes {
        TailEstimation::Estimate { .. } => None,
        TailEstimation::Refused { refusal: TailRefusal::FewEvents { events, needed }, .. } => {
            Some(Remark {
                lead: "No estimate for longer times, because there are too few late events; measure longer"
                    .to_owned(),
                figures: Some(format!("{events} of {needed} needed")),
            })
        }
        TailEstimation::Refused { words, .. } => {
            Some(Remark { lead: format!("No estimate for longer times: {words}"), figures: None })
        }
    };
    let not_by_cause =
        not_by_cause.as_ref().map(|reason| Remark { lead: reason.clone(), figures: None });
    let unseen = unseen.map(|unseen| Remark {
        lead: format!(
            "An event that was not seen is rarer than this (95{THIN_SPACE}% confidence, if samples are \
             independent)"
        ),
        figures: Some(format!("1 in {} samples", format::count((1.0 / unseen.rate) as u64))),
    });
    [refused, not_by_cause, unseen]
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
            vec![format!("No estimate for longer times: {words}.")]
        }
    }
}

fn level(LevelEstimation { period, level, refused }: &LevelEstimation) -> String {
    let once = once_in(*period);
    match (level, refused) {
        (Some(level), _) => format!(
            "Exceeded {once}: about {} (95{THIN_SPACE}% interval {} to {}). This is an estimate, not a bound.",
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
            not_by_cause: Some("No estimate by cause: nothing was recorded".to_owned()),
            unseen: UnseenBound::after(wakeups as u64),
        }
    }

    #[test]
    fn tail_estimations_in_words() {
        let cells = [cell("idle", 60_000), cell("compute", 1_000), cell("file", 1_500)];
        insta::assert_snapshot!(tail_text(&cells, &TableOptions::default()));
    }
}
