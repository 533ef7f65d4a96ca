//! What the replay reported while a window was open.

use std::collections::BTreeSet;

use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic};

use crate::cause::{Cause, Throttle};
use crate::explanation::Part;
use crate::machine::{Absence, Migration, Overdue, Reranked, Silence, Slice, Steal};

/// The maximum number of slices to keep at once (about 200 MB).
///
/// This is five seconds of a machine with half a million events per second. For a longer
/// window, the log drops the earlier half, which then counts as an unexplained gap.
const SLICES_MAX: usize = 1 << 21;

/// The maximum number of items in each other column (about 100 MB for absences); most slices
/// come without any.
const OTHERS_MAX: usize = 1 << 19;

/// Everything that the replay reported since the earliest open window began.
///
/// While no window is open, nothing is kept. All columns are in the order of ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Whether a window is open.
    pub(crate) open: bool,
    slices: Vec<Slice>,
    absences: Vec<Absence>,
    silences: Vec<Silence>,
    overdue: Vec<Overdue>,
    steals: Vec<Steal>,
    migrations: Vec<Migration>,
    throttled: BTreeSet<ThreadId>,
}

/// Part of a log: what ended after some instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Excerpt<'a> {
    pub(crate) slices: &'a [Slice],
    pub(crate) absences: &'a [Absence],
    pub(crate) silences: &'a [Silence],
    pub(crate) overdue: &'a [Overdue],
    pub(crate) steals: &'a [Steal],
    pub(crate) migrations: &'a [Migration],
    /// The threads whose control group was throttled before.
    pub(crate) throttled: &'a BTreeSet<ThreadId>,
}

impl Log {
    /// Below this number of slices, dropping old ones is not worth the effort.
    pub(crate) const FEW: usize = 1 << 12;

    pub(crate) fn push_slice(&mut self, slice: Slice) {
        push(self.open, &mut self.slices, slice, SLICES_MAX);
    }

    /// Gives the slices of a turn the priorities that its end showed.
    pub(crate) fn rerank(&mut self, turn: Reranked) {
        let recent = self.slices.iter_mut().rev().take_while(|slice| slice.to > turn.since);
        for slice in recent.filter(|s| s.cpu == turn.cpu && s.thread_since == turn.since) {
            (slice.priority, slice.base) = (turn.priority, turn.base);
        }
    }

    pub(crate) fn push_absence(&mut self, absence: &Absence) {
        push(self.open, &mut self.absences, *absence, OTHERS_MAX);
    }

    pub(crate) fn push_silence(&mut self, silence: Silence) {
        push(self.open, &mut self.silences, silence, OTHERS_MAX);
    }

    pub(crate) fn push_overdue(&mut self, overdue: Overdue) {
        push(self.open, &mut self.overdue, overdue, OTHERS_MAX);
    }

    pub(crate) fn push_steal(&mut self, steal: Steal) {
        push(self.open, &mut self.steals, steal, OTHERS_MAX);
    }

    pub(crate) fn push_migration(&mut self, migration: Migration) {
        push(self.open, &mut self.migrations, migration, OTHERS_MAX);
    }

    /// Learns from the causes of a wait of `thread` whether its control group has a quota. This
    /// is never forgotten.
    pub(crate) fn learn(&mut self, thread: ThreadId, parts: &[Part]) {
        let quota = Cause::Throttling { rule: Throttle::Cgroup };
        if parts.iter().any(|part| part.cause == quota) {
            self.throttled.insert(thread);
        }
    }

    /// The number of slices kept.
    pub(crate) fn slice_count(&self) -> usize {
        self.slices.len()
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.slices.clear();
        self.absences.clear();
        self.silences.clear();
        self.overdue.clear();
        self.steals.clear();
        self.migrations.clear();
    }

    /// Drops what ended before `start`, if that is worth the effort.
    pub(crate) fn forget_before(&mut self, start: Instant<Monotonic>) {
        let old = self.slices.len() - self.since(start).slices.len();
        if old < Self::FEW || old * 2 < self.slices.len() {
            return;
        }
        self.slices.drain(..old);
        self.absences.retain(|absence| absence.back_at > start);
        self.silences.retain(|silence| silence.to > start);
        self.overdue.retain(|overdue| overdue.served > start);
        self.steals.retain(|steal| steal.to > start);
        self.migrations.retain(|migration| migration.at > start);
    }

    /// Everything that is kept.
    pub(crate) fn whole(&self) -> Excerpt<'_> {
        Excerpt {
            slices: &self.slices,
            absences: &self.absences,
            silences: &self.silences,
            overdue: &self.overdue,
            steals: &self.steals,
            migrations: &self.migrations,
            throttled: &self.throttled,
        }
    }

    /// What ended after `start`: the content of a log that was opened then.
    pub(crate) fn since(&self, start: Instant<Monotonic>) -> Excerpt<'_> {
        Excerpt {
            slices: after(&self.slices, |slice| slice.to <= start),
            absences: after(&self.absences, |absence| absence.back_at <= start),
            silences: after(&self.silences, |silence| silence.to <= start),
            overdue: after(&self.overdue, |overdue| overdue.served <= start),
            steals: after(&self.steals, |steal| steal.to <= start),
            migrations: after(&self.migrations, |migration| migration.at <= start),
            throttled: &self.throttled,
        }
    }
}

/// Appends `item` if a window is open, and drops the earlier half of a full column first.
fn push<T>(open: bool, column: &mut Vec<T>, item: T, max: usize) {
    if !open {
        return;
    }
    if column.len() >= max {
        column.drain(..max / 2);
    }
    column.push(item);
}

/// The part of `column` that follows the items that are `over`.
fn after<T>(column: &[T], over: impl Fn(&T) -> bool) -> &[T] {
    &column[column.partition_point(over)..]
}

impl<'a> Excerpt<'a> {
    /// The last absence of `thread` that ended in `from ..= until`.
    pub(crate) fn last_absence(
        &self,
        thread: ThreadId,
        from: Instant<Monotonic>,
        until: Instant<Monotonic>,
    ) -> Option<&'a Absence> {
        self.absences
            .iter()
            .rev()
            .skip_while(|absence| absence.back_at > until)
            .take_while(|absence| absence.back_at >= from)
            .find(|absence| absence.thread == thread)
    }
}
