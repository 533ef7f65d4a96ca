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

/// The times of different causes, none of which is zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct CauseTimes(BTreeMap<Cause, Nanos>);

impl FromIterator<(Cause, Nanos)> for CauseTimes {
    fn from_iter<I: IntoIterator<Item = (Cause, Nanos)>>(causes: I) -> Self {
        let mut times = Self::default();
        causes.into_iter().for_each(|(cause, time)| times.add(&cause, time));
        times
    }
}

impl CauseTimes {
    /// Adds time to a cause.
    pub(crate) fn add(&mut self, cause: &Cause, time: Nanos) {
        if time == Nanos::ZERO {
            return;
        }
        match self.0.get_mut(cause) {
            Some(sum) => *sum = *sum + time,
            None => drop(self.0.insert(cause.clone(), time)),
        }
    }

    /// Takes time away from a cause, which had at least as much.
    pub(crate) fn subtract(&mut self, cause: &Cause, time: Nanos) {
        let Some(sum) = self.0.get_mut(cause) else { return };
        *sum = *sum - time;
        if *sum == Nanos::ZERO {
            self.0.remove(cause);
        }
    }

    /// The causes with their times, the greatest first.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> =
            self.0.iter().map(|(cause, time)| Part { cause: cause.clone(), time: *time }).collect();
        // The sort is stable, so equal times stay in the order of causes.
        parts.sort_by_key(|part| std::cmp::Reverse(part.time));
        parts
    }
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

    /// Takes the times of the causes of one late sample, by name.
    pub(crate) fn add(&mut self, named: &CauseTimes) {
        self.samples += 1;
        let first = first(&named.0);
        for (cause, time) in &named.0 {
            if !self.rows.contains_key(cause) {
                self.rows.insert(cause.clone(), Row::default());
            }
            let Some(row) = self.rows.get_mut(cause) else { continue };
            row.time = row.time + *time;
            row.samples += 1;
            row.first += u64::from(first == Some(cause));
            row.max = row.max.max(*time);
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
fn first(causes: &BTreeMap<Cause, Nanos>) -> Option<&Cause> {
    let mut groups: BTreeMap<Group, Nanos> = BTreeMap::new();
    for (cause, time) in causes {
        let sum = groups.entry(cause.group()).or_default();
        *sum = *sum + *time;
    }
    let (greatest, _) = groups.into_iter().max_by_key(|(_, time)| *time)?;
    let within = causes.iter().filter(|(cause, _)| cause.group() == greatest);
    within.max_by_key(|(_, time)| **time).map(|(cause, _)| cause)
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
