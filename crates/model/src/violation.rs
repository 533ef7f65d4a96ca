//! What real-time code did that it must not: system calls, page faults, allocations, contended
//! locks.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::format::counted;
use crate::result::Shortfall;
use crate::time::{Instant, Monotonic, Nanos};

/// The kind of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViolationKind {
    /// A system call.
    SystemCall,
    /// A page fault.
    PageFault,
    /// A call of the memory allocator.
    Allocation,
    /// A lock that another thread held or waited for: its `futex` system call. A lock without
    /// contention makes no system call and is not a violation.
    ContendedLock,
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SystemCall => "system call",
            Self::PageFault => "page fault",
            Self::Allocation => "allocation",
            Self::ContendedLock => "contended lock",
        })
    }
}

/// A place in a program's code, as far as its symbols and debug information show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CodePlace {
    /// The function.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The file name of the program or library, with the offset of the code in it, e.g.
    /// `servo+0x1f3a`; `None` if the line is known, or the address is in no file.
    pub code: Option<String>,
}

impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line, &self.code) {
            (Some(file), Some(line), _) => f.pad(&format!("{file}:{line}")),
            (Some(file), None, _) => f.pad(file),
            (None, _, Some(code)) => f.pad(code),
            (None, _, None) => f.pad("unknown"),
        }
    }
}

/// Violations of one kind by one thread at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The name of the thread.
    pub thread: String,
    /// The kind.
    pub kind: ViolationKind,
    /// What was done: the name of the system call, or words such as `allocate` and `futex wait`.
    pub what: String,
    /// The innermost line of the program's own code that led to it.
    pub at: CodePlace,
    /// How often.
    pub count: u64,
    /// When it was first.
    pub first: Instant<Monotonic>,
    /// The longest time it took; `None` if that is not known.
    pub worst: Option<Nanos>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thread, kind, what, at, count, .. } = self;
        write!(f, "{kind}: {what}, {at}")?;
        if let Some(function) = &at.function {
            write!(f, " ({function})")?;
        }
        write!(f, ", {} in {thread}", counted(*count, "time"))
    }
}

/// One violation, before those at one place are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The kind.
    pub kind: ViolationKind,
    /// What was done; see [`Violation::what`].
    pub what: String,
    /// The place.
    pub at: CodePlace,
    /// When.
    pub when: Instant<Monotonic>,
    /// How long it took.
    pub took: Option<Nanos>,
}

/// The most rows of a [`ViolationTally`]: more than anybody reads.
pub const ROWS_MAX: usize = 1024;

/// Counts violations of one kind at one place together.
#[derive(Clone, Debug, Default)]
pub struct ViolationTally {
    rows: BTreeMap<Place, Row>,
    beyond: u64,
}

/// The name of a thread, what it did, and where.
type Place = (String, ViolationKind, String, CodePlace);

#[derive(Clone, Copy, Debug)]
struct Row {
    count: u64,
    first: Instant<Monotonic>,
    worst: Option<Nanos>,
}

impl ViolationTally {
    /// Counts a violation by the thread of this name.
    pub fn add(&mut self, thread: &str, found: Occurrence) {
        let Occurrence { kind, what, at, when, took } = found;
        let row = Row { count: 1, first: when, worst: took };
        self.count((thread.to_owned(), kind, what, at), row);
    }

    /// Counts what another tally has as violations by the thread of this name.
    pub fn add_all(&mut self, thread: &str, other: Self) {
        for ((_, kind, what, at), row) in other.rows {
            self.count((thread.to_owned(), kind, what, at), row);
        }
        self.beyond += other.beyond;
    }

    fn count(&mut self, place: Place, Row { count, first, worst }: Row) {
        let is_full = self.rows.len() >= ROWS_MAX;
        match self.rows.get_mut(&place) {
            Some(row) => {
                row.count += count;
                row.first = row.first.min(first);
                row.worst = row.worst.max(worst);
            }
            None if is_full => self.beyond += count,
            None => drop(self.rows.insert(place, Row { count, first, worst })),
        }
    }

    /// The violations, the most frequent first.
    pub fn violations(&self) -> Vec<Violation> {
        let rows = self.rows.iter().map(|((thread, kind, what, at), row)| Violation {
            thread: thread.clone(),
            kind: *kind,
            what: what.clone(),
            at: at.clone(),
            count: row.count,
            first: row.first,
            worst: row.worst,
        });
        let mut rows: Vec<Violation> = rows.collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows
    }

    /// The number of violations without a row, because there are [`ROWS_MAX`] rows.
    pub const fn beyond(&self) -> u64 {
        self.beyond
    }
}

/// What real-time sections did that they must not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LintReport {
    /// The violations, the most frequent first.
    pub violations: Vec<Violation>,
    /// The number of sections that were watched, those in part too.
    pub sections: u64,
    /// The number of violations of which only the number is known, because they came faster than
    /// they were read or at more than [`ROWS_MAX`] places.
    pub unplaced: u64,
    /// The number of sections of which a part was not watched: after a system call that only the
    /// thread itself can make, e.g. `clone3`, or during a loss of events.
    pub interrupted: u64,
    /// About the number of further sections of which nothing is known, because of losses: by the
    /// mean length of the sections before.
    #[serde(default)]
    pub lost: u64,
    /// The number of records that were lost because they came faster than they were read.
    #[serde(default)]
    pub lost_records: u64,
    /// The number of threads that had slept before they were watched: what they did before is not
    /// known.
    #[serde(default)]
    pub late_threads: u64,
    /// The number of threads that were found and ended before they were watched.
    #[serde(default)]
    pub missed_threads: u64,
    /// What was not watched, and why.
    pub unseen: Vec<Shortfall>,
}

/// The violations, the most frequent first.
impl IntoIterator for LintReport {
    type Item = Violation;
    type IntoIter = std::vec::IntoIter<Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.violations.into_iter()
    }
}

impl LintReport {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty() && self.unplaced == 0
    }

    /// The number of violations that are known; if not all was watched, there can be more.
    pub fn count(&self) -> u64 {
        self.violations.iter().map(|violation| violation.count).sum::<u64>() + self.unplaced
    }

    /// Whether each section was watched from its begin to its end, as far as threads were watched.
    pub const fn has_whole_sections(&self) -> bool {
        self.interrupted == 0 && self.lost == 0
    }

    /// Whether each thread was watched from its begin.
    pub const fn has_whole_threads(&self) -> bool {
        self.late_threads == 0 && self.missed_threads == 0
    }

    /// Whether each section of each thread was watched from its begin to its end.
    pub const fn is_whole(&self) -> bool {
        self.has_whole_sections() && self.has_whole_threads()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence(line: u32, when: u64, took: Option<u64>) -> Occurrence {
        Occurrence {
            kind: ViolationKind::SystemCall,
            what: "openat".to_owned(),
            at: CodePlace {
                function: Some("step".to_owned()),
                file: Some("servo.rs".to_owned()),
                line: Some(line),
                code: None,
            },
            when: Instant::from_nanos(when),
            took: took.map(Nanos::from_nanos),
        }
    }

    #[test]
    fn violations_at_one_place_are_counted_together() {
        let mut tally = ViolationTally::default();
        for (line, when, took) in [(42, 9, None), (42, 5, Some(7)), (42, 6, Some(3)), (50, 1, None)]
        {
            tally.add("servo", occurrence(line, when, took));
        }
        let found = tally.violations();
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].to_string(),
            "system call: openat, servo.rs:42 (step), 3 times in servo"
        );
        assert_eq!((found[0].count, found[0].first.as_nanos()), (3, 5));
        assert_eq!(found[0].worst, Some(Nanos::from_nanos(7)));
        assert_eq!(found[1].count, 1);
    }

    #[test]
    fn violations_beyond_the_limit_are_counted() {
        let mut tally = ViolationTally::default();
        for line in 0..ROWS_MAX as u32 + 5 {
            tally.add("servo", occurrence(line, 0, None));
        }
        tally.add("servo", occurrence(0, 0, None));
        assert_eq!((tally.violations().len(), tally.beyond()), (ROWS_MAX, 5));
    }

    #[test]
    fn a_tally_is_added_under_another_name() {
        let [mut all, mut renamed] = [ViolationTally::default(), ViolationTally::default()];
        all.add("servo", occurrence(42, 5, None));
        renamed.add("loop", occurrence(42, 3, None));
        renamed.add("servo", occurrence(42, 9, Some(7)));
        all.add_all("servo", renamed);
        let found = all.violations();
        assert_eq!((found.len(), found[0].thread.as_str()), (1, "servo"));
        assert_eq!((found[0].count, found[0].first.as_nanos()), (3, 3));
        assert_eq!(found[0].worst, Some(Nanos::from_nanos(7)));
    }

    #[test]
    fn a_place_shows_the_best_that_is_known() {
        let code = Some("servo+0x1f3a".to_owned());
        assert_eq!(CodePlace { code, ..CodePlace::default() }.to_string(), "servo+0x1f3a");
        assert_eq!(CodePlace::default().to_string(), "unknown");
    }
}
