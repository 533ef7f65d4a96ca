//! The graphs of a reproduction.

use tactus_explain::account::{Account, TickClock, TickRate};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_reproduce::paper::Draw;
use tactus_reproduce::{Measure, Row, UseOverTime, View};
use tactus_stats::{PercentileAxis, percentile_curve};

use crate::accounts::section::cumulative;
use crate::page::figures::frames;
use crate::summary::cell_results;
use crate::svg;
use crate::svg::billing::Billed;
use crate::svg::density::{self, Density, Ranges};
use crate::svg::percentiles::{Curve, Shared, panel};
use crate::svg::style::CurveStyle;

/// The panels of a view of `run`. Panels of durations share their axes with the panels of `beside`
/// that show the same figures, so they are comparable.
pub(super) fn panels(view: &View<'_>, beside: &[View<'_>], run: &Run) -> Vec<String> {
    match view.graph.draw {
        Draw::Percentiles { axis } => percentiles(view, beside, axis),
        Draw::Densities => densities(view, beside),
        Draw::Players => {
            let results = cell_results(run);
            let results: Vec<_> = results.iter().collect();
            frames::panels(&results)
        }
        Draw::Quanta => quanta(view),
        Draw::Use => uses(view),
        Draw::Figures => Vec::new(),
        Draw::Billing { rate } => billing(view, rate),
    }
}

/// The views of one machine whose panels share their axes with those of `view`.
pub(super) fn beside<'v, 'a>(view: &'v View<'a>, all: &'v [View<'a>]) -> &'v [View<'a>] {
    match view.graph.draw {
        Draw::Densities => all,
        _ => std::slice::from_ref(view),
    }
}

/// One panel per measure and selection of samples of a view. Panels of a measure share their axes,
/// so they are comparable.
fn percentiles(view: &View<'_>, beside: &[View<'_>], axis: PercentileAxis) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for row in beside.iter().flat_map(|view| &view.rows) {
        if !names.contains(&row.name()) {
            names.push(row.name());
        }
    }
    let groups_of = |view: &View<'_>| -> Vec<(Measure, String, Vec<Curve>)> {
        let groups = view.groups().into_iter();
        let group = |group: Vec<&Row<'_>>| {
            let first = group.first()?;
            Some((first.measure, first.head(), curves(&group, &names)))
        };
        groups.filter_map(group).collect()
    };
    let comparable = beside.iter().filter(|other| other.graph.columns == view.graph.columns);
    let all: Vec<(Measure, String, Vec<Curve>)> = comparable.flat_map(groups_of).collect();
    let panels = groups_of(view).into_iter().map(|(measure, head, curves)| {
        let same = all.iter().filter(|(other, ..)| *other == measure);
        let shared = Shared::of(axis, same.flat_map(|(.., curves)| curves));
        panel(&head, &curves, &shared).inline()
    });
    panels.collect()
}

/// One panel per measure and selection of samples of a view, with a strip for each row. The panels
/// of all views of the same measures share their axes.
fn densities(view: &View<'_>, beside: &[View<'_>]) -> Vec<String> {
    let comparable = beside.iter().filter(|other| {
        other.graph.draw == Draw::Densities && other.graph.measures == view.graph.measures
    });
    let all: Vec<Density> = comparable.flat_map(|view| strips(view.rows.iter())).collect();
    let ranges = Ranges::of(&all);
    let panel = |group: Vec<&Row<'_>>| {
        let head = group.first()?.head();
        let strips: Vec<Density> = strips(group.into_iter()).collect();
        Some(density::panel(&head, &strips, ranges).inline())
    };
    view.groups().into_iter().filter_map(panel).collect()
}

/// A strip of a density for each row with durations.
fn strips<'r>(rows: impl Iterator<Item = &'r Row<'r>>) -> impl Iterator<Item = Density> {
    rows.filter_map(|row| Some((row.name(), row.lengths?))).enumerate().map(
        |(number, (name, lengths))| Density {
            name: name.to_owned(),
            style: CurveStyle::numbered(number),
            counts: lengths.buckets().map(|bucket| (bucket.low, bucket.count)).collect(),
            max: lengths.max(),
        },
    )
}

/// Curves with the same style for the same name in every panel, even if a panel lacks some of the
/// `names`.
fn curves(group: &[&Row<'_>], names: &[&str]) -> Vec<Curve> {
    let curves = group.iter().filter_map(|row| {
        let number = names.iter().position(|name| *name == row.name());
        Some(Curve {
            name: row.name().to_owned(),
            style: CurveStyle::numbered(number.unwrap_or_default()),
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

/// The CPU time of each cell's task over time.
fn uses(view: &View<'_>) -> Vec<String> {
    let used: Vec<(&str, &UseOverTime)> =
        view.rows.iter().filter_map(|row| Some((row.name(), row.used?))).collect();
    let highest = svg::use_over_time::highest(used.iter().map(|(_, used)| *used));
    used.iter()
        .map(|(name, used)| svg::use_over_time::panel(name, used, highest).inline())
        .collect()
}

/// The time billed by ticks over the duration of each effective quantum, program by program.
fn billing(view: &View<'_>, rate: Option<TickRate>) -> Vec<String> {
    let clock = rate.map_or(TickClock::Kernel, |rate| TickClock::Simulated { rate });
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

/// The programs of a view with at least one effective quantum, each once, or one program in several
/// kernels.
fn accounts<'v>(view: &'v View<'_>) -> impl Iterator<Item = (&'v str, &'v Account)> {
    let first = view.rows.first().map(|row| row.measure);
    let rows = view.rows.iter().filter(move |row| Some(row.measure) == first);
    rows.filter_map(|row| Some((row.name(), row.account?)))
        .filter(|(_, account)| account.quanta.count > 0)
}

/// The points above zero, since a logarithmic axis has no zero. A latency is zero if the CPU was
/// already in an interrupt at the due time.
fn drawable(points: Vec<(f64, Nanos)>) -> Vec<(f64, Nanos)> {
    points.into_iter().filter(|(_, length)| *length > Nanos::ZERO).collect()
}
