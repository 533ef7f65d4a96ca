//! A plan as the experiment file that reproduces it.

use std::fmt::Write;

use tactus_model::cell::Cell;
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides, Plan};
use tactus_model::format::shell_word;
use tactus_model::label::differing_settings;
use tactus_model::settings::{Layer, SETTINGS};

/// Writes `plan` as an experiment file; `tactus measure FILE` runs the same plan.
///
/// Settings that vary become lists if the cells are all their combinations; otherwise every cell
/// becomes a matrix of its own.
pub fn experiment_file(plan: &Plan) -> String {
    let mut varied = differing_settings(&plan.cells);
    // Settings of only some probes are written in each cell that has them.
    let shared = |name: &str| plan.cells.iter().all(|cell| value_of(cell, name).is_some());
    varied.extend(SETTINGS.iter().map(|setting| setting.name).filter(|name| !shared(name)));
    let product = head(plan) + &settings(&plan.cells, &varied);
    if plans_the_same(&product, plan) { product } else { head(plan) + &matrices(plan, &varied) }
}

/// The command that measures the cells of `plan` in the same rounds and order, without a file.
///
/// `None` if the cells are not all combinations of some values, or are measured in guests.
pub fn measure_command(plan: &Plan) -> Option<String> {
    let defaults = Experiment::parse(DEFAULTS).ok()?;
    let mut settings = Layer::default();
    let mut command = "tactus measure".to_owned();
    for name in SETTINGS.iter().map(|setting| setting.name) {
        let values = distinct_values(&plan.cells, name);
        if values.is_empty() || defaults.settings().values(name).unwrap_or_default() == values {
            continue;
        }
        for value in &values {
            let _ = write!(command, " --{name} {}", shell_word(value));
        }
        settings.set(name, values).ok()?;
    }
    let overrides = Overrides {
        settings,
        rounds: Some(plan.rounds),
        seed: Some(plan.seed),
        until: plan.until.map(|until| until.aim),
        limit: plan.until.map(|until| until.limit),
        guest_time: None,
    };
    let _ = write!(command, " --rounds {} --seed {}", plan.rounds, plan.seed);
    if let Some(until) = plan.until {
        let _ = write!(command, " --until {} --limit {}", until.aim, until.limit);
    }
    let again = defaults.plan(&overrides).ok()?;
    let named = Plan { name: plan.name.clone(), about: plan.about.clone(), ..again };
    (named == *plan).then_some(command)
}

fn head(plan: &Plan) -> String {
    let mut text = format!("name = {}\n", quoted(&plan.name));
    if !plan.about.is_empty() {
        text.push_str(&format!("about = {}\n", quoted(&plan.about)));
    }
    text.push_str(&format!("rounds = {}\nseed = {}\n", plan.rounds, plan.seed));
    if let Some(until) = plan.until {
        text.push_str(&format!("until = \"{}\"\nlimit = \"{}\"\n", until.aim, until.limit));
    }
    // The whole plan has the same guest time.
    if let Some(guest) = plan.cells.iter().find_map(|cell| cell.target.guest()) {
        text.push_str(&format!("guest-time = \"{}\"\n", guest.time));
    }
    text
}

fn settings(cells: &[Cell], varied: &[&str]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let mut text = "\n[settings]\n".to_owned();
    for (name, value) in first.settings() {
        let value = if varied.contains(&name) { list(cells, name) } else { quoted(&value) };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name} = {value}");
    }
    text
}

fn list(cells: &[Cell], name: &str) -> String {
    let values: Vec<String> =
        distinct_values(cells, name).iter().map(|value| quoted(value)).collect();
    format!("[{}]", values.join(", "))
}

/// The distinct values of a setting, in order of first appearance.
fn distinct_values(cells: &[Cell], name: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for value in cells.iter().filter_map(|cell| value_of(cell, name)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn matrices(plan: &Plan, varied: &[&str]) -> String {
    let common: Vec<&str> = plan.cells.first().map_or_else(Vec::new, |cell| {
        cell.settings().map(|(name, _)| name).filter(|name| !varied.contains(name)).collect()
    });
    let mut text = "\n[settings]\n".to_owned();
    for name in common {
        if let Some(value) = plan.cells.first().and_then(|cell| value_of(cell, name)) {
            let _ = writeln!(text, "{name} = {}", quoted(&value));
        }
    }
    for cell in &plan.cells {
        text.push_str("\n[[matrix]]\n");
        for (name, value) in cell.settings().filter(|(name, _)| varied.contains(name)) {
            let _ = writeln!(text, "{name} = {}", quoted(&value));
        }
    }
    text
}

fn plans_the_same(text: &str, plan: &Plan) -> bool {
    Experiment::parse(text)
        .and_then(|experiment| experiment.plan(&Overrides::default()))
        .is_ok_and(|again| again == *plan)
}

fn value_of(cell: &Cell, name: &str) -> Option<String> {
    cell.settings().find(|(setting, _)| *setting == name).map(|(_, value)| value)
}

/// A string quoted as a TOML basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", control as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
        let file = experiment_file(&plan);
        let again = Experiment::parse(&file).unwrap().plan(&Overrides::default()).unwrap();
        assert_eq!(again, plan, "{file}");
        file
    }

    #[test]
    fn the_file_makes_the_same_plan_again() {
        let file = check(
            "seed = 7\nrounds = 2\n[settings]\nload = [\"idle\", \"compute\"]\npolicy = [\"other\", \"fifo:90\"]",
        );
        assert!(file.contains("load = [\"idle\", \"compute\"]"), "{file}");
        check("until = \"p99.9:5%\"\nlimit = \"90s\"\nrounds = 4");
        check("guest-time = \"exact:500\"\n[settings]\nkernel = [\"debian\", \"debian-rt\"]");
        check("[settings]\nload = \"cmd:\\\"printf a\\\\n # \\u007F\\t\\\"\"");
    }

    #[test]
    fn the_command_names_what_differs_from_the_defaults() {
        let command = |text: &str| {
            let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
            measure_command(&plan)
        };
        let text = "seed = 7\nrounds = 2\n[settings]\nload = [\"idle\", 'cmd:\"make -j4\"']\npolicy = \"fifo:90\"";
        assert_eq!(
            command(text).unwrap(),
            "tactus measure --load idle --load 'cmd:\"make -j4\"' --policy fifo:90 --rounds 2 --seed 7"
        );
        let matrices = "seed = 7\n[[matrix]]\nload = \"idle\"\npolicy = \"other\"\n[[matrix]]\nload = \"file\"\npolicy = \"fifo:90\"";
        assert_eq!(command(matrices), None);
    }

    #[test]
    fn a_plan_of_several_probes_is_written_cell_by_cell() {
        check(
            "[settings]\nprobe = [\"timer\", \"frames\"]\nframe-rate = [59.94, \"60000/1001\"]\ntick = 100",
        );
        let file =
            check("[settings]\nprobe = \"frames\"\nframe-rate = [50, 60]\ntick-shift = \"5ms\"");
        assert!(file.contains("frame-rate = [\"50\", \"60\"]"), "{file}");
    }

    #[test]
    fn a_plan_of_several_matrices_is_written_cell_by_cell() {
        let file = check(
            "[[matrix]]\nload = \"idle\"\npolicy = \"other\"\n[[matrix]]\nload = \"file\"\npolicy = \"fifo:90\"",
        );
        assert_eq!(file.matches("[[matrix]]").count(), 2);
    }
}
