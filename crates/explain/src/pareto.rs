//! The causes of all late samples together, the greatest first.

use std::collections::BTreeMap;

use tactus_model::time::Nanos;

use crate::cause::Cause;
use crate::explanation::{Pareto, ParetoRow, Part};
use crate::group::Group;

/// Adds up the parts of late samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParetoBuilder {
    samples: u64,
    undivided: u64,
    rows: BTreeMap<Cause, Row>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    time: Nanos,
    samples: u64,
    first: u64,
    max: Nanos,
}

impl ParetoBuilder {
    /// Takes a late sample that could not be divided.
    pub(crate) fn leave_out(&mut self) {
        self.undivided += 1;
    }

    /// Takes the parts of one late sample.
    pub(crate) fn add(&mut self, parts: &[Part]) {
        self.samples += 1;
        let mut merged: BTreeMap<Cause, Nanos> = BTreeMap::new();
        for part in parts {
            let time = merged.entry(part.cause.by_name()).or_default();
            *time = *time + part.time;
        }
        let first = first(&merged);
        for (cause, time) in merged {
            let is_first = first.as_ref() == Some(&cause);
            let row = self.rows.entry(cause).or_default();
            row.time = row.time + time;
            row.samples += 1;
            row.first += u64::from(is_first);
            row.max = row.max.max(time);
        }
    }

    /// The table.
    pub(crate) fn finish(self) -> Pareto {
        let time: Nanos = self.rows.values().map(|row| row.time).sum();
        let mut rows: Vec<ParetoRow> = self
            .rows
            .into_iter()
            .map(|(cause, row)| ParetoRow {
                cause,
                time: row.time,
                samples: row.samples,
                first: row.first,
                max: row.max,
            })
            .collect();
        // The sort is stable, so equal times stay in the order of causes.
        rows.sort_by_key(|row| std::cmp::Reverse(row.time));
        Pareto { samples: self.samples, undivided: self.undivided, time, rows }
    }
}

/// The greatest cause of the group that took most of a sample's time.
fn first(causes: &BTreeMap<Cause, Nanos>) -> Option<Cause> {
    let mut groups: BTreeMap<Group, Nanos> = BTreeMap::new();
    for (cause, time) in causes {
        let sum = groups.entry(cause.group()).or_default();
        *sum = *sum + *time;
    }
    let (greatest, _) = groups.into_iter().max_by_key(|(_, time)| *time)?;
    let within = causes.iter().filter(|(cause, _)| cause.group() == greatest);
    within.max_by_key(|(_, time)| **time).map(|(cause, _)| cause.clone())
}

impl Pareto {
    /// The share of the total latency that `time` is, from 0 to 1; 0 if the total is
    /// zero.
    pub fn share(&self, time: Nanos) -> f64 {
        match self.time.as_nanos() {
            0 => 0.0,
            whole => time.as_nanos() as f64 / whole as f64,
        }
    }

    /// The share of the total latency that has a cause, from 0 to 1; 1 if the total is
    /// zero.
    pub fn explained(&self) -> f64 {
        let unexplained =
            self.rows.iter().filter(|row| !row.cause.explains()).map(|row| row.time).sum();
        1.0 - self.share(unexplained)
    }
}
