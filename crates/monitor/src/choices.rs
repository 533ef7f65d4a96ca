//! The settings with a key to step through their values, and how any setting is changed.

use tactus_model::cell::Cell;
use tactus_model::settings::{self, Layer};

/// A setting with its own key, and its values.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    name: &'static str,
    values: Vec<String>,
}

/// The settings with a key, and the values that the key steps through unless the command
/// line gives several.
const USUAL: [(&str, &[&str]); 3] = [
    ("load", &["idle", "compute:cpus", "memory:cpus", "file:cpus", "process:cpus", "net", "timer"]),
    ("policy", &["other", "fifo:90", "batch"]),
    ("interval", &["100us", "250us", "500us", "1ms", "2ms", "5ms", "10ms", "20ms", "100ms"]),
];

impl Choices {
    /// The choices of every setting with a key. If `options` gives several values of a
    /// setting, its key steps through those alone.
    pub(crate) fn of(options: &Layer, cell: &Cell) -> Vec<Self> {
        let of = |(name, usual): (&'static str, &[&str])| {
            let given = options.values(name).filter(|values| values.len() > 1);
            let mut values: Vec<String> = match given {
                Some(values) => values.to_vec(),
                None => usual.iter().map(ToString::to_string).collect(),
            };
            let now = value(cell, name);
            if !values.contains(&now) {
                values.insert(0, now);
            }
            Self { name, values }
        };
        USUAL.into_iter().map(of).collect()
    }

    /// The setting's name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The value after or before the present one, cyclically.
    pub(crate) fn beside(&self, cell: &Cell, forward: bool) -> &str {
        let now = value(cell, self.name);
        let count = self.values.len();
        let place = match self.values.iter().position(|value| *value == now) {
            Some(place) => (place + if forward { 1 } else { count - 1 }) % count,
            None => 0,
        };
        &self.values[place]
    }
}

/// A setting's value as a person writes it; empty for an unknown setting.
pub(crate) fn value(cell: &Cell, name: &str) -> String {
    settings::find(name).map_or_else(|_| String::new(), |setting| (setting.get)(cell))
}

/// The same cell with another value of a setting.
///
/// # Errors
/// The setting is unknown, the value is invalid, or it contradicts other settings. The text
/// includes the fix.
pub(crate) fn changed(cell: &Cell, name: &str, value: &str) -> Result<Cell, String> {
    let setting = settings::find(name).map_err(|error| error.to_string())?;
    let mut changed = cell.clone();
    (setting.set)(&mut changed, value).map_err(|reason| format!("{name}: {reason}"))?;
    changed.check().map_err(|error| error.to_string())?;
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{DEFAULTS, Experiment, Overrides};

    use super::*;

    fn cell() -> Cell {
        let plan = Experiment::parse(DEFAULTS).unwrap().plan(&Overrides::default()).unwrap();
        plan.cells[0].clone()
    }

    #[test]
    fn every_usual_value_is_valid() {
        for (name, values) in USUAL {
            for value in values {
                let changed = changed(&cell(), name, value).unwrap();
                assert_eq!(super::value(&changed, name), *value, "a value survives the round trip");
            }
        }
    }

    #[test]
    fn several_values_of_an_option_replace_the_usual_ones() {
        let mut options = Layer::default();
        options.set("load", vec!["idle".to_owned(), "compile:2".to_owned()]).unwrap();
        let choices = &Choices::of(&options, &cell())[0];
        let under_load = changed(&cell(), "load", choices.beside(&cell(), true)).unwrap();
        assert_eq!(value(&under_load, "load"), "compile:2");
        assert_eq!(choices.beside(&under_load, true), "idle");
        assert_eq!(choices.beside(&cell(), false), "compile:2");
    }

    #[test]
    fn an_invalid_setting_suggests_a_fix() {
        let error = |name, value| changed(&cell(), name, value).unwrap_err();
        assert!(error("intervall", "1ms").contains("did you mean `interval`?"));
        assert!(error("policy", "fifi:3").contains("did you mean `fifo`?"));
        assert!(error("clock", "sundial").contains("monotonic"));
    }
}
