//! Names of cells, built from the settings in which they differ.

use crate::cell::Cell;
use crate::settings::{SETTINGS, Setting};

/// The names of the settings in which `cells` differ, in the order of the settings.
///
/// A setting is compared only among the cells whose probe has it.
pub fn differing_settings(cells: &[Cell]) -> Vec<&'static str> {
    let differs = |setting: &&Setting| {
        let mut having = cells.iter().filter(|cell| setting.applies_to(cell.probe.kind()));
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

#[cfg(test)]
mod tests {
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
}
