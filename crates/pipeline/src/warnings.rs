//! What limits a prediction, and its comparison with the real pipeline.

use tactus_model::format;
use tactus_model::warning::Warning;

use crate::compare::{Comparison, Conditions};
use crate::graph::Graph;
use crate::predict::{Prediction, Use};
use crate::source::Difference;

/// The most steal time that does not matter, as a share of a CPU.
const STEAL_MAX: f64 = 0.01;
/// The most CPU time of other programs that does not matter, as a share of all CPUs.
const FOREIGN_MAX: f64 = 0.25;

impl Prediction {
    /// What limits the prediction, as far as its own figures say.
    pub fn warnings(&self) -> Vec<Warning> {
        let behind = self.busiest().filter(|busiest| busiest.share >= 1.0);
        let behind = behind.map(|Use { process, share }| Warning {
            name: "overload",
            fact: format!("process `{process}` needs {} of each period", format::percent(*share)),
            effect:
                "Frames queue without end, so their time depends on how long the pipeline runs."
                    .to_owned(),
            fix: Some("a longer period, or less work".to_owned()),
        });
        behind.into_iter().collect()
    }
}

impl Comparison {
    /// What makes the comparison depend more on the machine's other work than on the prediction.
    pub fn warnings(&self, graph: &Graph) -> Vec<Warning> {
        self.conditions.warnings(graph)
    }
}

impl Conditions {
    fn warnings(&self, graph: &Graph) -> Vec<Warning> {
        let steal = self.steal.filter(|steal| *steal > STEAL_MAX);
        let steal = steal.map(|steal| Warning {
            name: "steal time",
            fact: format!(
                "the hypervisor took {} of a CPU while the pipeline ran",
                format::percent(steal)
            ),
            effect: "Its delays of frames are not in the measured operations.".to_owned(),
            fix: Some("compare on a host with free CPUs".to_owned()),
        });
        steal.into_iter().chain(self.of_other_programs(graph)).collect()
    }

    fn of_other_programs(&self, graph: &Graph) -> Option<Warning> {
        let is_idle = graph.cells.get(graph.wake).is_none_or(|cell| cell.load.load.is_idle());
        let used = self.foreign_operations.zip(self.foreign_pipeline);
        let (before, then) =
            used.filter(|(before, then)| is_idle && before.max(*then) > FOREIGN_MAX)?;
        Some(Warning {
            name: "other programs",
            fact: format!(
                "they used {} of the CPUs while the operations were measured, and {} while the \
                 pipeline ran",
                format::percent(before),
                format::percent(then)
            ),
            effect: "The comparison depends on what they did in each.".to_owned(),
            fix: Some("stop them, or predict for a load of known size (--load)".to_owned()),
        })
    }
}

const MEASURE: &str = "measure with the pipeline, without --run";

/// The run of the operations has no wake-up latency.
pub fn without_wake_up() -> Warning {
    Warning {
        name: "wake-up latency",
        fact: "the run has none (probe timer)".to_owned(),
        effect: "Frames begin as if every process woke at once.".to_owned(),
        fix: Some(MEASURE.to_owned()),
    }
}

/// A warning for each setting in which operations, given by name, differ from the pipeline.
pub fn of_differences(differing: &[(String, Difference)]) -> Vec<Warning> {
    let mut of_setting: Vec<(&'static str, Vec<String>)> = Vec::new();
    for (operation, Difference { setting, needed, measured }) in differing {
        let entry = format!("{operation} {measured} instead of {needed}");
        match of_setting.iter_mut().find(|(known, _)| known == setting) {
            Some((_, entries)) if entries.contains(&entry) => {}
            Some((_, entries)) => entries.push(entry),
            None => of_setting.push((setting, vec![entry])),
        }
    }
    let warning = |(name, entries): (&'static str, Vec<String>)| Warning {
        name,
        fact: format!("not that of the pipeline: {}", entries.join(", ")),
        effect: match name {
            "pause" => "Real stages find colder caches and take longer.",
            _ => "Real stages can take more or less time.",
        }
        .to_owned(),
        fix: Some(MEASURE.to_owned()),
    };
    of_setting.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn names(warnings: &[Warning]) -> Vec<&str> {
        warnings.iter().map(|warning| warning.name).collect()
    }

    #[test]
    fn steal_time_and_other_programs_limit_a_comparison() {
        let graph = fixture::line();
        let shares = |steal, foreign| Conditions {
            steal: Some(steal),
            foreign_operations: Some(0.1),
            foreign_pipeline: Some(foreign),
            ..Conditions::default()
        };
        let found = |steal, foreign| shares(steal, foreign).warnings(&graph);
        assert_eq!(names(&found(0.02, 0.5)), ["steal time", "other programs"]);
        assert_eq!(names(&found(0.01, 0.2)), [""; 0]);
        assert_eq!(names(&Conditions::default().warnings(&graph)), [""; 0]);
    }

    #[test]
    fn operations_with_the_same_difference_are_one_warning() {
        let difference = |measured: &str| Difference {
            setting: "pause",
            needed: "1ms".to_owned(),
            measured: measured.to_owned(),
        };
        let differing = [("pipe", "0ns"), ("pipe", "0ns"), ("futex", "2ms")]
            .map(|(operation, measured)| (operation.to_owned(), difference(measured)));
        let found = of_differences(&differing);
        assert_eq!(names(&found), ["pause"]);
        assert_eq!(
            found[0].fact,
            "not that of the pipeline: pipe 0ns instead of 1ms, futex 2ms instead of 1ms"
        );
    }
}
