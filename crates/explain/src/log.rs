//! What the replay told while a window was open.

use std::collections::VecDeque;

use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic};

use crate::machine::{Absence, Migration, Overdue, Silence, Slice, Steal};

/// The most slices that are kept at once (about 400 MB).
///
/// Ten seconds of a machine with half a million events a second; what a longer
/// window holds before that is forgotten and counts as an unexplained gap.
const SLICES_MAX: usize = 1 << 22;

/// Everything that was told since the earliest open window began.
///
/// While no window is open nothing is kept. All columns are in the order in
/// which things ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Whether a window is open.
    pub(crate) open: bool,
    pub(crate) slices: VecDeque<Slice>,
    pub(crate) absences: Vec<Absence>,
    pub(crate) silences: Vec<Silence>,
    pub(crate) overdue: Vec<Overdue>,
    pub(crate) steals: Vec<Steal>,
    pub(crate) migrations: Vec<Migration>,
}

impl Log {
    pub(crate) fn push_slice(&mut self, slice: Slice) {
        if !self.open {
            return;
        }
        if self.slices.len() >= SLICES_MAX {
            self.slices.pop_front();
        }
        self.slices.push_back(slice);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.slices.clear();
        self.absences.clear();
        self.silences.clear();
        self.overdue.clear();
        self.steals.clear();
        self.migrations.clear();
    }

    /// Forgets what ended before `start`, when that is worth the trouble.
    pub(crate) fn forget_before(&mut self, start: Instant<Monotonic>) {
        const WORTH_IT: usize = 1 << 12;
        let old = self.slices.partition_point(|slice| slice.to <= start);
        if old < WORTH_IT || old * 2 < self.slices.len() {
            return;
        }
        self.slices.drain(..old);
        self.absences.retain(|absence| absence.back_at > start);
        self.silences.retain(|silence| silence.to > start);
        self.overdue.retain(|overdue| overdue.served > start);
        self.steals.retain(|steal| steal.to > start);
        self.migrations.retain(|migration| migration.at > start);
    }

    /// The last absence of `thread` that ended in `from ..= until`.
    pub(crate) fn last_absence(
        &self,
        thread: ThreadId,
        from: Instant<Monotonic>,
        until: Instant<Monotonic>,
    ) -> Option<&Absence> {
        self.absences
            .iter()
            .rev()
            .skip_while(|absence| absence.back_at > until)
            .take_while(|absence| absence.back_at >= from)
            .find(|absence| absence.thread == thread)
    }
}
