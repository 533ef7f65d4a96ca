//! Metadata of runs that another program measured.
//!
//! Their figures are stored unchanged. Data that the other program's file lacks stays unknown:
//! neither zero nor a default of Tactus.

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::settings::{SETTINGS, find};
use crate::time::Nanos;

/// The text for the value of an unknown setting.
pub const UNKNOWN: &str = "unknown";

/// The setting for what is measured; an imported cell always has it.
const PROBE: &str = "probe";

/// The source of an imported run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The measuring program: `cyclictest`.
    pub tool: String,
    /// Its version, if the file contains it.
    pub version: Option<String>,
    /// The command line that started it, if the file contains it.
    pub command_line: Option<String>,
    /// The format of the files, a value of `tactus import --format`.
    pub format: String,
    /// The names of the files without their directories, one per round.
    pub files: Vec<String>,
    /// Notes on ambiguous data in the files and how it was interpreted, one sentence each.
    pub notes: Vec<String>,
}

impl Origin {
    /// The program and its version: `cyclictest 2.40`.
    pub fn program(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.tool),
            None => self.tool.clone(),
        }
    }
}

/// What is known of a cell that another program measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedCell {
    /// What was measured; it replaces the value of the setting `probe`. It is `timer` if the
    /// other program measures the same as the timer probe.
    pub measured: String,
    /// The names of the settings that the file does not contain. The cell's values for them are
    /// placeholders.
    pub unknown: Vec<String>,
}

impl Cell {
    /// Makes the cell for a result of another program; all settings are unknown, except what
    /// was measured.
    pub fn imported(measured: impl Into<String>) -> Self {
        let settings = SETTINGS.iter().map(|setting| setting.name);
        Self {
            imported: Some(ImportedCell {
                measured: measured.into(),
                unknown: settings.filter(|name| *name != PROBE).map(str::to_owned).collect(),
            }),
            ..Self::blank()
        }
    }

    /// Sets a setting of an imported cell to a known value, in its text form.
    ///
    /// # Errors
    /// The setting does not exist, or does not accept the value.
    pub fn know(&mut self, name: &str, value: &str) -> Result<(), String> {
        let setting = find(name).map_err(|error| error.to_string())?;
        (setting.set)(self, value)?;
        if let Some(imported) = &mut self.imported {
            imported.unknown.retain(|unknown| unknown != name);
        }
        Ok(())
    }

    /// Whether the value of a setting is known; always true for cells of Tactus.
    pub fn knows(&self, setting: &str) -> bool {
        let unknown = self.imported.as_ref().map(|imported| &imported.unknown);
        unknown.is_none_or(|unknown| !unknown.iter().any(|name| name == setting))
    }

    /// The value that replaces the cell's own value of a setting, if another program measured
    /// the cell.
    pub(crate) fn foreign_value(&self, setting: &str) -> Option<String> {
        let imported = self.imported.as_ref()?;
        if setting == PROBE {
            Some(imported.measured.clone())
        } else {
            (!self.knows(setting)).then(|| UNKNOWN.to_owned())
        }
    }
}

/// The precision of another program's result.
///
/// Results of Tactus have none: their latencies are exact to the nanosecond or to 0.1 %,
/// whichever is coarser, and every due time is accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precision {
    /// The resolution of latencies. They are rounded down: true latencies are up to this much
    /// longer.
    pub unit: Nanos,
    /// The wakeups whose latency exceeded the range of the program's histogram.
    pub overflow: Option<Overflow>,
    /// Whether missed due times were counted. If not, `intended` and `missed` do not include
    /// them (coordinated omission).
    pub missed_known: bool,
}

impl Precision {
    /// The precision of two results combined.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let overflow = match (self.overflow, other.overflow) {
            (Some(one), Some(two)) => Some(Overflow {
                from: one.from.min(two.from),
                count: one.count.saturating_add(two.count),
            }),
            (one, two) => one.or(two),
        };
        Self {
            unit: self.unit.max(other.unit),
            overflow,
            missed_known: self.missed_known && other.missed_known,
        }
    }
}

/// Wakeups that were counted without their latency, because it exceeded the range of the other
/// program's histogram.
///
/// They are stored with the minimum latency they can have had, so that every quantile is
/// correct or too small, and no wakeup is lost. The longest latency of a task is stored exactly
/// if the program reports its maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    /// The minimum latency they can have had.
    pub from: Nanos,
    /// How many were stored with that latency.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::labels;

    #[test]
    fn an_imported_cell_knows_only_the_settings_it_was_given() {
        let mut cell = Cell::imported("timer");
        assert!(cell.settings().all(|(name, value)| (name == PROBE) == (value != UNKNOWN)));
        cell.know("policy", "fifo:80").unwrap();
        assert!(cell.knows("policy") && !cell.knows("load"));
        assert_eq!(labels(&[cell.clone()]), ["timer · fifo:80"]);
        assert!(cell.know("policy", "fifo:800").is_err());
        assert!(cell.know("polici", "fifo:80").unwrap_err().contains("policy"));
        let (thread, irq) = (Cell::imported("timerlat-thread"), Cell::imported("timerlat-irq"));
        assert_eq!(labels(&[irq, thread]), ["timerlat-irq", "timerlat-thread"]);
    }

    #[test]
    fn combined_results_have_the_coarser_precision() {
        let fine = Precision { unit: Nanos::from_nanos(1), overflow: None, missed_known: true };
        let beyond = |from, count| Some(Overflow { from: Nanos::from_micros(from), count });
        let coarse = Precision {
            unit: Nanos::from_micros(1),
            overflow: beyond(100, 3),
            missed_known: false,
        };
        assert_eq!(fine.and(coarse), coarse);
        assert_eq!(coarse.and(coarse).overflow, beyond(100, 6));
    }
}
