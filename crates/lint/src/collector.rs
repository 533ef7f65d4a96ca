//! Reads what was caught, and finds where it was.

use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Nanos};
use tactus_model::violation::{LintReport, Occurrence, ViolationTally};
use tactus_sys::section::{Caught, Counts, Reader};

use crate::act::words;
use crate::code::Code;

/// Reads the rings of all guarded threads.
#[derive(Debug)]
pub(crate) struct Collector {
    code: Code,
    threads: Vec<Guarded>,
    tally: ViolationTally,
    unseen: Vec<Shortfall>,
}

/// A guarded thread.
#[derive(Debug)]
struct Guarded {
    name: String,
    reader: Reader,
    counts: Counts,
}

impl Collector {
    pub(crate) fn new() -> Self {
        Self {
            code: Code::of_this_process(),
            threads: Vec::new(),
            tally: ViolationTally::default(),
            unseen: Vec::new(),
        }
    }

    /// Adds a thread, and what is not seen of it.
    pub(crate) fn add(
        &mut self,
        name: String,
        reader: Reader,
        counts: Counts,
        unseen: impl IntoIterator<Item = Shortfall>,
    ) {
        for shortfall in unseen {
            if !self.unseen.contains(&shortfall) {
                self.unseen.push(shortfall);
            }
        }
        self.threads.push(Guarded { name, reader, counts });
    }

    /// Reads what was caught since the last call.
    pub(crate) fn collect(&mut self) {
        for Guarded { name, reader, .. } in &mut self.threads {
            let (code, tally) = (&mut self.code, &mut self.tally);
            reader.read(|caught| tally.add(name, occurrence(caught, code)));
        }
    }

    pub(crate) fn report(&self) -> LintReport {
        let sum = |count: fn(&Guarded) -> u64| self.threads.iter().map(count).sum::<u64>();
        LintReport {
            violations: self.tally.violations(),
            sections: sum(|thread| thread.counts.sections()),
            unplaced: self.tally.beyond() + sum(|thread| thread.reader.lost()),
            interrupted: sum(|thread| thread.counts.cut()),
            unseen: self.unseen.clone(),
            ..LintReport::default()
        }
    }
}

fn occurrence(caught: &Caught, code: &mut Code) -> Occurrence {
    let (kind, what) = words(caught.act, |address| code.memory(address));
    let at = code.place(caught.registers, caught.stack());
    let took = (caught.took > 0).then(|| Nanos::from_nanos(caught.took));
    Occurrence { kind, what, at, when: Instant::from_nanos(caught.began), took }
}
