//! The data of the interactive graph, as JSON inside the page.

use std::collections::BTreeSet;

use serde::Serialize;
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::axis::{PercentileAxis, Tick, greatest_share};

use super::figures::drawn;
use crate::format;
use crate::layout::{Panel, panels};
use crate::summary::{CellResult, quantiles};
use crate::svg::percentiles::{Limit, axis_name};
use crate::svg::style::CurveStyle;

/// Points of a curve per decade of rarity.
const POINTS_IN_DECADE: u32 = 32;

/// Up to this many curves are all switched on at first.
const SHOWN_AT_FIRST: usize = 12;

/// Everything that the page's script draws.
#[derive(Serialize)]
struct Data {
    /// Shares of the wakeups; the points of all curves.
    shares: Vec<f64>,
    reciprocal: Axis,
    exponential: Axis,
    curves: Vec<Curve>,
    limits: Vec<Line>,
}

/// A tolerated latency, in nanoseconds.
#[derive(Serialize)]
struct Line {
    name: String,
    value: u64,
}

/// One of the two axes.
#[derive(Serialize)]
struct Axis {
    name: &'static str,
    /// The place of each share: 0 at the left end, 1 at the right.
    places: Vec<f64>,
    marks: Vec<Mark>,
}

/// A share that is marked on an axis.
#[derive(Serialize)]
struct Mark {
    text: String,
    place: f64,
}

/// The curve of a cell.
#[derive(Serialize)]
struct Curve {
    name: String,
    /// What the cells of its panel have in common; the heading of its switches.
    group: String,
    colour: usize,
    dashes: &'static [f64],
    shown: bool,
    /// Latencies in nanoseconds at the shares; the last is the maximum.
    values: Vec<u64>,
}

/// The data of all runs, safe inside a script element.
pub(super) fn data(
    runs: &[(&Run, Vec<CellResult<'_>>)],
    limits: &[Limit],
) -> Result<String, serde_json::Error> {
    let counts = runs.iter().flat_map(|(_, results)| results);
    let shares = shares(counts.map(|result| result.accounting().observed).max().unwrap_or(0));
    let last = shares.last().copied().unwrap_or_default();
    let mut curves = Vec::new();
    for (run, results) in runs {
        let panels_before =
            curves.iter().map(|curve: &Curve| &curve.group).collect::<BTreeSet<_>>().len();
        curves.extend(curves_of(run, &drawn(results), &shares, panels_before, runs.len() > 1));
    }
    let data = Data {
        reciprocal: Axis::of(PercentileAxis::Reciprocal, &shares, last),
        exponential: Axis::of(PercentileAxis::Exponential, &shares, last),
        shares,
        curves,
        limits: limits
            .iter()
            .map(|limit| Line { name: limit.name.clone(), value: limit.latency.as_nanos() })
            .collect(),
    };
    Ok(safe_in_script(&serde_json::to_string(&data)?))
}

fn curves_of(
    run: &Run,
    results: &[&CellResult<'_>],
    shares: &[f64],
    panels_before: usize,
    several: bool,
) -> Vec<Curve> {
    let indices: Vec<usize> = results.iter().map(|result| result.index).collect();
    let panels = panels(&run.header.plan.cells, &indices);
    let at_first = panels_at_first(&panels, results);
    let mut curves = Vec::new();
    for (place, Panel { title, curves: members }) in panels.iter().enumerate() {
        for member in members {
            let Some(result) = results.iter().find(|result| result.index == member.cell) else {
                continue;
            };
            // Dashes distinguish panels here, since all share one graph.
            let style = match (panels.len(), several) {
                (1, false) => member.style,
                _ => CurveStyle::crossed(member.style.colour(), panels_before + place),
            };
            curves.push(Curve {
                name: member.name.clone(),
                group: group(run, title, several),
                colour: style.colour(),
                dashes: style.dashes(),
                shown: at_first.contains(&place),
                values: values(result, shares),
            });
        }
    }
    curves
}

fn group(run: &Run, panel: &str, several: bool) -> String {
    match (several, panel) {
        (false, panel) => panel.to_owned(),
        (true, "") => run.header.id.to_string(),
        (true, panel) => format!("{} · {panel}", run.header.id),
    }
}

/// The panels whose curves are switched on at first: all if they are few, otherwise the first panel
/// and the panel with the worst wakeup. So a graph of many loads opens with the idle machine and
/// the worst load.
fn panels_at_first(panels: &[Panel], results: &[&CellResult<'_>]) -> Vec<usize> {
    if results.len() <= SHOWN_AT_FIRST {
        return (0..panels.len()).collect();
    }
    let slowest = results.iter().max_by_key(|result| result.max()).map(|result| result.index);
    let worst = panels
        .iter()
        .position(|panel| panel.curves.iter().any(|curve| Some(curve.cell) == slowest));
    [0].into_iter().chain(worst).collect()
}

/// Shares whose complements fall by equal factors, as far as `most` samples reach.
fn shares(most: u64) -> Vec<f64> {
    let decades = (most.max(10) as f64).log10();
    let steps = (decades * f64::from(POINTS_IN_DECADE)).ceil() as u32;
    (0..=steps).map(share_at).collect()
}

/// A share of the grid, rounded so that 0.999 is exactly the number that tables use.
fn share_at(step: u32) -> f64 {
    let share = 1.0 - 10_f64.powf(-f64::from(step) / f64::from(POINTS_IN_DECADE));
    (share * 1e12).round() / 1e12
}

/// The curve as far as the cell's samples reach, up to its maximum.
fn values(result: &CellResult<'_>, shares: &[f64]) -> Vec<u64> {
    let histogram = &result.summary.per_wakeup;
    let last = greatest_share(histogram.count());
    let within = shares.partition_point(|share| *share < last);
    let found = quantiles(histogram, &shares[..within]).into_iter().chain(histogram.max());
    found.map(Nanos::as_nanos).collect()
}

impl Axis {
    fn of(axis: PercentileAxis, shares: &[f64], last: f64) -> Self {
        // Six digits are finer than any screen and keep the page small.
        let place = |share: f64| (axis.position(share, last) * 1e6).round() / 1e6;
        let mark = |tick: Tick| Mark {
            text: format!("{}{}%", tick.label, format::THIN_SPACE),
            place: tick.position,
        };
        Self {
            name: axis_name(axis),
            places: shares.iter().map(|share| place(*share)).collect(),
            marks: axis.ticks(last).into_iter().map(mark).collect(),
        }
    }
}

/// Escapes what could end a script element or begin a comment in it.
///
/// In JSON these characters occur only in strings, where `\u` escapes mean the same.
fn safe_in_script(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", letter as u32));
            }
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_leave_its_script_element() {
        let json = serde_json::to_string("</script><!-- & \u{2028}").unwrap();
        let safe = safe_in_script(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!-- & \u{2028}");
    }

    #[test]
    fn shares_reach_the_rarest_wakeup() {
        let shares = shares(1_000_000);
        assert_eq!(shares[0], 0.0);
        assert!(shares.contains(&0.999));
        assert!(*shares.last().unwrap() >= 1.0 - 1e-6);
        assert!(shares.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
