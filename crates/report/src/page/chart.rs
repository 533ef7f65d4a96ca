//! The data of the interactive graph, as JSON inside the page.

use serde::Serialize;
use tactus_model::run::Run;

use crate::format;
use crate::layout::{Panel, panels};
use crate::summary::{CellResult, cell_results};
use crate::svg::axis::PercentileAxis;
use crate::svg::style::CurveStyle;

/// Points of a curve for every further nine.
const POINTS_IN_DECADE: u32 = 32;

/// The cells whose curves are switched on at first, where there are many.
const SHOWN_AT_FIRST: usize = 10;

/// Everything that the page's script draws.
#[derive(Serialize)]
struct Data {
    /// Shares of the wakeups; the points of all curves.
    shares: Vec<f64>,
    /// The place of each share on the two axes.
    nines: Vec<f64>,
    exponential: Vec<f64>,
    marks: Vec<Mark>,
    curves: Vec<Curve>,
}

/// A share that is written under the axes.
#[derive(Serialize)]
struct Mark {
    text: String,
    nines: f64,
    exponential: f64,
}

/// The curve of a cell.
#[derive(Serialize)]
struct Curve {
    /// The number of the run on the page, counted from 1.
    run: usize,
    name: String,
    /// What the cells of its panel have in common; the heading of its switch.
    group: String,
    colour: usize,
    dashes: &'static [f64],
    shown: bool,
    /// Latencies in nanoseconds at the shares; the last is the greatest.
    values: Vec<u64>,
}

/// The data of all runs, safe to stand in a script element.
pub(super) fn data(runs: &[Run]) -> Result<String, serde_json::Error> {
    let all: Vec<Vec<CellResult<'_>>> = runs.iter().map(cell_results).collect();
    let most = all.iter().flatten().map(|result| result.accounting().observed).max().unwrap_or(0);
    let shares = shares(most);
    let mut curves = Vec::new();
    for (number, (run, results)) in runs.iter().zip(&all).enumerate() {
        curves.extend(curves_of(run, results, number + 1, &shares, runs.len() > 1));
    }
    let data = Data {
        nines: places(&shares, PercentileAxis::Nines),
        exponential: places(&shares, PercentileAxis::Exponential),
        marks: marks(&shares),
        shares,
        curves,
    };
    Ok(safe_in_script(&serde_json::to_string(&data)?))
}

fn curves_of(
    run: &Run,
    results: &[CellResult<'_>],
    number: usize,
    shares: &[f64],
    several: bool,
) -> Vec<Curve> {
    let indices: Vec<usize> = results.iter().map(|result| result.index).collect();
    let panels = panels(&run.header.plan.cells, &indices);
    let at_first = slowest(results);
    let mut curves = Vec::new();
    for (place, Panel { title, curves: members }) in panels.iter().enumerate() {
        for member in members {
            let Some(result) = results.iter().find(|result| result.index == member.cell) else {
                continue;
            };
            // Dashes tell panels apart here, since all of them share one graph.
            let style = match panels.len() {
                1 => member.style,
                _ => CurveStyle::crossed(member.style.colour(), place + number - 1),
            };
            curves.push(Curve {
                run: number,
                name: member.name.clone(),
                group: group(run, title, several),
                colour: style.colour(),
                dashes: style.dashes(),
                shown: at_first.contains(&result.index),
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

/// The cells that are shown at first: those of the longest worst cases.
fn slowest(results: &[CellResult<'_>]) -> Vec<usize> {
    let mut ordered: Vec<&CellResult<'_>> = results.iter().collect();
    ordered.sort_by_key(|result| std::cmp::Reverse(result.max()));
    ordered.iter().take(SHOWN_AT_FIRST).map(|result| result.index).collect()
}

/// Shares whose complements fall by equal factors, as far as `most` samples reach.
fn shares(most: u64) -> Vec<f64> {
    let decades = (most.max(10) as f64).log10();
    let steps = (decades * f64::from(POINTS_IN_DECADE)).ceil() as u32;
    (0..=steps).map(|step| share_at(step)).collect()
}

fn share_at(step: u32) -> f64 {
    1.0 - 10_f64.powf(-f64::from(step) / f64::from(POINTS_IN_DECADE))
}

/// The curve as far as the cell's samples reach, ending in its greatest latency.
fn values(result: &CellResult<'_>, shares: &[f64]) -> Vec<u64> {
    let observed = result.accounting().observed;
    if observed == 0 {
        return Vec::new();
    }
    let last = 1.0 - 1.0 / observed as f64;
    let mut values: Vec<u64> = shares
        .iter()
        .take_while(|share| **share < last)
        .map(|share| result.wakeup_quantile(*share).as_nanos())
        .collect();
    values.push(result.max().as_nanos());
    values
}

fn places(shares: &[f64], axis: PercentileAxis) -> Vec<f64> {
    // Six digits are finer than any screen and keep the page small.
    shares.iter().map(|share| (axis.position(*share) * 1e6).round() / 1e6).collect()
}

fn marks(shares: &[f64]) -> Vec<Mark> {
    let last = shares.last().copied().unwrap_or_default();
    crate::svg::percentiles::MARKS
        .into_iter()
        .filter(|share| *share <= last)
        .map(|share| Mark {
            text: format::percentile(share),
            nines: PercentileAxis::Nines.position(share),
            exponential: PercentileAxis::Exponential.position(share),
        })
        .collect()
}

/// Escapes what could end a script element or begin a comment in it.
///
/// In JSON these letters stand in strings only, where `\u` escapes mean the same.
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
        assert!(*shares.last().unwrap() >= 1.0 - 1e-6);
        assert!(shares.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
