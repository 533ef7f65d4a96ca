//! What is told of runs that another program measured.
//!
//! Their figures come into the store as they are. What the other program's file
//! does not tell stays unknown: neither zero nor the default of ours.

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::settings::{SETTINGS, find};
use crate::time::Nanos;

/// What stands for the value of a setting that is not known.
pub const UNKNOWN: &str = "unknown";

/// The setting that says what is measured; an imported cell always tells it.
const PROBE: &str = "probe";

/// Where an imported run comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The program that measured: `cyclictest`.
    pub tool: String,
    /// Its version, where the file tells it.
    pub version: Option<String>,
    /// The command line it was started with, where the file tells it.
    pub command_line: Option<String>,
    /// The form of the files, a word that `tactus import --format` takes.
    pub format: String,
    /// The names of the files without their folders, a round each.
    pub files: Vec<String>,
    /// What the files leave open and how it was taken, each in a sentence.
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
    /// What was measured; it stands for the value of the setting `probe`. It is `timer`
    /// where that is what our timer probe measures.
    pub measured: String,
    /// The names of the settings of which the file says nothing. What the cell holds
    /// in their place means nothing.
    pub unknown: Vec<String>,
}

impl Cell {
    /// Makes the cell of another program's result, all of whose settings are unknown
    /// but what it measured.
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

    /// Takes a setting of an imported cell as known, written as a person would.
    ///
    /// # Errors
    /// There is no such setting, or it does not take this value.
    pub fn know(&mut self, name: &str, value: &str) -> Result<(), String> {
        let setting = find(name).map_err(|error| error.to_string())?;
        (setting.set)(self, value)?;
        if let Some(imported) = &mut self.imported {
            imported.unknown.retain(|unknown| unknown != name);
        }
        Ok(())
    }

    /// Whether the value of a setting is known; it is in all cells of our own.
    pub fn knows(&self, setting: &str) -> bool {
        let unknown = self.imported.as_ref().map(|imported| &imported.unknown);
        unknown.is_none_or(|unknown| !unknown.iter().any(|name| name == setting))
    }

    /// The value of a setting in place of what the cell holds, where another program
    /// measured it.
    pub(crate) fn foreign_value(&self, setting: &str) -> Option<String> {
        let imported = self.imported.as_ref()?;
        if setting == PROBE {
            Some(imported.measured.clone())
        } else {
            (!self.knows(setting)).then(|| UNKNOWN.to_owned())
        }
    }
}

/// How well another program told what it measured.
///
/// Our own results have none: their latencies are told to the nanosecond or to 0.1 %,
/// whichever is more, and every due time is accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precision {
    /// Latencies are told in multiples of this, rounded down: the true ones lie up to
    /// so much above.
    pub unit: Nanos,
    /// The wakeups whose latency went beyond what the program could tell.
    pub overflow: Option<Overflow>,
    /// Whether due times that were slept through were counted. Where they were not,
    /// `intended` and `missed` know nothing of them.
    pub missed_known: bool,
}

impl Precision {
    /// What can be relied on of two results together.
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

/// Wakeups that were counted without their latency, because it was beyond the range
/// of the other program's histogram.
///
/// They are kept as if they had taken the least that they can have taken, so that
/// every quantile is right or too small, and none is lost. The longest of a task is
/// kept as it was where the program tells its greatest latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    /// The least latency they can have had.
    pub from: Nanos,
    /// How many were kept at that length.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::labels;

    #[test]
    fn an_imported_cell_knows_what_it_was_told() {
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
    fn two_results_together_are_as_coarse_as_the_coarser() {
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
