//! One combination of probe, load, policy and target.

use serde::{Deserialize, Serialize};

use crate::load::LoadPlan;
use crate::policy::Policy;
use crate::probe::{Probe, SleepMethod, TaskKind, Work};
use crate::settings::SETTINGS;
use crate::time::Nanos;

/// Where a cell runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// The machine that runs the plan.
    Host,
}

/// One combination of probe, load, policy and target, and for how long it is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The measured loop.
    pub probe: Probe,
    /// The competing work.
    pub load: LoadPlan,
    /// How the probe is scheduled and prepared.
    pub policy: Policy,
    /// Where it runs.
    pub target: Target,
    /// How long the load runs before the measured window opens.
    pub warmup: Nanos,
    /// How long the measured window is.
    pub duration: Nanos,
    /// The most samples that a task keeps; those beyond it are counted as dropped.
    pub sample_limit: u64,
}

/// Why a cell's settings do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    /// The sleeping call knows other clocks only.
    #[error("sleep = \"{sleep}\" cannot sleep by clock = \"{clock}\"; it can by: {choices}")]
    Clock {
        /// The sleeping call.
        sleep: SleepMethod,
        /// The clock asked for.
        clock: crate::time::ClockName,
        /// The clocks it knows.
        choices: String,
    },
    /// A task that computes all the time cannot also block.
    #[error(
        "work = \"continuous\" needs a timer that interrupts it, and sleep = \"{0}\" blocks; use sleep = \"signal-handler\""
    )]
    ContinuousBlocks(SleepMethod),
    /// setitimer(2) gives one timer to a process.
    #[error("sleep = \"itimer\" has one timer a process; add tasks = \"processes\"")]
    ItimerThreads,
    /// A measurement of no length.
    #[error("duration = \"{0}\" is shorter than one interval; make it at least {1}")]
    TooShort(Nanos, Nanos),
    /// More tasks than can be meant.
    #[error("tasks-per-cpu = {0} is out of range; write 1 to 256")]
    TaskCount(u32),
}

impl Cell {
    /// Checks that the settings go together.
    pub fn check(&self) -> Result<(), Inconsistent> {
        let Probe::Timer(probe) = &self.probe;
        let clocks = probe.sleep.clocks();
        if !clocks.contains(&probe.clock) {
            let choices: Vec<&str> = clocks.iter().map(|clock| clock.word()).collect();
            return Err(Inconsistent::Clock {
                sleep: probe.sleep,
                clock: probe.clock,
                choices: choices.join(", "),
            });
        }
        if probe.work == Work::Continuous && !probe.sleep.stamps_in_handler() {
            return Err(Inconsistent::ContinuousBlocks(probe.sleep));
        }
        if probe.sleep == SleepMethod::Itimer && probe.tasks == TaskKind::Threads {
            return Err(Inconsistent::ItimerThreads);
        }
        if self.duration < probe.interval.mean() {
            return Err(Inconsistent::TooShort(self.duration, probe.interval.mean()));
        }
        if !(1..=256).contains(&probe.tasks_per_cpu) {
            return Err(Inconsistent::TaskCount(probe.tasks_per_cpu));
        }
        Ok(())
    }

    /// The cell's settings as a person would write them, by name.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        SETTINGS.iter().map(|setting| (setting.name, (setting.get)(self)))
    }
}

/// The names of the settings in which `cells` differ, in the order of the settings.
pub fn differing_settings(cells: &[Cell]) -> Vec<&'static str> {
    let Some((first, rest)) = cells.split_first() else { return Vec::new() };
    SETTINGS
        .iter()
        .filter(|setting| rest.iter().any(|cell| (setting.get)(cell) != (setting.get)(first)))
        .map(|setting| setting.name)
        .collect()
}

/// Names each cell by the settings in which it differs from the others: `compute · fifo:90`.
///
/// A single cell is named by its load and policy. How a load is scheduled is left
/// out where there is none.
pub fn labels(cells: &[Cell]) -> Vec<String> {
    let mut differing = differing_settings(cells);
    if differing.is_empty() {
        differing = vec!["load", "policy"];
    }
    cells
        .iter()
        .map(|cell| {
            let parts: Vec<String> = cell
                .settings()
                .filter(|(name, _)| differing.contains(name))
                .filter(|(name, _)| !(name.starts_with("load-") && cell.load.load.is_idle()))
                .map(|(name, value)| part_of_label(name, &value))
                .collect();
            parts.join(" · ")
        })
        .collect()
}

/// A setting as part of a name. Words and lengths that can mean only one setting
/// stand alone; yes, no and plain numbers carry its name.
fn part_of_label(name: &str, value: &str) -> String {
    match name {
        "load" | "policy" | "sleep" | "clock" | "probe" | "tasks" | "interval" => value.to_owned(),
        "tasks-per-cpu" if value == "1" => "1 task".to_owned(),
        "tasks-per-cpu" => format!("{value} tasks"),
        _ => format!("{name} {value}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Experiment, Overrides};

    fn check(settings: &str, expected: &[&str]) {
        let text = format!("[settings]\n{settings}");
        let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
        assert_eq!(plan.labels(), expected);
    }

    #[test]
    fn cells_are_named_by_what_sets_them_apart() {
        check("policy = \"fifo:90\"", &["idle · fifo:90"]);
        check("interval = [\"1ms\", \"2ms\"]", &["1ms", "2ms"]);
        check(
            "work = [\"none\", \"2%\"]\ntasks-per-cpu = [1, 8]",
            &["work none · 1 task", "work none · 8 tasks", "work 2% · 1 task", "work 2% · 8 tasks"],
        );
        check(
            "load = [\"idle\", \"compute:2\"]\nload-policy = [\"other\", \"rr:5\"]",
            &["idle", "compute:2 · load-policy other", "compute:2 · load-policy rr:5"],
        );
    }
}
