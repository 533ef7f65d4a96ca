//! What the replay reported while a window was open.

use std::collections::BTreeSet;

use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic};

use crate::cause::{Cause, Throttle};
use crate::explanation::Part;
use crate::machine::{
    Absence, Migration, Overdue, PriorityChange, Reranked, Silence, Slice, Steal,
};

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
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// Whether a window is open.
    pub(crate) open: bool,
    /// Everything that ended after this instant, while a window was open, is kept.
    kept_from: Instant<Monotonic>,
    slices: Vec<Slice>,
    absences: Vec<Absence>,
    silences: Vec<Silence>,
    overdue: Vec<Overdue>,
    steals: Vec<Steal>,
    migrations: Vec<Migration>,
    inheritances: Vec<PriorityChange>,
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
    pub(crate) inheritances: &'a [PriorityChange],
    /// The threads whose control group was throttled before.
    pub(crate) throttled: &'a BTreeSet<ThreadId>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            open: false,
            kept_from: Instant::from_nanos(0),
            slices: Vec::new(),
            absences: Vec::new(),
            silences: Vec::new(),
            overdue: Vec::new(),
            steals: Vec::new(),
            migrations: Vec::new(),
            inheritances: Vec::new(),
            throttled: BTreeSet::new(),
        }
    }
}

impl Log {
    /// Below this number of slices, dropping old ones is not worth the effort.
    pub(crate) const FEW: usize = 1 << 12;

    pub(crate) fn push_slice(&mut self, slice: Slice) {
        if push(self.open, &mut self.slices, slice, SLICES_MAX) {
            self.kept_from = self.kept_from.max(self.slices[0].from);
        }
    }

    /// Gives the slices of a turn the priorities that its end showed.
    pub(crate) fn rerank(&mut self, turn: Reranked) {
        let recent = self.slices.iter_mut().rev().take_while(|slice| slice.to > turn.since);
        for slice in recent.filter(|s| s.cpu == turn.cpu && s.thread_since == turn.since) {
            (slice.priority, slice.base) = (turn.priority, turn.base);
        }
    }

    pub(crate) fn push_absence(&mut self, absence: &Absence) {
        if push(self.open, &mut self.absences, *absence, OTHERS_MAX) {
            self.kept_from = self.kept_from.max(self.absences[0].back_at);
        }
    }

    pub(crate) fn push_silence(&mut self, silence: Silence) {
        let _ = push(self.open, &mut self.silences, silence, OTHERS_MAX);
    }

    pub(crate) fn push_overdue(&mut self, overdue: Overdue) {
        let _ = push(self.open, &mut self.overdue, overdue, OTHERS_MAX);
    }

    pub(crate) fn push_steal(&mut self, steal: Steal) {
        let _ = push(self.open, &mut self.steals, steal, OTHERS_MAX);
    }

    pub(crate) fn push_migration(&mut self, migration: Migration) {
        let _ = push(self.open, &mut self.migrations, migration, OTHERS_MAX);
    }

    pub(crate) fn push_inheritance(&mut self, change: PriorityChange) {
        let _ = push(self.open, &mut self.inheritances, change, OTHERS_MAX);
    }

    /// Since when everything is kept.
    pub(crate) const fn kept_from(&self) -> Instant<Monotonic> {
        self.kept_from
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
        self.inheritances.clear();
    }

    /// Drops what ended before `start`, if that is worth the effort.
    pub(crate) fn forget_before(&mut self, start: Instant<Monotonic>) {
        let old = self.slices.len() - self.since(start).slices.len();
        if old < Self::FEW || old * 2 < self.slices.len() {
            return;
        }
        self.kept_from = self.kept_from.max(start);
        self.slices.drain(..old);
        self.absences.retain(|absence| absence.back_at > start);
        self.silences.retain(|silence| silence.to > start);
        self.overdue.retain(|overdue| overdue.served > start);
        self.steals.retain(|steal| steal.to > start);
        self.migrations.retain(|migration| migration.at > start);
        self.inheritances.retain(|change| change.at > start);
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
            inheritances: &self.inheritances,
            throttled: &self.throttled,
        }
    }

    /// What ended after `start`: the content of a log that was opened then.
    pub(crate) fn since(&self, start: Instant<Monotonic>) -> Excerpt<'_> {
        self.whole().between(start, Instant::from_nanos(u64::MAX))
    }
}

/// Appends `item` if a window is open, and drops the earlier half of a full column first; returns
/// whether it did that.
fn push<T>(open: bool, column: &mut Vec<T>, item: T, max: usize) -> bool {
    if !open {
        return false;
    }
    let full = column.len() >= max;
    if full {
        column.drain(..max / 2);
    }
    column.push(item);
    full
}

/// The items of a column that ended after `from` and not after `to`.
fn ended_between<T>(
    column: &[T],
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
    end: impl Fn(&T) -> Instant<Monotonic>,
) -> &[T] {
    let column = &column[column.partition_point(|item| end(item) <= from)..];
    match column.last() {
        Some(last) if end(last) > to => &column[..column.partition_point(|item| end(item) <= to)],
        _ => column,
    }
}

impl<'a> Excerpt<'a> {
    /// The part of it that ended after `from` and not after `to`.
    pub(crate) fn between(&self, from: Instant<Monotonic>, to: Instant<Monotonic>) -> Excerpt<'a> {
        Excerpt {
            slices: ended_between(self.slices, from, to, |slice| slice.to),
            absences: ended_between(self.absences, from, to, |absence| absence.back_at),
            silences: ended_between(self.silences, from, to, |silence| silence.to),
            overdue: ended_between(self.overdue, from, to, |overdue| overdue.served),
            steals: ended_between(self.steals, from, to, |steal| steal.to),
            migrations: ended_between(self.migrations, from, to, |migration| migration.at),
            inheritances: ended_between(self.inheritances, from, to, |change| change.at),
            throttled: self.throttled,
        }
    }

    /// The absences of `thread` that ended after `from` and not after `until`, in the order of
    /// time.
    pub(crate) fn absences_of(
        &self,
        thread: ThreadId,
        from: Instant<Monotonic>,
        until: Instant<Monotonic>,
    ) -> Vec<Absence> {
        let begin = self.absences.partition_point(|absence| absence.back_at <= from);
        let ended = self.absences[begin..].iter().take_while(|absence| absence.back_at <= until);
        ended.filter(|absence| absence.thread == thread).copied().collect()
    }
}
