//! What the replay reported while a window was open.
//!
//! What is kept is asked for by stretches of time, of one CPU or of one thread, and often: for
//! every late wait, and again for every thread that had to act first. So each CPU and each thread
//! has columns of its own, and a stretch is found in them by binary search. No question looks
//! through what it did not ask for.

use std::collections::{BTreeMap, BTreeSet};

use tactus_model::recording::{About, FunctionId, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::block::{Block, is_same_turn};
use crate::cause::{Cause, Throttle};
use crate::explanation::Part;
use crate::machine::{
    Absence, Activity, Migration, Observer, Overdue, PriorityChange, Reranked, Silence, Slice,
    Steal,
};
use crate::number_map::NumberMap;

/// The maximum number of items to keep at once (about 200 MB; most are slices).
///
/// This is five seconds of a machine with half a million events per second. For a longer
/// window, the log drops the earlier half, which then counts as an unexplained gap.
const ITEMS_MAX: usize = 1 << 21;

/// From this number of items on, the log will soon drop the earlier half.
const ALMOST_FULL: usize = ITEMS_MAX - (1 << 10);

/// Below this number of items, dropping old ones is not worth the effort.
const FEW: usize = 1 << 12;

/// The longest period of a quota (`max_bw_quota_period_us` in `kernel/sched/core.c`).
const PERIOD_MAX: Nanos = Nanos::from_secs(1);

/// Everything that the replay reported since the earliest open window began.
///
/// While no window is open, nothing is kept.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// Whether a window is open.
    pub(crate) open: bool,
    /// Everything that ended after this instant, while a window was open, is kept.
    kept_from: Instant<Monotonic>,
    cpus: Vec<CpuColumns>,
    threads: NumberMap<i32, ThreadColumns>,
    /// When timers were served, by the function that they call.
    timers: BTreeMap<FunctionId, Column<Instant<Monotonic>>>,
    /// When timers were served late, on any CPU.
    late_timers: Column<Instant<Monotonic>>,
    /// The number of items in the columns of CPUs and threads.
    items: usize,
    /// At this number of items, what can be dropped is checked.
    enough: usize,
    throttled: BTreeSet<ThreadId>,
    /// How much is kept before what is still needed: the longest period of a quota.
    lookback: Nanos,
}

/// What was reported of one CPU. Its slices, silences and steals do not overlap.
#[derive(Clone, Debug, Default)]
struct CpuColumns {
    slices: Column<Slice>,
    silences: Column<Silence>,
    overdue: Column<Overdue>,
    steals: Column<Steal>,
    /// The sums over slices, in the order of time.
    blocks: Vec<Block>,
    /// How many of the last slices are in no block yet.
    unsummed: usize,
}

/// What was reported of one thread.
#[derive(Clone, Debug, Default)]
struct ThreadColumns {
    absences: Column<Absence>,
    migrations: Column<Migration>,
    inheritances: Column<PriorityChange>,
}

/// Part of a log: what ended after some instant and not after another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Excerpt<'a> {
    log: &'a Log,
    after: Instant<Monotonic>,
    until: Instant<Monotonic>,
}

impl CpuColumns {
    /// Adds a slice, and sums those before it if they are enough and its turn is new.
    ///
    /// The priorities of a turn may change until it ends, see `reranked`.
    fn add(&mut self, slice: Slice) {
        let Self { slices: Column(slices), blocks, unsummed, .. } = self;
        if *unsummed >= Block::SLICES
            && let Some(last) = slices.last()
            && !is_same_turn(last, &slice)
        {
            blocks.extend(Block::all_in(&slices[slices.len() - *unsummed..]));
            *unsummed = 0;
        }
        slices.push(slice);
        *unsummed += 1;
    }

    /// Drops the blocks that began before `start`, whose slices were dropped.
    fn drop_blocks_before(&mut self, start: Instant<Monotonic>) {
        self.blocks.drain(..self.blocks.partition_point(|block| block.from < start));
        self.unsummed = self.unsummed.min(self.slices.len());
    }

    fn all(&mut self) -> [&mut dyn Items; 4] {
        [&mut self.slices, &mut self.silences, &mut self.overdue, &mut self.steals]
    }
}

impl ThreadColumns {
    fn all(&mut self) -> [&mut dyn Items; 3] {
        [&mut self.absences, &mut self.migrations, &mut self.inheritances]
    }
}

impl Default for Log {
    fn default() -> Self {
        Self {
            open: false,
            kept_from: Instant::from_nanos(0),
            cpus: Vec::new(),
            threads: NumberMap::default(),
            timers: BTreeMap::new(),
            late_timers: Column::default(),
            items: 0,
            enough: FEW,
            throttled: BTreeSet::new(),
            lookback: Nanos::ZERO,
        }
    }
}

impl Log {
    /// A log with an open window. It also keeps the last period of the recording's quotas.
    pub(crate) fn opened(about: &About) -> Self {
        let periods = about.quotas.iter().flatten().map(|group| group.period.min(PERIOD_MAX));
        let lookback = periods.max().unwrap_or_default();
        Self { open: true, lookback, ..Self::default() }
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

    /// Whether so much is kept that it is worth the effort to find out what is still needed, and
    /// to call [`Self::forget_before`].
    pub(crate) const fn has_enough(&self) -> bool {
        self.items >= self.enough || self.is_almost_full()
    }

    /// Whether [`Self::forget_before`] will drop the earlier half if it can drop nothing else.
    pub(crate) const fn is_almost_full(&self) -> bool {
        self.items >= ALMOST_FULL
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.cpus.clear();
        self.threads.clear();
        self.timers.clear();
        self.late_timers.0.clear();
        (self.items, self.enough) = (0, FEW);
    }

    /// Drops what ended before `start`, if that is at least half of everything.
    pub(crate) fn forget_before(&mut self, start: Instant<Monotonic>) {
        let start = start - self.lookback;
        let old = self.ended_until(start);
        if old >= FEW && old * 2 >= self.items {
            self.drop_until(start);
        }
        if self.is_almost_full() {
            self.drop_half();
        }
        // What could not be dropped is checked again when there is twice as much.
        self.enough = (2 * self.items).max(FEW);
    }

    /// Everything that is kept.
    pub(crate) fn whole(&self) -> Excerpt<'_> {
        self.since(Instant::from_nanos(0))
    }

    /// What ended after `start`: the content of a log that was opened then.
    pub(crate) fn since(&self, start: Instant<Monotonic>) -> Excerpt<'_> {
        Excerpt { log: self, after: start, until: Instant::from_nanos(u64::MAX) }
    }

    /// Makes room for an item; returns whether to keep it.
    fn takes(&mut self) -> bool {
        if !self.open {
            return false;
        }
        if self.items >= ITEMS_MAX {
            self.drop_half();
        }
        self.items += 1;
        true
    }

    /// Drops the earlier half.
    fn drop_half(&mut self) {
        let (mut before, mut until) = (0, u64::MAX);
        while before + 1 < until {
            let middle = before.midpoint(until);
            match 2 * self.ended_until(Instant::from_nanos(middle)) < self.items {
                true => before = middle,
                false => until = middle,
            }
        }
        self.drop_until(Instant::from_nanos(until));
    }

    /// How many items ended until `end`.
    fn ended_until(&mut self, end: Instant<Monotonic>) -> usize {
        self.columns().map(|column| column.ended_until(end)).sum()
    }

    /// Drops what ended until `end`.
    fn drop_until(&mut self, end: Instant<Monotonic>) {
        self.kept_from = self.kept_from.max(end);
        self.columns().for_each(|column| column.drop_until(end));
        self.cpus.iter_mut().for_each(|columns| columns.drop_blocks_before(end));
        self.items = self.columns().map(|column| column.len()).sum();
        self.threads.retain(|_, thread| thread.all().iter().any(|column| column.len() > 0));
        self.timers.retain(|_, served| served.len() > 0);
    }

    fn columns(&mut self) -> impl Iterator<Item = &mut dyn Items> {
        let cpus = self.cpus.iter_mut().flat_map(CpuColumns::all);
        let threads = self.threads.values_mut().flat_map(ThreadColumns::all);
        let timers = self.timers.values_mut().map(|column| column as &mut dyn Items);
        cpus.chain(threads).chain(timers).chain([&mut self.late_timers as &mut dyn Items])
    }

    fn cpu(&mut self, cpu: u32) -> &mut CpuColumns {
        let index = cpu as usize;
        if index >= self.cpus.len() {
            self.cpus.resize_with(index + 1, CpuColumns::default);
        }
        &mut self.cpus[index]
    }

    fn thread(&mut self, thread: ThreadId) -> &mut ThreadColumns {
        self.threads.entry(thread.0).or_default()
    }
}

impl Observer for Log {
    fn slice(&mut self, slice: Slice) {
        if let Activity::Timer { function } = slice.activity
            && self.takes()
        {
            self.timers.entry(function).or_default().0.push(slice.to);
        }
        if self.takes() {
            self.cpu(slice.cpu).add(slice);
        }
    }

    /// Gives the slices of a turn the priorities that its end showed.
    fn reranked(&mut self, turn: Reranked) {
        let slices = self.cpu(turn.cpu).slices.0.iter_mut().rev();
        let recent = slices.take_while(|slice| slice.to > turn.since);
        for slice in recent.filter(|slice| slice.thread_since == turn.since) {
            (slice.priority, slice.base) = (turn.priority, turn.base);
        }
    }

    fn absence(&mut self, absence: &Absence) {
        if self.takes() {
            self.thread(absence.thread).absences.0.push(*absence);
        }
    }

    fn overdue(&mut self, overdue: Overdue) {
        if self.takes() {
            self.late_timers.0.push(overdue.served);
        }
        if self.takes() {
            self.cpu(overdue.cpu).overdue.0.push(overdue);
        }
    }

    fn silence(&mut self, silence: Silence) {
        if self.takes() {
            self.cpu(silence.cpu).silences.0.push(silence);
        }
    }

    fn steal(&mut self, steal: Steal) {
        if self.takes() {
            self.cpu(steal.cpu).steals.0.push(steal);
        }
    }

    fn migration(&mut self, migration: Migration) {
        if self.takes() {
            self.thread(migration.thread).migrations.0.push(migration);
        }
    }

    fn inheritance(&mut self, change: PriorityChange) {
        if self.takes() {
            self.thread(change.thread).inheritances.0.push(change);
        }
    }
}

impl<'a> Excerpt<'a> {
    /// The part of it that ended after `after` and not after `until`.
    pub(crate) fn between(&self, after: Instant<Monotonic>, until: Instant<Monotonic>) -> Self {
        Self { log: self.log, after: self.after.max(after), until: self.until.min(until) }
    }

    /// The part of the whole log, as far as it is kept, that ended after `after` and not after
    /// `until`.
    pub(crate) fn anywhere_between(
        &self,
        after: Instant<Monotonic>,
        until: Instant<Monotonic>,
    ) -> Self {
        Self { log: self.log, after, until }
    }

    /// The part of it that ended after `after`.
    pub(crate) fn since(&self, after: Instant<Monotonic>) -> Self {
        self.between(after, self.until)
    }

    /// The slices of a CPU.
    pub(crate) fn slices(&self, cpu: u32) -> &'a [Slice] {
        self.of_cpu(cpu, |columns| &columns.slices)
    }

    /// The sums over those of its slices that it holds whole blocks of.
    pub(crate) fn blocks(&self, cpu: u32) -> &'a [Block] {
        let Some(columns) = self.log.cpus.get(cpu as usize) else { return &[] };
        let blocks = &columns.blocks;
        let first = blocks.partition_point(|block| block.from < self.after);
        let end = blocks.partition_point(|block| block.to <= self.until);
        blocks.get(first..end).unwrap_or_default()
    }

    /// The silences of a CPU.
    pub(crate) fn silences(&self, cpu: u32) -> &'a [Silence] {
        self.of_cpu(cpu, |columns| &columns.silences)
    }

    /// The timers that a CPU served late.
    pub(crate) fn overdue(&self, cpu: u32) -> &'a [Overdue] {
        self.of_cpu(cpu, |columns| &columns.overdue)
    }

    /// When timers were served late, on any CPU.
    pub(crate) fn late_timers(&self) -> &'a [Instant<Monotonic>] {
        self.part_of(&self.log.late_timers)
    }

    /// The steals of a CPU.
    pub(crate) fn steals(&self, cpu: u32) -> &'a [Steal] {
        self.of_cpu(cpu, |columns| &columns.steals)
    }

    /// The absences of a thread.
    pub(crate) fn absences(&self, thread: ThreadId) -> &'a [Absence] {
        self.of_thread(thread, |columns| &columns.absences)
    }

    /// The absences, of all threads, that ended after `at`, the first of each thread. All
    /// that lasted at that instant are among them.
    pub(crate) fn absences_at(&self, at: Instant<Monotonic>) -> impl Iterator<Item = &'a Absence> {
        let later = self.since(at);
        let threads = self.log.threads.values();
        threads.filter_map(move |columns| later.part_of(&columns.absences).first())
    }

    /// The moves of a thread to other CPUs.
    pub(crate) fn migrations(&self, thread: ThreadId) -> &'a [Migration] {
        self.of_thread(thread, |columns| &columns.migrations)
    }

    /// The inherited priorities of a thread.
    pub(crate) fn inheritances(&self, thread: ThreadId) -> &'a [PriorityChange] {
        self.of_thread(thread, |columns| &columns.inheritances)
    }

    /// When timers that call a function for which `is_it` holds were served on any CPU, in the
    /// order of time.
    pub(crate) fn served(&self, is_it: impl Fn(FunctionId) -> bool) -> Vec<Instant<Monotonic>> {
        let columns =
            self.log.timers.iter().map(|(function, column)| (function, self.part_of(column)));
        let columns = columns.filter(|(function, part)| !part.is_empty() && is_it(**function));
        let mut served: Vec<Instant<Monotonic>> =
            columns.flat_map(|(_, part)| part).copied().collect();
        served.sort_unstable();
        served
    }

    /// Since when everything is kept.
    pub(crate) const fn kept_from(&self) -> Instant<Monotonic> {
        self.log.kept_from()
    }

    /// Whether the control group of a thread was throttled before.
    pub(crate) fn was_throttled(&self, thread: ThreadId) -> bool {
        self.log.throttled.contains(&thread)
    }

    fn of_cpu<T: Ended>(&self, cpu: u32, column: fn(&CpuColumns) -> &Column<T>) -> &'a [T] {
        let columns = self.log.cpus.get(cpu as usize);
        columns.map_or(&[], |columns| self.part_of(column(columns)))
    }

    fn of_thread<T: Ended>(
        &self,
        thread: ThreadId,
        column: fn(&ThreadColumns) -> &Column<T>,
    ) -> &'a [T] {
        let columns = self.log.threads.get(&thread.0);
        columns.map_or(&[], |columns| self.part_of(column(columns)))
    }

    fn part_of<'c, T: Ended>(&self, column: &'c Column<T>) -> &'c [T] {
        let first = column.ended_until(self.after);
        let rest = &column.0[first..];
        match rest.last() {
            Some(last) if last.end() > self.until => &rest[..ended_until(rest, self.until)],
            _ => rest,
        }
    }
}

/// Items in the order of their ends.
#[derive(Clone, Debug)]
struct Column<T>(Vec<T>);

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// A column, whatever its items are.
trait Items {
    fn len(&self) -> usize;
    /// How many items ended until `end`.
    fn ended_until(&self, end: Instant<Monotonic>) -> usize;
    fn drop_until(&mut self, end: Instant<Monotonic>);
}

impl<T: Ended> Items for Column<T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn ended_until(&self, end: Instant<Monotonic>) -> usize {
        ended_until(&self.0, end)
    }

    fn drop_until(&mut self, end: Instant<Monotonic>) {
        self.0.drain(..self.ended_until(end));
    }
}

/// How many of the items, which are in the order of their ends, ended until `end`.
fn ended_until<T: Ended>(items: &[T], end: Instant<Monotonic>) -> usize {
    items.partition_point(|item| item.end() <= end)
}

/// What has an end.
trait Ended {
    fn end(&self) -> Instant<Monotonic>;
}

/// Says which field of a type is its end.
macro_rules! ended {
    ($($type:ty: $field:ident;)*) => {
        $(impl Ended for $type {
            fn end(&self) -> Instant<Monotonic> {
                self.$field
            }
        })*
    };
}

ended! {
    Slice: to;
    Silence: to;
    Overdue: served;
    Steal: to;
    Absence: back_at;
    Migration: at;
    PriorityChange: at;
}

/// Of a timer, only when it was served is kept.
impl Ended for Instant<Monotonic> {
    fn end(&self) -> Instant<Monotonic> {
        *self
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::recording::{NameId, Priority};

    use super::*;

    const CPUS: u32 = 8;

    fn at(nanos: u64) -> Instant<Monotonic> {
        Instant::from_nanos(nanos)
    }

    /// A slice of 10 ns that ends at `to`.
    fn slice(cpu: u32, to: u64) -> Slice {
        Slice {
            cpu,
            from: at(to - 10),
            to: at(to),
            activity: Activity::Timer { function: FunctionId::default() },
            thread: ThreadId(1),
            name: NameId::UNKNOWN,
            priority: Priority(120),
            base: None,
            thread_since: at(0),
            need_resched: false,
            end_chain: None,
        }
    }

    /// A log in which each CPU had `count` slices, one after the other.
    fn log(count: u64) -> Log {
        let mut log = Log { open: true, ..Log::default() };
        for end in 1..=count {
            (0..CPUS).for_each(|cpu| log.slice(slice(cpu, 10 * end)));
        }
        log
    }

    #[test]
    fn a_stretch_costs_as_much_in_a_long_log_as_in_a_short_one() {
        for count in [100, 10_000] {
            let log = log(count);
            let stretch = log.whole().between(at(200), at(500));
            assert_eq!(stretch.slices(3).len(), 30, "of {count}");
            assert_eq!(stretch.served(|_| true).len(), 30 * CPUS as usize, "of {count}");
            assert_eq!(stretch.since(at(490)).slices(3), [slice(3, 500)], "of {count}");
            assert!(stretch.slices(CPUS).is_empty());
        }
    }

    #[test]
    fn a_full_log_drops_its_earlier_half() {
        let count = 10_000;
        let mut log = log(count);
        log.drop_half();
        assert_eq!(log.kept_from(), at(10 * count / 2));
        assert_eq!(log.whole().slices(0).len() as u64, count / 2);
        assert_eq!(log.items as u64, u64::from(CPUS) * count);
        assert_eq!(log.whole().slices(0)[0], slice(0, 10 * count / 2 + 10));
    }

    #[test]
    fn what_is_needed_is_never_forgotten() {
        let mut log = log(10_000);
        log.forget_before(at(10_000));
        assert_eq!(log.kept_from(), at(0), "a tenth is not worth the effort");
        log.forget_before(at(80_000));
        assert_eq!(log.whole().slices(1)[0], slice(1, 80_010));
        assert_eq!(log.since(at(0)).served(|_| true).first(), Some(&at(80_010)));
        assert!(!log.has_enough());
    }
}
