//! Adds up where the time of threads goes while events come in.

use tactus_model::recording::{Dictionary, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::classify::{Classifier, SleepId};
use super::ender::EnderKey;
use super::{BlockedStretch, EnderRow, SleepRow, Slept, ThreadTime, blocked};
use crate::blame::Scene;
use crate::machine::{Absence, Machine};
use crate::number_map::NumberMap;
use crate::task::Options;

/// How many threads are followed at the same time; beyond it, all start again.
pub(crate) const THREADS_MAX: usize = 100_000;

/// How many enders of one reason are kept apart; the others share a row.
const ENDERS_MAX: usize = 64;

/// The sums of the threads with one name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    recorded: Nanos,
    on_cpu: Nanos,
    reclaim: Nanos,
    runqueue_wait: Nanos,
    unknown: Nanos,
    sleeps: Vec<(SleepId, SleepSums)>,
}

#[derive(Clone, Debug, Default)]
struct SleepSums {
    count: u64,
    time: Nanos,
    max: Nanos,
    runqueue_wait: Nanos,
    enders: Vec<(EnderKey, u64, Nanos)>,
    longest: Vec<BlockedStretch>,
}

/// What a thread does from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    OnCpu,
    Unknown,
}

/// How far the time of each thread is divided.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadTimes {
    reached: NumberMap<i32, Instant<Monotonic>>,
    /// When threads were last dropped because there were too many.
    dropped: Option<Instant<Monotonic>>,
    classifier: Classifier,
}

impl ThreadTimes {
    /// The threads whose time is divided and who have not ended.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.reached.keys().copied().map(ThreadId)
    }

    /// The thread has ended.
    pub(crate) fn end(&mut self, thread: ThreadId) {
        self.reached.remove(&thread.0);
    }

    /// Moves the end of a thread's divided time to `to`, and returns the time from `from` on
    /// that is new. Time before `from` is unknown. A thread that is new counts from `since`.
    fn advance(
        &mut self,
        thread: ThreadId,
        since: Instant<Monotonic>,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
        sums: &mut Sums,
    ) -> (Instant<Monotonic>, Instant<Monotonic>) {
        if self.reached.len() >= THREADS_MAX && !self.reached.contains_key(&thread.0) {
            self.reached.clear();
            self.dropped = Some(from);
        }
        let since = self.dropped.map_or(since, |dropped| since.max(dropped)).min(from);
        let reached = self.reached.entry(thread.0).or_insert(since);
        let from = from.max(*reached);
        let to = to.max(from);
        sums.recorded = sums.recorded + (to - *reached);
        sums.unknown = sums.unknown + (from - *reached);
        *reached = to;
        (from, to)
    }

    /// The thread did something other than sleep or wait from `from` to `to`.
    pub(crate) fn take(
        &mut self,
        thread: ThreadId,
        since: Instant<Monotonic>,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
        doing: Doing,
        sums: &mut Sums,
    ) {
        let (from, to) = self.advance(thread, since, from, to, sums);
        let time = match doing {
            Doing::OnCpu => &mut sums.on_cpu,
            Doing::Unknown => &mut sums.unknown,
        };
        *time = *time + (to - from);
    }

    /// An absence is over, or `until` is the end of the recording. `log_from` is since when
    /// `scene` has everything.
    pub(crate) fn take_absence(
        &mut self,
        absence: &Absence,
        until: Instant<Monotonic>,
        scene: &Scene<'_>,
        followed: Follow,
        sums: &mut Sums,
    ) {
        let (left, back) =
            self.advance(absence.thread, absence.left_at, absence.left_at, until, sums);
        let ready = absence.ready_at().unwrap_or(back).clamp(left, back);
        let (slept, waited) = (ready - left, back - ready);
        sums.runqueue_wait = sums.runqueue_wait + waited;
        // A new thread, or one that was woken before it had left, did not sleep.
        if slept == Nanos::ZERO {
            return;
        }
        let id = self.classifier.id(absence, scene.names);
        let row = sums.of(id);
        row.count += 1;
        row.time = row.time + slept;
        row.max = row.max.max(slept);
        row.runqueue_wait = row.runqueue_wait + waited;
        let ender = EnderKey::of(absence, scene);
        row.end(ender.by_name(), 1, slept);
        let sleep = self.classifier.sleep(id);
        if sleep.reason.is_choice() || !row.would_keep(slept, followed.options) {
            return;
        }
        let followed_from = left.max(followed.log_from).min(ready);
        let slept = Slept { from: left, followed_from, ready, back };
        row.keep(blocked(scene, absence, sleep, slept, followed.started), followed.options);
    }

    /// Whether the sleep that a thread is in may have to be followed.
    pub(crate) fn may_follow(&mut self, absence: &Absence, names: &Dictionary) -> bool {
        let id = self.classifier.id(absence, names);
        absence.slept() && !self.classifier.sleep(id).reason.is_choice()
    }

    /// The sums, with the names that are known at the end.
    pub(crate) fn finish(&self, sums: Sums, machine: &Machine, names: &Dictionary) -> ThreadTime {
        let mut time = ThreadTime {
            recorded: sums.recorded,
            on_cpu: sums.on_cpu,
            reclaim: sums.reclaim.min(sums.on_cpu),
            runqueue_wait: sums.runqueue_wait,
            unknown: sums.unknown,
            ..ThreadTime::default()
        };
        for (id, row) in sums.sleeps {
            let sleep = self.classifier.sleep(id).clone();
            let kind = match sleep.reason.is_choice() {
                true => &mut time.asleep,
                false => &mut time.blocked,
            };
            *kind = *kind + row.time;
            time.sleeps.push(row.finish(sleep, machine, names));
        }
        time.sleeps.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.sleep.cmp(&b.sleep)));
        time
    }
}

/// What is needed to follow a sleep to its causes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Follow {
    /// The start of the recording.
    pub(crate) started: Instant<Monotonic>,
    /// Since when the log has everything.
    pub(crate) log_from: Instant<Monotonic>,
    pub(crate) options: Options,
}

impl Sums {
    /// A thread reclaimed memory on a CPU for this time, which also counts as time on the CPU.
    pub(crate) fn reclaim(&mut self, time: Nanos) {
        self.reclaim = self.reclaim + time;
    }

    fn of(&mut self, id: SleepId) -> &mut SleepSums {
        let known = self.sleeps.iter().position(|(other, _)| *other == id);
        let place = known.unwrap_or_else(|| {
            self.sleeps.push((id, SleepSums::default()));
            self.sleeps.len() - 1
        });
        &mut self.sleeps[place].1
    }
}

impl SleepSums {
    fn end(&mut self, ender: EnderKey, times: u64, slept: Nanos) {
        let known = self.enders.iter_mut().find(|(other, ..)| *other == ender);
        if let Some((_, count, time)) = known {
            *count += times;
            *time = *time + slept;
        } else if self.enders.len() < ENDERS_MAX || ender == EnderKey::Others {
            self.enders.push((ender, times, slept));
        } else {
            self.end(EnderKey::Others, times, slept);
        }
    }

    fn would_keep(&self, slept: Nanos, options: Options) -> bool {
        let slower = self.longest.iter().filter(|kept| kept.slept >= slept).count();
        slept > options.threshold && slower < options.slowest
    }

    fn keep(&mut self, stretch: BlockedStretch, options: Options) {
        self.longest.push(stretch);
        // The sort is stable: equally long stretches stay in the order of time.
        self.longest.sort_by_key(|kept| std::cmp::Reverse(kept.slept));
        self.longest.truncate(options.slowest);
    }

    fn finish(mut self, sleep: super::Sleep, machine: &Machine, names: &Dictionary) -> SleepRow {
        for (ender, times, slept) in std::mem::take(&mut self.enders) {
            self.end(ender.by_later_name(machine), times, slept);
        }
        let Self { count, time, max, runqueue_wait, enders, longest } = self;
        let enders = enders.into_iter();
        let mut enders: Vec<EnderRow> = enders
            .map(|(key, count, time)| EnderRow { ender: key.named(names), count, time })
            .collect();
        enders.sort_by_key(|row| std::cmp::Reverse((row.time, row.count)));
        SleepRow { sleep, count, time, max, runqueue_wait, enders, longest }
    }
}
