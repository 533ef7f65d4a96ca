//! The settings of a cell: one table with the name, parser and formatter of each.
//!
//! Command-line options, experiment files and the built-in defaults all use this table, so a
//! new setting is one row of [`SETTINGS`] and one commented line in `experiments/default.toml`.

mod table;

use std::collections::BTreeMap;

use crate::block_requests::BlockRequests;
use crate::cell::{Cell, Target};
use crate::cost::{Operation, Parameter};
use crate::load::LoadPlan;
use crate::policy::{Policy, Scheduling};
use crate::probe::{Probe, ProbeKind, TimerProbe};
use crate::quantum::Quantum;
use crate::text::UnknownWord;
use crate::time::Nanos;
use crate::traced::TracedEvents;

pub use self::table::SETTINGS;

/// One setting of a cell.
pub struct Setting {
    /// Its name in files; as an option it has two leading dashes.
    pub name: &'static str,
    /// The kind of probe it applies to; `None` if it applies to all.
    pub of: Option<ProbeKind>,
    /// The placeholder for its value in help texts.
    pub value: &'static str,
    /// A one-sentence description with the accepted values.
    pub about: &'static str,
    /// Parses a value and stores it in the cell.
    pub set: fn(&mut Cell, &str) -> Result<(), String>,
    /// Formats the value so that `set` can parse it; empty if the setting does not apply to the
    /// cell's probe.
    pub get: fn(&Cell) -> String,
}

impl Setting {
    /// Whether the setting applies to this probe. A parameter of operations applies to those that
    /// take it.
    pub fn applies_to(&self, probe: &Probe) -> bool {
        self.of.is_none_or(|of| of == probe.kind())
            && probe.cost().is_none_or(|cost| self.is_of(cost.operation))
    }

    /// Whether the setting applies to this operation: a parameter of operations to those that take
    /// it, any other setting to all.
    pub fn is_of(&self, operation: Operation) -> bool {
        let parameter = Parameter::ALL.iter().find(|parameter| parameter.word() == self.name);
        parameter.is_none_or(|parameter| operation.takes(*parameter))
    }
}

/// Finds a setting by name, or suggests the nearest one.
pub fn find(name: &str) -> Result<&'static Setting, UnknownWord> {
    SETTINGS.iter().find(|setting| setting.name == name).ok_or_else(|| {
        let known: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        UnknownWord::new("setting", name, &known)
    })
}

/// Values for some of the settings; several values of one setting form an axis of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer(BTreeMap<&'static str, Vec<String>>);

impl Layer {
    /// Replaces the values of a setting.
    ///
    /// # Errors
    /// The setting is unknown, or it does not accept one of the values.
    pub fn set(&mut self, name: &str, values: Vec<String>) -> Result<(), String> {
        let setting = find(name).map_err(|error| error.to_string())?;
        let mut scratch = Cell::blank();
        if let Some(kind) = setting.of {
            scratch.probe = scratch.probe.of_kind(kind);
        }
        for value in &values {
            (setting.set)(&mut scratch, value).map_err(|reason| format!("{name}: {reason}"))?;
        }
        if values.is_empty() {
            return Err(format!("{name}: the list is empty; give at least one value"));
        }
        self.0.insert(setting.name, values);
        Ok(())
    }

    /// Removes the values of a setting, and returns them if there are any.
    pub fn remove(&mut self, name: &str) -> Option<Vec<String>> {
        self.0.remove(name)
    }

    /// The values of a setting, if this layer has any.
    pub fn values(&self, name: &str) -> Option<&[String]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// These values, replaced by those of `over` for every setting that `over` contains.
    #[must_use]
    pub fn overridden_by(&self, over: &Self) -> Self {
        let mut merged = self.0.clone();
        merged.extend(over.0.iter().map(|(name, values)| (*name, values.clone())));
        Self(merged)
    }

    /// A setting of this layer that applies to no probe of `cells`, with the kind of probe it
    /// applies to. A setting with its default value is ignored.
    pub fn idle_in(&self, cells: &[Cell], defaults: &Self) -> Option<(&'static str, ProbeKind)> {
        let given = self.0.iter().filter(|(name, values)| defaults.0.get(*name) != Some(values));
        given.map(|(name, _)| *name).find_map(|name| {
            let setting = find(name).ok()?;
            let has_it = cells.iter().any(|cell| setting.applies_to(&cell.probe));
            if has_it { None } else { Some((name, setting.of?)) }
        })
    }

    /// The maximum number of combinations of the values; saturates.
    pub fn combinations(&self) -> usize {
        self.0.values().fold(1, |product, values| product.saturating_mul(values.len()))
    }

    /// Every combination of the values; the first setting varies slowest. A setting that does
    /// not apply to a cell's probe does not multiply that cell.
    pub fn cells(&self) -> Vec<Cell> {
        SETTINGS.iter().fold(vec![Cell::blank()], |cells, setting| {
            let Some(values) = self.0.get(setting.name) else { return cells };
            cells
                .iter()
                .flat_map(|cell| {
                    let values = match setting.applies_to(&cell.probe) {
                        true => values.as_slice(),
                        false => &[],
                    };
                    let untouched = values.is_empty().then(|| cell.clone());
                    let set = values.iter().map(|value| {
                        let mut cell = cell.clone();
                        (setting.set)(&mut cell, value)
                            .expect("values are checked when they are set");
                        cell
                    });
                    untouched.into_iter().chain(set)
                })
                .collect()
        })
    }
}

impl Cell {
    /// The cell's settings by name and text; only those that apply to its probe.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let has = SETTINGS.iter().filter(|setting| setting.applies_to(&self.probe));
        has.map(|setting| (setting.name, self.value_of(setting)))
    }

    /// The value of a setting as text, or `unknown` if another program measured the cell and
    /// does not report it.
    pub fn value_of(&self, setting: &Setting) -> String {
        self.foreign_value(setting.name).unwrap_or_else(|| (setting.get)(self))
    }

    /// The cell that layers are applied to. Its values are never measured: the embedded
    /// defaults replace all of them, as a test checks.
    pub(crate) fn blank() -> Self {
        Self {
            probe: Probe::Timer(TimerProbe::blank()),
            load: LoadPlan::IDLE,
            policy: Policy {
                scheduling: Scheduling::ORDINARY,
                cpus: crate::cpus::CpuChoice::All,
                lock_memory: true,
                timer_slack: None,
                cpu_dma_latency_us: None,
            },
            target: Target::Host,
            warmup: Nanos::ZERO,
            duration: Nanos::ZERO,
            traced: Nanos::ZERO,
            traced_events: TracedEvents::All,
            block_requests: BlockRequests::Untouched,
            quantum: Quantum::Untouched,
            extra_interrupts: 0,
            sample_limit: 0,
            imported: None,
        }
    }
}

#[cfg(test)]
mod tests;
