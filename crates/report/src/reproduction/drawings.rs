//! The percentile graphs of a reproduction.

use tactus_judge::reproduce::{Series, View};
use tactus_model::time::Nanos;
use tactus_stats::percentile_curve;

use super::tables;
use crate::svg::percentiles::{Curve, Shared, panel};
use crate::svg::style::CurveStyle;

/// One panel for each measure and choice of samples of a view, those of a measure
/// on the same axes, so that they compare.
pub(super) fn panels(view: &View<'_>) -> Vec<String> {
    let groups: Vec<(&Series<'_>, Vec<Curve>)> = tables::groups(view)
        .into_iter()
        .filter_map(|group| Some((*group.first()?, curves(&group))))
        .collect();
    let panels = groups.iter().map(|(first, curves)| {
        let same = groups.iter().filter(|(other, _)| other.measure == first.measure);
        let shared = Shared::of(view.graph.axis, same.flat_map(|(_, curves)| curves));
        let head = format!("{}, {}", first.measure, first.transfers);
        panel(&head, curves, shared).inline()
    });
    panels.collect()
}

fn curves(group: &[&Series<'_>]) -> Vec<Curve> {
    let curves = group.iter().enumerate().map(|(number, series)| Curve {
        name: series.cell.to_owned(),
        style: CurveStyle::numbered(number),
        points: drawable(percentile_curve(&series.lengths)),
    });
    curves.collect()
}

/// Points without those of no length at all, which a logarithmic axis has no place for:
/// an interrupt may have been entered for something else before the due time.
fn drawable(points: Vec<(f64, Nanos)>) -> Vec<(f64, Nanos)> {
    points.into_iter().filter(|(_, length)| *length > Nanos::ZERO).collect()
}
