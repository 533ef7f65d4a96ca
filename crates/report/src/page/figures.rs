//! The drawings of a run, in groups that share their axes.

pub(crate) mod frames;

use std::cmp::Reverse;

use tactus_model::result::ScopeColumn;
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::{PercentileAxis, percentile_curve};

use crate::layout::{CurvePlace, Panel, panels};
use crate::summary::CellResult;
use crate::svg::density::{self, Density, Ranges};
use crate::svg::percentiles::{self, Curve, Limit, Shared};
use crate::svg::scope::{self, Scope};
use crate::svg::series::{self, Round, Series};
use crate::svg::style::CurveStyle;

/// The most cells that are drawn; with more, the page would be too large to read or to load.
const DRAWN: usize = 120;

/// The number of cells whose own drawings (scope and seconds) are open; the others are folded.
///
/// Nine fill three columns.
const OPEN: usize = 9;

/// Drawings under one heading.
pub(super) struct Figure {
    pub(super) title: &'static str,
    pub(super) about: String,
    /// SVG elements.
    pub(super) panels: Vec<String>,
    /// SVG elements that are folded at first.
    pub(super) folded: Vec<String>,
}

/// The drawings of a run, with lines for tolerated latencies, and the number of cells not drawn.
pub(super) fn figures(
    run: &Run,
    results: &[CellResult<'_>],
    limits: &[Limit],
) -> (Vec<Figure>, usize) {
    let drawn = drawn(results);
    let indices: Vec<usize> = drawn.iter().map(|result| result.index).collect();
    let groups: Vec<Grouped<'_, '_>> = panels(&run.header.plan.cells, &indices)
        .into_iter()
        .map(|panel| Grouped::of(panel, &drawn))
        .collect();
    let mut figures = frames::figures(&drawn);
    figures.extend([
        percentiles(
            &groups,
            limits,
            PercentileAxis::Reciprocal,
            "Percentiles by 1/(1−p)",
            "Latency per sample. Samples are rarer to the right: at 99.9, one sample in a thousand has a \
             higher latency. Lower is better, flatter is more predictable; each curve ends at its worst case. \
             Dashes only distinguish curves, like colours, here and in all drawings.",
        ),
        percentiles(
            &groups,
            limits,
            PercentileAxis::Exponential,
            "Percentiles on an exponential axis",
            "The same on the axis of Faller (1992), the exponential of the percentile: the bulk is compressed \
             to the left, and the slowest tenth takes most of the width.",
        ),
        densities(&groups),
    ]);
    // Other programs record how often each latency occurred, but not when.
    let timed: Vec<&CellResult<'_>> =
        drawn.iter().copied().filter(|result| result.cell.imported.is_none()).collect();
    if !timed.is_empty() {
        figures.extend([scopes(&timed), seconds(&timed)]);
    }
    (figures, results.len() - drawn.len())
}

/// The cells to draw, those with the highest worst cases, in the order of the plan.
pub(super) fn drawn<'a, 'r>(results: &'a [CellResult<'r>]) -> Vec<&'a CellResult<'r>> {
    let mut ordered: Vec<&CellResult<'_>> = results.iter().collect();
    ordered.sort_by_key(|result| Reverse(result.max()));
    ordered.truncate(DRAWN);
    ordered.sort_by_key(|result| result.index);
    ordered
}

/// A panel with the results of its cells.
struct Grouped<'a, 'r> {
    title: String,
    members: Vec<(CurvePlace, &'a CellResult<'r>)>,
}

impl<'a, 'r> Grouped<'a, 'r> {
    fn of(panel: Panel, results: &[&'a CellResult<'r>]) -> Self {
        let members = panel
            .curves
            .into_iter()
            .filter_map(|curve| {
                let result = results.iter().find(|result| result.index == curve.cell)?;
                Some((curve, *result))
            })
            .collect();
        Self { title: panel.title, members }
    }
}

fn percentiles(
    groups: &[Grouped<'_, '_>],
    limits: &[Limit],
    axis: PercentileAxis,
    title: &'static str,
    about: &str,
) -> Figure {
    let curves: Vec<(&str, Vec<Curve>)> = groups
        .iter()
        .map(|group| {
            let curves = group.members.iter().filter_map(|(place, result)| curve(place, result));
            (group.title.as_str(), curves.collect())
        })
        .collect();
    let all = || curves.iter().flat_map(|(_, curves)| curves);
    let shared = Shared::of(axis, all()).with_limits(limits);
    Figure {
        title,
        about: about.to_owned(),
        panels: curves
            .iter()
            .map(|(head, curves)| percentiles::panel(head, curves, &shared).inline())
            .collect(),
        folded: Vec::new(),
    }
}

fn curve(place: &CurvePlace, result: &CellResult<'_>) -> Option<Curve> {
    let points = percentile_curve(&result.summary.per_wakeup);
    (!points.is_empty()).then(|| Curve { name: place.name.clone(), style: place.style, points })
}

fn densities(groups: &[Grouped<'_, '_>]) -> Figure {
    let densities: Vec<(&str, Vec<Density>)> = groups
        .iter()
        .map(|group| {
            let members = group.members.iter().map(|(place, result)| Density {
                name: place.name.clone(),
                style: place.style,
                counts: counts(result),
                max: result.summary.per_wakeup.max(),
            });
            (group.title.as_str(), members.collect())
        })
        .collect();
    let ranges = Ranges::of(densities.iter().flat_map(|(_, members)| members));
    Figure {
        title: "Histograms",
        about: "Number of samples by latency. Both axes are logarithmic, so one late sample is visible among \
            a million timely ones; the triangle marks the worst case."
            .to_owned(),
        panels: densities
            .iter()
            .map(|(head, members)| density::panel(head, members, ranges).inline())
            .collect(),
        folded: Vec::new(),
    }
}

/// The number of wakeups of each latency, ascending.
fn counts(result: &CellResult<'_>) -> Vec<(Nanos, u64)> {
    result.summary.per_wakeup.buckets().map(|bucket| (bucket.low, bucket.count)).collect()
}

fn scopes(results: &[&CellResult<'_>]) -> Figure {
    let (open, folded) =
        open_and_folded(results, |result| scope::panel(&scope_of(result)).inline());
    Figure {
        title: "Time between wakeups",
        about: "The scope of the Mach testbed (1993): in a perfect system, every point is on the line of the \
            interval. The graph shows the round with the longest time; a triangle marks a time off the scale."
            .to_owned(),
        panels: open,
        folded,
    }
}

fn scope_of(result: &CellResult<'_>) -> Scope {
    let probe = result.cell.probe.timer();
    let columns = |place: usize| -> Vec<ScopeColumn> {
        result.measurements[place]
            .tasks
            .iter()
            .flat_map(|task| task.scope.iter().copied())
            .collect()
    };
    let longest = |columns: &[ScopeColumn]| columns.iter().map(|column| column.max).max();
    let shown = (0..result.measurements.len())
        .max_by_key(|place| longest(&columns(*place)))
        .unwrap_or_default();
    let columns = columns(shown);
    Scope {
        name: result.label.clone(),
        style: CurveStyle::numbered(0),
        nominal: probe.interval.mean(),
        worst: longest(&columns).unwrap_or_default(),
        columns,
        window: result.measurements[shown].window,
    }
}

fn seconds(results: &[&CellResult<'_>]) -> Figure {
    let all: Vec<Series> = results
        .iter()
        .map(|result| Series {
            name: result.label.clone(),
            rounds: result
                .measurements
                .iter()
                .map(|measurement| Round {
                    window: measurement.window,
                    seconds: series::joined(measurement.tasks.iter().map(|task| &task.series[..])),
                })
                .collect(),
        })
        .collect();
    let times = series::range(&all);
    let named: Vec<&CellResult<'_>> = results.to_vec();
    let (open, folded) = open_and_folded(&named, |result| {
        let place = named.iter().position(|other| other.index == result.index).unwrap_or_default();
        series::panel(&all[place], times).inline()
    });
    Figure {
        title: "Second by second",
        about: "Shows whether late samples are clustered, periodic or increasing. For several tasks, the \
            median is that of the middle task, p99 and maximum those of the slowest task."
            .to_owned(),
        panels: open,
        folded,
    }
}

/// Draws the cells with the highest worst cases open and folds the others, both in the order of the
/// plan.
fn open_and_folded(
    results: &[&CellResult<'_>],
    draw: impl Fn(&CellResult<'_>) -> String,
) -> (Vec<String>, Vec<String>) {
    let mut ordered: Vec<&CellResult<'_>> = results.to_vec();
    ordered.sort_by_key(|result| Reverse(result.max()));
    // Folding one or two saves no room.
    let open = if ordered.len() <= OPEN + 2 { ordered.len() } else { OPEN };
    let open: Vec<usize> = ordered.iter().take(open).map(|result| result.index).collect();
    let (open, folded): (Vec<&CellResult<'_>>, Vec<&CellResult<'_>>) =
        results.iter().copied().partition(|result| open.contains(&result.index));
    (open.into_iter().map(&draw).collect(), folded.into_iter().map(&draw).collect())
}
