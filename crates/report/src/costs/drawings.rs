//! How costs grow with size, as curves.

use tactus_model::bytes::Bytes;
use tactus_model::time::Nanos;
use tactus_stats::costs::CostRow;

use super::section::Scope;
use crate::format;
use crate::svg::sizes::{self, SizeCurve};
use crate::svg::style::CurveStyle;

/// The most curves in a drawing: a reader cannot distinguish more.
const CURVES_MAX: usize = 8;

impl Scope<'_> {
    /// How the costs of operations grow with a size, in drawings with a few curves each.
    pub(super) fn drawings(&self) -> Vec<String> {
        let of_sizes = self.costs.growth.iter().filter_map(|over| {
            let rows: Vec<&CostRow> =
                over.cells.iter().map(|cell| self.row(*cell)).collect::<Option<_>>()?;
            let points = rows.iter().filter_map(|row| Some((row.size()?.get(), nanos(row))));
            let (context, name) = (self.context(rows[0]), rows[0].operation()?.to_owned());
            Some(Costs { context, name, points: points.collect() })
        });
        let sizes = panels("block size", of_sizes.collect());
        let sets = panels("working set", self.working_sets());
        sizes.into_iter().chain(sets).collect()
    }

    /// The costs by working set, of each operation with all else equal.
    fn working_sets(&self) -> Vec<Costs> {
        let mut curves: Vec<Costs> = Vec::new();
        for row in &self.rows {
            let set = row.settings.get("working-set").and_then(|set| set.parse::<Bytes>().ok());
            let Some(set) = set.filter(|set| *set > Bytes::ZERO) else { continue };
            let mut alike = (*row).clone();
            alike.settings.remove("working-set");
            let name = self.way(&alike);
            let point = (set.get(), nanos(row));
            match curves.iter_mut().find(|known| known.name == name) {
                Some(known) => known.points.push(point),
                None => curves.push(Costs { context: String::new(), name, points: vec![point] }),
            }
        }
        curves.retain(|costs| costs.points.len() > 1);
        curves.iter_mut().for_each(|costs| costs.points.sort_unstable());
        curves
    }
}

fn nanos(row: &CostRow) -> Nanos {
    format::rounded_nanos(row.cost.typical_ns)
}

/// The costs of a way by size.
struct Costs {
    /// What distinguishes it from most others, as far as the name does not say so.
    context: String,
    name: String,
    points: Vec<(u64, Nanos)>,
}

/// Drawings of curves with equal contexts.
fn panels(along: &str, curves: Vec<Costs>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<SizeCurve>)> = Vec::new();
    for Costs { context, name, points } in curves {
        let open = groups
            .iter_mut()
            .find(|(known, curves)| *known == context && curves.len() < CURVES_MAX);
        let curve = |number: usize| SizeCurve { name, style: CurveStyle::numbered(number), points };
        match open {
            Some((_, curves)) => curves.push(curve(curves.len())),
            None => groups.push((context, vec![curve(0)])),
        }
    }
    groups.iter().map(|(context, curves)| sizes::panel(along, context, curves).inline()).collect()
}
