//! The history of a figure.

use askama::Template;
use tactus_judge::history::{Figure, Level, Series};
use tactus_stats::changes::{ERROR_RATE, SEGMENT_MIN};

use super::lists::{figure_path, run_path};
use super::{STYLES, Site, machine_words, path};
use crate::format;
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::svg;

/// The history of a figure on each machine and kernel.
#[derive(Clone, Debug)]
pub struct HistoryPage<'h> {
    /// The name of the experiment.
    pub experiment: &'h str,
    /// The label of its cell.
    pub cell: &'h str,
    /// The figure.
    pub figure: Figure,
    /// The runs of each machine and kernel.
    pub series: &'h [Series],
    /// The number of invalid runs, which are left out.
    pub invalid: usize,
    /// What is known of the store, in a line.
    pub state: String,
}

/// Writes the history of a figure.
///
/// # Errors
/// The page could not be put together.
pub fn history_page(history: &HistoryPage<'_>) -> Result<String, ReportError> {
    let HistoryPage { experiment, cell, figure, series, .. } = history;
    let page = History {
        title: format!("{figure} of {experiment}"),
        cell: (*cell).to_owned(),
        figure: figure.word(),
        sentence: sentence(*figure, series),
        others: Figure::ALL
            .into_iter()
            .map(|other| {
                (other.word(), (other != *figure).then(|| figure_path(experiment, cell, other)))
            })
            .collect(),
        invalid: (history.invalid > 0)
            .then(|| format::counted(history.invalid as u64, "invalid run")),
        method: format!(
            "A vertical line is a change of level: E-divisive (Matteson and James 2014) on the \
             logarithms of the figures, at least {SEGMENT_MIN} runs a level. Each candidate has a \
             chance of {} to be wrong; this is not adjusted for the number of series.",
            format::percent(ERROR_RATE),
        ),
        series: series.iter().map(|series| SeriesView::of(series, *figure)).collect(),
        site: Site { state: history.state.clone() },
        frame: Frame::new(STYLES, &[]),
    };
    Ok(written(&page)?)
}

/// The page in a sentence.
fn sentence(figure: Figure, series: &[Series]) -> String {
    let changed = series.iter().filter(|series| series.levels.len() > 1).count();
    let longest = series.iter().map(|series| series.points.len()).max().unwrap_or(0);
    match (series.len(), changed) {
        (0, _) => format!("No valid run has a {figure} of this cell."),
        (_, 0) if longest < 2 * SEGMENT_MIN => format!(
            "Too few runs to find a change of the {figure}: no machine and kernel has {}.",
            2 * SEGMENT_MIN
        ),
        (_, 0) => format!("The {figure} of this cell did not change on any machine and kernel."),
        (1, _) => {
            let change = series.first().and_then(last_change).unwrap_or_default();
            format!("The {figure} of this cell {change}.")
        }
        (all, changed) => {
            let changes = series.iter().filter_map(|series| {
                let machine = machine_words(series.place.machine.as_deref());
                Some(format!("on {machine} it {}", last_change(series)?))
            });
            let more = if changed > NAMED { "; …" } else { "" };
            let changes: Vec<String> = changes.take(NAMED).collect();
            format!(
                "The {figure} of this cell changed on {changed} of {all} machines and kernels: {}{more}.",
                changes.join("; ")
            )
        }
    }
}

/// The most machines whose changes are in the sentence.
const NAMED: usize = 3;

/// The last change of a series: its direction, size and run; `None` without one.
fn last_change(series: &Series) -> Option<String> {
    let [.., before, after] = &series.levels[..] else { return None };
    let ratio = after.median.as_nanos() as f64 / before.median.as_nanos().max(1) as f64;
    let word = if ratio < 1.0 { "fell" } else { "rose" };
    let run = &series.points.get(after.first)?.run;
    let change = format!(
        "{word} from {} to {} ({}) with run {run}",
        format::latency(before.median),
        format::latency(after.median),
        format::signed_percent(ratio - 1.0),
    );
    Some(match series.levels.len() {
        2 => change,
        levels => format!("changed {} times and last {change}", levels - 1),
    })
}

#[derive(Template)]
#[template(path = "site_history.html")]
struct History {
    title: String,
    cell: String,
    figure: &'static str,
    sentence: String,
    /// The figures, those that are not shown with their paths.
    others: Vec<(&'static str, Option<String>)>,
    invalid: Option<String>,
    method: String,
    series: Vec<SeriesView>,
    site: Site,
    frame: Frame,
}

/// The runs of one machine with one kernel.
struct SeriesView {
    machine: String,
    kernel: String,
    drawing: String,
    earlier: Option<String>,
    levels: Vec<LevelView>,
    last: Vec<PointView>,
}

struct LevelView {
    from: String,
    from_href: String,
    runs: String,
    median: String,
    change: String,
    compare: Option<String>,
}

struct PointView {
    run: String,
    href: String,
    value: String,
    interval: String,
}

/// How many of the last runs are listed.
const LISTED: usize = 10;

impl SeriesView {
    fn of(series: &Series, figure: Figure) -> Self {
        let machine = machine_words(series.place.machine.as_deref());
        let kernel = series.place.kernel.clone().unwrap_or_else(|| "unknown kernel".to_owned());
        let head = format!("{machine}, {kernel}");
        let last = series.points.iter().rev().take(LISTED).map(|point| PointView {
            run: point.run.to_string(),
            href: run_path(&point.run),
            value: format::latency(point.value.value),
            interval: point.value.interval.map_or_else(String::new, |interval| {
                format!("{} – {}", format::latency(interval.low), format::latency(interval.high))
            }),
        });
        let before = std::iter::once(None).chain(series.levels.iter().map(Some));
        let levels = series.levels.iter().zip(before);
        Self {
            drawing: svg::history::panel(&head, figure.word(), series).inline(),
            machine,
            kernel,
            earlier: (series.earlier > 0)
                .then(|| format::counted(series.earlier as u64, "earlier run")),
            levels: levels.map(|(level, before)| LevelView::of(series, level, before)).collect(),
            last: last.collect(),
        }
    }
}

impl LevelView {
    fn of(series: &Series, level: &Level, before: Option<&Level>) -> Self {
        let first = &series.points[level.first].run;
        let ratio = |before: &Level| {
            let share = level.median.as_nanos() as f64 / before.median.as_nanos().max(1) as f64;
            format::signed_percent(share - 1.0)
        };
        Self {
            from: first.to_string(),
            from_href: run_path(first),
            runs: format::count(level.runs as u64),
            median: format::latency(level.median),
            change: before.map(ratio).unwrap_or_default(),
            compare: before.map(|_| {
                let last = &series.points[level.first - 1].run;
                path("/compare", &[("a", last.as_str()), ("b", first.as_str())])
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use tactus_judge::history::{MeasuredOn, Point, Value};
    use tactus_model::run::RunId;
    use tactus_model::time::{Instant, Nanos};

    use super::*;

    fn series(levels: &[u64]) -> Series {
        let point = |index: usize, micros: u64| Point {
            run: RunId::new(format!("quick-{index}")),
            created: Instant::from_nanos(index as u64),
            value: Value { value: Nanos::from_micros(micros), interval: None },
        };
        let level = |(first, micros): (usize, &u64)| Level {
            first,
            runs: 1,
            median: Nanos::from_micros(*micros),
        };
        Series {
            place: MeasuredOn { machine: Some("0123456789".to_owned()), kernel: None },
            points: levels.iter().enumerate().map(|(index, it)| point(index, *it)).collect(),
            levels: levels.iter().enumerate().map(level).collect(),
            earlier: 0,
        }
    }

    #[test]
    fn a_change_has_its_direction_its_size_and_its_run() {
        let words = |all: &[&[u64]]| {
            let all: Vec<Series> = all.iter().map(|levels| series(levels)).collect();
            sentence(Figure::P50, &all)
        };
        let rose = words(&[&[100, 150]]);
        assert!(rose.starts_with("The p50 of this cell rose from 100"), "{rose}");
        assert!(rose.contains("+50") && rose.ends_with("with run quick-1."), "{rose}");
        let fell = words(&[&[100, 150, 75]]);
        assert!(fell.contains("changed 2 times and last fell from 150"), "{fell}");
        let some = words(&[&[100], &[100, 150]]);
        assert!(
            some.contains("on 1 of 2 machines and kernels: on 01234567 it rose from"),
            "{some}"
        );
    }

    #[test]
    fn every_figure_of_a_row_has_a_label_for_narrow_screens() {
        let page = HistoryPage {
            experiment: "quick",
            cell: "idle",
            figure: Figure::P99,
            series: &[series(&[100, 150])],
            invalid: 0,
            state: String::new(),
        };
        let page = history_page(&page).unwrap();
        assert!(page.contains("data-head=\"p99\"") && page.contains("data-head=\"change\""));
        assert!(!page.contains("<td class=\"amount\">"), "a figure without a label");
    }
}
