//! Names of cells, operations and kernels, built from the settings in which they differ.

mod operation;

use crate::cell::Cell;
use crate::facts::MachineFacts;
use crate::guest::Guest;
use crate::kernel::KernelSource;
use crate::settings::{SETTINGS, Setting};

pub use self::operation::{condition_labels, operation_label};

/// The names of the settings in which `cells` differ, in the order of the settings.
///
/// A setting is compared only among the cells whose probe has it.
pub fn differing_settings(cells: &[Cell]) -> Vec<&'static str> {
    let differs = |setting: &&Setting| {
        let mut having = cells.iter().filter(|cell| setting.applies_to(&cell.probe));
        having.next().is_some_and(|first| {
            having.any(|cell| cell.value_of(setting) != first.value_of(setting))
        })
    };
    SETTINGS.iter().filter(differs).map(|setting| setting.name).collect()
}

/// Names each cell by the settings in which it differs from the others: `compute · fifo:90`.
///
/// A single cell is named by its load and policy, and a cell from another program by what was
/// measured and its policy. The scheduling of the load is left out if there is no load.
pub fn labels(cells: &[Cell]) -> Vec<String> {
    let mut differing = differing_settings(cells);
    if differing.is_empty() {
        differing = match cells.first() {
            Some(cell) if cell.imported.is_some() => vec!["probe", "load", "policy"],
            _ => vec!["load", "policy"],
        };
    }
    cells
        .iter()
        .map(|cell| {
            let parts: Vec<String> = cell
                .settings()
                .filter(|(name, _)| differing.contains(name))
                .filter(|(name, _)| cell.knows(name))
                .filter(|(name, _)| !(name.starts_with("load-") && cell.load.load.is_idle()))
                .map(|(name, value)| part_of_label(name, &value))
                .collect();
            parts.join(" · ")
        })
        .collect()
}

/// A setting as part of a name. Words and durations that can mean only one setting stand alone;
/// booleans and plain numbers carry its name.
fn part_of_label(name: &str, value: &str) -> String {
    match name {
        "kernel" | "load" | "policy" | "sleep" | "clock" | "probe" | "tasks" | "interval" => {
            value.to_owned()
        }
        "tasks-per-cpu" if value == "1" => "1 task".to_owned(),
        "tasks-per-cpu" => format!("{value} tasks"),
        _ => format!("{name} {value}"),
    }
}

/// Short names for kernels that stand beside each other: by how they preempt themselves
/// if that distinguishes them, by their ticks if those do, and otherwise as they were named,
/// a file without its directories.
pub fn kernel_names(kernels: &[(&Guest, &MachineFacts)]) -> Vec<String> {
    let by = |of: fn(&MachineFacts) -> Option<String>| -> Option<Vec<String>> {
        let names: Vec<String> =
            kernels.iter().map(|(_, facts)| of(facts)).collect::<Option<_>>()?;
        let tells_apart = (1..names.len()).all(|place| !names[..place].contains(&names[place]));
        (tells_apart && names.len() > 1).then_some(names)
    };
    by(|facts| facts.kernel.preemption.as_ref().map(|model| format!("preempt={model}")))
        .or_else(|| by(|facts| facts.kernel.tick_rate_hz.map(|rate| format!("{rate} Hz"))))
        .unwrap_or_else(|| kernels.iter().map(|(guest, _)| as_named(guest)).collect())
}

fn as_named(guest: &Guest) -> String {
    let kernel = guest.kernel.to_string();
    match &guest.kernel.source {
        KernelSource::File(path) => {
            let directories = path.rfind('/').map_or(0, |slash| slash + 1);
            kernel[directories..].to_owned()
        }
        _ => kernel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, Overrides};

    fn check(settings: &str, expected: &[&str]) {
        let text = format!("[settings]\n{settings}");
        let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
        assert_eq!(plan.labels(), expected);
    }

    #[test]
    fn cells_are_named_by_the_settings_in_which_they_differ() {
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

    #[test]
    fn operations_under_a_setting_with_several_values_name_it() {
        let check = |settings: &str, expected: &[&str]| {
            let text = format!("[settings]\nprobe = \"cost\"\n{settings}");
            let cells =
                Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap().cells;
            let labels: Vec<String> =
                (0..cells.len()).map(|number| operation_label(&cells, number)).collect();
            assert_eq!(labels, expected);
        };
        check(
            "operation = \"getppid\"\npause = [\"0s\", \"1ms\"]",
            &["getppid", "getppid, pause 1ms"],
        );
        check(
            "operation = \"getppid\"\nlock-memory = [true, false]\ntimer-slack = [\"1ns\", \"9ns\"]",
            &[
                "getppid",
                "getppid, timer-slack 9ns",
                "getppid, lock-memory false",
                "getppid, lock-memory false, timer-slack 9ns",
            ],
        );
    }

    #[track_caller]
    fn check_kernels(kernels: &[(&str, &str, u32)], expected: &[&str]) {
        let made: Vec<(Guest, MachineFacts)> = kernels
            .iter()
            .map(|(kernel, preemption, rate)| {
                let guest =
                    Guest { kernel: kernel.parse().unwrap(), time: "exact".parse().unwrap() };
                let facts = format!(
                    r#"{{"taken": 0, "kernel": {{"preemption": "{preemption}", "tick_rate_hz": {rate}}}}}"#
                );
                (guest, serde_json::from_str(&facts).unwrap())
            })
            .collect();
        let kernels: Vec<_> = made.iter().map(|(guest, facts)| (guest, facts)).collect();
        assert_eq!(kernel_names(&kernels), expected);
    }

    #[test]
    fn kernels_are_named_by_what_tells_them_apart() {
        check_kernels(
            &[("debian:preempt=none", "none", 250), ("debian-rt", "rt", 250)],
            &["preempt=none", "preempt=rt"],
        );
        check_kernels(&[("/k/a", "full", 100), ("/k/b", "full", 1000)], &["100 Hz", "1000 Hz"]);
        check_kernels(
            &[("/k/a:nosmt", "full", 250), ("debian", "full", 250)],
            &["a:nosmt", "debian"],
        );
        check_kernels(&[("debian-cloud", "full", 250)], &["debian-cloud"]);
    }
}
