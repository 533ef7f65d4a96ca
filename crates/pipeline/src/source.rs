//! Which cell of a run measures a part of a pipeline.

use tactus_model::cell::Cell;
use tactus_model::cost::{CostProbe, Way};
use tactus_model::settings;

use crate::graph::Graph;

/// A cell of a run that measures what a pipeline needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// Its index in the run.
    pub cell: usize,
    /// Whether it was measured as the pipeline experiences it: after a pause, and as often as in a
    /// frame.
    pub is_exact: bool,
    /// By what its samples are multiplied.
    pub factor: f64,
}

impl Graph {
    /// The best of the `available` cells for a cell of the graph; `None` if none measures the same.
    pub fn source(&self, needed: usize, available: &[Cell]) -> Option<Source> {
        let needed = &self.cells[needed];
        let sources = available.iter().enumerate().filter_map(|(cell, available)| {
            let (is_exact, factor) = suits(needed, available)?;
            Some(Source { cell, is_exact, factor })
        });
        // Of several, the exact one, or else the first.
        sources.min_by_key(|source| !source.is_exact)
    }
}

/// Whether a cell measures what is needed: exactly so, and by what factor it differs.
fn suits(needed: &Cell, available: &Cell) -> Option<(bool, f64)> {
    if needed.target != available.target {
        return None;
    }
    let is_alike = needed.policy == available.policy && needed.load == available.load;
    match (needed.probe.cost(), available.probe.cost()) {
        (Some(needed), Some(available)) if has_same_operation(needed, available) => {
            let scale = f64::from(needed.per_sample()) / f64::from(available.per_sample().max(1));
            let [one, other] = [needed.sampling.way, available.sampling.way];
            let way = match (one, other) {
                (Way::OneWay, Way::RoundTrip) => 0.5,
                (Way::RoundTrip, Way::OneWay) => 2.0,
                _ => 1.0,
            };
            Some((is_alike && needed.sampling == available.sampling, scale * way))
        }
        (None, None) if needed.probe.kind() == available.probe.kind() => {
            let [one, other] = [needed, available].map(|cell| cell.probe.timer().interval);
            Some((is_alike && one == other, 1.0))
        }
        _ => None,
    }
}

/// Whether two probes do the same operation with the same parameters.
fn has_same_operation(one: &CostProbe, other: &CostProbe) -> bool {
    const SAMPLING: [&str; 3] = ["pause", "times", "way"];
    let settings = settings::SETTINGS.iter().filter(|setting| {
        setting.of == Some(tactus_model::probe::ProbeKind::Cost)
            && !SAMPLING.contains(&setting.name)
    });
    let text = |cost: &CostProbe, get: fn(&Cell) -> String| get(&cell_of(cost));
    settings.into_iter().all(|setting| text(one, setting.get) == text(other, setting.get))
}

fn cell_of(cost: &CostProbe) -> Cell {
    let mut cell = settings::Layer::default().cells().remove(0);
    cell.probe = tactus_model::probe::Probe::Cost(cost.clone());
    cell
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;
    use crate::fixture;

    #[test]
    fn an_exact_cell_is_preferred_and_another_one_is_scaled() {
        let graph = fixture::line();
        let step = graph.stages[0].steps[0];
        let text = "[settings]\nprobe = \"cost\"\noperation = [\"getppid\", \"read-byte\"]";
        let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
        let mut cells = plan.cells;
        // A sample of this operation is usually 128 calls.
        let found = Source { cell: 1, is_exact: false, factor: 1.0 / 128.0 };
        assert_eq!(graph.source(step, &cells), Some(found));
        cells.push(graph.cells[step].clone());
        let found = Source { cell: 2, is_exact: true, factor: 1.0 };
        assert_eq!(graph.source(step, &cells), Some(found));
    }

    #[test]
    fn a_round_trip_has_two_ways_and_a_missing_operation_has_no_source() {
        let graph = fixture::line();
        let by = graph.stages[2].after[0].by.unwrap();
        let text = "[settings]\nprobe = \"cost\"\npartner-cpu = \"other\"\n\
                    operation = [\"futex\", \"pipe\"]";
        let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
        assert_eq!(graph.source(by, &plan.cells).map(|found| found.factor), Some(0.5));
        assert_eq!(graph.source(graph.wake, &plan.cells), None);
        assert_eq!(graph.source(by, &plan.cells[1..]), None);
    }
}
