//! The graphs of a reproduction.

use tactus_explain::account::{Account, TickClock, TickRate};
use tactus_judge::reproduce::paper::Draw;
use tactus_judge::reproduce::{Row, View};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::{PercentileAxis, percentile_curve};

use super::tables;
use crate::accounts::section::cumulative;
use crate::page::figures::frames;
use crate::summary::cell_results;
use crate::svg;
use crate::svg::billing::Billed;
use crate::svg::percentiles::{Curve, Shared, panel};
use crate::svg::style::CurveStyle;

/// The panels of a view of what was measured in `run`.
pub(super) fn panels(view: &View<'_>, run: &Run) -> Vec<String> {
    match view.graph.draw {
        Draw::Percentiles { axis } => percentiles(view, axis),
        Draw::Players => {
            let results = cell_results(run);
            let results: Vec<_> = results.iter().collect();
            frames::panels(&results)
        }
        Draw::Quanta => quanta(view),
        Draw::Billing { rate } => billing(view, rate),
    }
}

/// One panel for each measure and choice of samples of a view, those of a measure
/// on the same axes, so that they compare.
fn percentiles(view: &View<'_>, axis: PercentileAxis) -> Vec<String> {
    let groups: Vec<(&Row<'_>, Vec<Curve>)> = tables::groups(view)
        .into_iter()
        .filter_map(|group| Some((*group.first()?, curves(&group))))
        .collect();
    let panels = groups.iter().map(|(first, curves)| {
        let same = groups.iter().filter(|(other, _)| other.measure == first.measure);
        let shared = Shared::of(axis, same.flat_map(|(_, curves)| curves));
        panel(&tables::head(first), curves, shared).inline()
    });
    panels.collect()
}

fn curves(group: &[&Row<'_>]) -> Vec<Curve> {
    let curves = group.iter().enumerate().filter_map(|(number, row)| {
        Some(Curve {
            name: row.cell.to_owned(),
            style: CurveStyle::numbered(number),
            points: drawable(percentile_curve(row.lengths?)),
        })
    });
    curves.collect()
}

/// The distribution of the effective quanta of each program.
fn quanta(view: &View<'_>) -> Vec<String> {
    let curves: Vec<Curve> = accounts(view)
        .enumerate()
        .map(|(number, (name, account))| Curve {
            name: name.to_owned(),
            style: CurveStyle::numbered(number),
            points: cumulative(account),
        })
        .collect();
    let panel = (!curves.is_empty()).then(|| svg::quanta::panel("", &curves).inline());
    panel.into_iter().collect()
}

/// What ticks billed over the length of each effective quantum, program by program.
fn billing(view: &View<'_>, rate: TickRate) -> Vec<String> {
    let clock = TickClock::Simulated { rate };
    let programs: Vec<Billed<'_>> = accounts(view)
        .enumerate()
        .filter_map(|(number, (name, account))| {
            let style = CurveStyle::numbered(number);
            Some(Billed { name, style, billing: account.billing(clock)? })
        })
        .collect();
    let reach = svg::billing::reach(&programs);
    programs.iter().map(|program| svg::billing::panel(program, reach).inline()).collect()
}

/// The programs of a view that had any effective quantum, each once.
fn accounts<'v>(view: &'v View<'_>) -> impl Iterator<Item = (&'v str, &'v Account)> {
    let first = view.rows.first().map(|row| row.measure);
    let rows = view.rows.iter().filter(move |row| Some(row.measure) == first);
    rows.filter_map(|row| Some((row.cell, row.account?)))
        .filter(|(_, account)| account.quanta.count > 0)
}

/// Points without those of no length at all, which a logarithmic axis has no place for:
/// an interrupt may have been entered for something else before the due time.
fn drawable(points: Vec<(f64, Nanos)>) -> Vec<(f64, Nanos)> {
    points.into_iter().filter(|(_, length)| *length > Nanos::ZERO).collect()
}
