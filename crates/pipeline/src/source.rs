//! Which cell of a run measures a part of a pipeline.

use tactus_model::cell::Cell;
use tactus_model::cost::{CostProbe, Way};
use tactus_model::settings;

use crate::description::SETTINGS;
use crate::graph::Graph;

/// A cell of a run that measures what a pipeline needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its index in the run.
    pub cell: usize,
    /// The conditions under which it was measured that are not those of the pipeline.
    pub differences: Vec<Difference>,
    /// By what its samples are multiplied.
    pub factor: f64,
}

/// A condition in which a measurement differs from a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the setting.
    pub setting: &'static str,
    /// Its value in the pipeline.
    pub needed: String,
    /// Its value in the measurement.
    pub measured: String,
}

impl Difference {
    /// Whether durations say nothing about the pipeline because of it: the policy and the load
    /// change them by orders of magnitude.
    pub fn is_essential(&self) -> bool {
        ["policy", "load", "load-policy", "load-cpus"].contains(&self.setting)
    }
}

impl Graph {
    /// The best of the `available` cells for a cell of the graph; `None` if none measures the same.
    pub fn source(&self, needed: usize, available: &[Cell]) -> Option<Source> {
        let needed = &self.cells[needed];
        let sources = available.iter().enumerate().filter_map(|(cell, available)| {
            let factor = suits(needed, available)?;
            Some(Source { cell, differences: differences(needed, available), factor })
        });
        // Of several, the one under the conditions of the pipeline, or else the first of the nearest.
        sources.min_by_key(|source| {
            let essential = source.differences.iter().filter(|one| one.is_essential()).count();
            (essential, source.differences.len())
        })
    }
}

/// Whether a cell measures what is needed, and by what factor it differs.
fn suits(needed: &Cell, available: &Cell) -> Option<f64> {
    if needed.target != available.target {
        return None;
    }
    match (needed.probe.cost(), available.probe.cost()) {
        (Some(needed), Some(available)) if has_same_operation(needed, available) => {
            let scale = f64::from(needed.per_sample()) / f64::from(available.per_sample().max(1));
            let [one, other] = [needed.sampling.way, available.sampling.way];
            let way = match (one, other) {
                (Way::OneWay | Way::Back, Way::RoundTrip) => 0.5,
                (Way::RoundTrip, Way::OneWay | Way::Back) => 2.0,
                _ => 1.0,
            };
            Some(scale * way)
        }
        (None, None) if needed.probe.kind() == available.probe.kind() => Some(1.0),
        _ => None,
    }
}

/// How an operation is sampled: how often, and after which pause.
const SAMPLING: [&str; 3] = ["pause", "times", "way"];

/// The conditions in which cells that measure the same differ.
fn differences(needed: &Cell, available: &Cell) -> Vec<Difference> {
    let [is_idle, is_idle_there] = [needed, available].map(|cell| cell.load.load.is_idle());
    let costs = needed.probe.cost().zip(available.probe.cost());
    let is_as_often = costs.is_some_and(|(one, other)| one.per_sample() == other.per_sample());
    let of_probe: &[&str] = if costs.is_some() { &SAMPLING } else { &["interval"] };
    let conditions = settings::SETTINGS.iter().filter(|setting| match setting.name {
        "load-policy" | "load-cpus" => !(is_idle && is_idle_there),
        "times" => costs.is_some() && !is_as_often,
        name => SETTINGS.contains(&name) || of_probe.contains(&name),
    });
    let values = conditions.map(|setting| Difference {
        setting: setting.name,
        needed: needed.value_of(setting),
        measured: available.value_of(setting),
    });
    values.filter(|values| values.needed != values.measured).collect()
}

/// Whether two probes do the same operation with the same parameters.
fn has_same_operation(one: &CostProbe, other: &CostProbe) -> bool {
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
        let found = graph.source(step, &cells).unwrap();
        assert_eq!((found.cell, found.factor), (1, 1.0 / 128.0));
        let differing: Vec<&str> = found.differences.iter().map(|one| one.setting).collect();
        assert_eq!(differing, ["pause", "times"]);
        let pause = &found.differences[0];
        assert_eq!([&*pause.needed, &*pause.measured], ["1ms", "0ns"]);
        assert!(found.differences.iter().all(|one| !one.is_essential()));
        cells.push(graph.cells[step].clone());
        let found = Source { cell: 2, differences: Vec::new(), factor: 1.0 };
        assert_eq!(graph.source(step, &cells), Some(found));
    }

    #[test]
    fn a_cell_under_the_policy_and_load_of_the_pipeline_is_preferred() {
        let graph = fixture::line();
        let step = graph.stages[0].steps[0];
        let needed = &graph.cells[step];
        let text = "[settings]\nprobe = \"cost\"\noperation = \"read-byte\"\n\
                    policy = [\"fifo:5\", \"other\"]\nload = [\"compute\", \"idle\"]";
        let cells = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap().cells;
        let found = graph.source(step, &cells).unwrap();
        let there = &cells[found.cell];
        assert_eq!((&there.policy, &there.load), (&needed.policy, &needed.load));
        let fifo: Vec<_> = cells.into_iter().filter(|cell| cell.policy != needed.policy).collect();
        let found = graph.source(step, &fifo).unwrap();
        assert!(found.differences[..].iter().any(Difference::is_essential));
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
