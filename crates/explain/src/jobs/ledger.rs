//! Where the time of late jobs went.

use std::collections::VecDeque;

use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::{Blocked, BlockedRow};
use crate::blame::{Scene, Window, blame};
use crate::explanation::Part;
use crate::machine::Absence;
use crate::pareto::CauseTimes;
use crate::thread_time::{Ender, Stretch, divide};

/// How many pairs of a reason and an ender are listed for each thread; later ones are left out.
const ROWS_MAX: usize = 64;

/// How many pieces of a thread's time are kept apart; beyond it, the earliest become one.
const PIECES_MAX: usize = 1 << 12;

/// How many times a piece is divided again because jobs were due within it. Between two of these
/// times, its parts shrink in proportion.
const DIVISIONS_MAX: u64 = 64;

/// A late job with everything that is known about its thread.
#[derive(Debug)]
pub(super) struct Course<'a> {
    pub(super) thread: ThreadId,
    pub(super) due: Instant<Monotonic>,
    /// When the thread was done with the previous job.
    pub(super) free: Instant<Monotonic>,
    /// When it began this one.
    pub(super) started: Instant<Monotonic>,
    pub(super) done: Instant<Monotonic>,
    /// Its absences since it was due and the thread was free.
    pub(super) absences: &'a [Absence],
    pub(super) cpu: Option<u32>,
}

/// The divided time of the late jobs of one thread.
///
/// Jobs of a thread that is behind its schedule overlap: each waits for all jobs that were not
/// done when it was due. A backlog of a thousand jobs would be divided a thousand times. The
/// ledger divides every piece of the thread's time once and keeps the sums of the pieces between
/// the due time and the end of the last job; both only move forward.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Consecutive pieces, in the order of time.
    pieces: VecDeque<Piece>,
    sums: Sums,
    blocked: BlockedRows,
    /// The time in which at least one late job was not done, up to `counted`.
    once: Nanos,
    counted: Option<Instant<Monotonic>>,
    /// The longest sleep that was described last.
    described: Option<(Span, Blocked)>,
}

/// The causes of all pieces.
#[derive(Debug, Default)]
struct Sums {
    /// With the number of every thread.
    causes: CauseTimes,
    /// Threads of one name together. Behind a machine with thousands of threads there are far
    /// fewer of these.
    named: CauseTimes,
}

type Span = (Instant<Monotonic>, Instant<Monotonic>);

/// A piece of a thread's time: what one late job added to it.
#[derive(Debug)]
struct Piece {
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
    /// Its length before a job was due within it.
    whole: Nanos,
    /// From when its time was divided last.
    divided_from: Instant<Monotonic>,
    /// Its causes, which add up to the time between `from` and `to`.
    parts: Vec<Part>,
    longest: Option<Stretch>,
}

impl Course<'_> {
    /// The causes of the time from `since` to the end of the job, and the sleeps in it. `since` is
    /// not before the job was due and not after the thread was free.
    fn divide(&self, since: Instant<Monotonic>, scene: &Scene<'_>) -> (Vec<Part>, Vec<Stretch>) {
        let free = self.free.clamp(since, self.done);
        let started = self.started.clamp(free, self.done);
        // A late start has the causes of a probe's late wakeup.
        let start = Window {
            due: free,
            came: started,
            absences: self.absences,
            faults: &[],
            cpu: self.cpu,
        };
        let mut stretches = divide(scene, self.thread, since, free);
        stretches.extend(divide(scene, self.thread, started, self.done));
        let mut times = CauseTimes::default();
        add(&mut times, &blame(scene, &start));
        stretches.iter().for_each(|stretch| add(&mut times, &stretch.causes(scene)));
        (times.parts(), stretches)
    }
}

impl Ledger {
    /// Takes the next late job of the thread. The causes then add up to its time from due to done.
    pub(super) fn take(&mut self, job: &Course<'_>, scene: &Scene<'_>) {
        self.forget_before(job, scene);
        let since = self.pieces.back().map_or(job.due, |last| last.to);
        if since > job.free.clamp(job.due, job.done) {
            // It began before the job before it was done, as its marks say.
            self.clear();
        }
        let since = self.pieces.back().map_or(job.due, |last| last.to);
        let (parts, stretches) = job.divide(since, scene);
        self.blocked.add(&stretches, scene);
        self.once = self.once + (job.done - self.counted.map_or(job.due, |to| to.max(job.due)));
        self.counted = self.counted.max(Some(job.done));
        self.sums.add(&parts);
        self.pieces.push_back(Piece::new(since, job.done, parts, stretches));
        if self.pieces.len() > PIECES_MAX {
            self.join_earliest();
        }
    }

    /// The causes of the last job, the greatest first.
    pub(super) fn parts(&self) -> Vec<Part> {
        self.sums.causes.parts()
    }

    /// The causes of the last job by name, see [`Cause::by_name`](crate::Cause::by_name).
    pub(super) const fn named(&self) -> &CauseTimes {
        &self.sums.named
    }

    /// The longest sleep within the last job. `started` is the start of the recording.
    pub(super) fn longest_sleep(
        &mut self,
        scene: &Scene<'_>,
        started: Instant<Monotonic>,
    ) -> Option<Blocked> {
        let sleeps = self.pieces.iter().filter_map(|piece| piece.longest.as_ref());
        let longest = sleeps.max_by_key(|sleep| sleep.length())?;
        let span = (longest.from, longest.to);
        if self.described.as_ref().is_none_or(|(described, _)| *described != span) {
            let (sleep, stretch) = longest.blocked(scene, started)?;
            self.described = Some((span, Blocked { sleep, stretch }));
        }
        self.described.as_ref().map(|(_, blocked)| blocked.clone())
    }

    /// The time in which at least one late job was due and not done.
    pub(super) const fn once(&self) -> Nanos {
        self.once
    }

    /// The sleeps within the late jobs.
    pub(super) fn blocked(self) -> Vec<BlockedRow> {
        self.blocked.finish()
    }

    fn clear(&mut self) {
        self.pieces.clear();
        self.sums = Sums::default();
    }

    /// Drops what the thread did before the job was due.
    fn forget_before(&mut self, job: &Course<'_>, scene: &Scene<'_>) {
        while let Some(first) = self.pieces.front_mut().filter(|first| first.from < job.due) {
            self.sums.subtract(&first.parts);
            if first.to <= job.due {
                self.pieces.pop_front();
                continue;
            }
            first.cut(job.thread, job.due, scene);
            self.sums.add(&first.parts);
        }
    }

    /// Makes the two earliest pieces one.
    fn join_earliest(&mut self) {
        let (Some(first), Some(mut second)) = (self.pieces.pop_front(), self.pieces.pop_front())
        else {
            return;
        };
        let mut times = CauseTimes::default();
        add(&mut times, &first.parts);
        add(&mut times, &second.parts);
        (second.from, second.divided_from) = (first.from, first.divided_from);
        second.whole = second.to - first.from;
        second.parts = times.parts();
        second.longest = longest(first.longest.into_iter().chain(second.longest.take()));
        self.pieces.push_front(second);
    }
}

impl Piece {
    fn new(
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
        parts: Vec<Part>,
        stretches: Vec<Stretch>,
    ) -> Self {
        Self { from, to, whole: to - from, divided_from: from, parts, longest: longest(stretches) }
    }

    /// Cuts off what was before `from`.
    fn cut(&mut self, thread: ThreadId, from: Instant<Monotonic>, scene: &Scene<'_>) {
        let step = self.whole.as_nanos() / DIVISIONS_MAX;
        let is_far = (from - self.divided_from).as_nanos() >= step;
        if is_far && scene.log.kept_from() <= from {
            let stretches = divide(scene, thread, from, self.to);
            let mut times = CauseTimes::default();
            stretches.iter().for_each(|stretch| add(&mut times, &stretch.causes(scene)));
            (self.parts, self.longest) = (times.parts(), longest(stretches));
            self.divided_from = from;
        } else {
            shrink(&mut self.parts, self.to - self.from, self.to - from);
        }
        self.from = from;
    }
}

fn longest(stretches: impl IntoIterator<Item = Stretch>) -> Option<Stretch> {
    stretches.into_iter().filter(Stretch::is_sleep).max_by_key(Stretch::length)
}

/// Shrinks parts that add up to `whole` in proportion, so that they add up to `rest`.
fn shrink(parts: &mut Vec<Part>, whole: Nanos, rest: Nanos) {
    let scaled = |time: u128| {
        let scaled = time * u128::from(rest.as_nanos()) / u128::from(whole.as_nanos().max(1));
        Nanos::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
    };
    // The sums are rounded, not the parts, so that no nanosecond is lost.
    let mut before = 0;
    for part in &mut *parts {
        let after = before + u128::from(part.time.as_nanos());
        part.time = scaled(after) - scaled(before);
        before = after;
    }
    parts.retain(|part| part.time > Nanos::ZERO);
}

fn add(times: &mut CauseTimes, parts: &[Part]) {
    parts.iter().for_each(|part| times.add(&part.cause, part.time));
}

impl Sums {
    fn add(&mut self, parts: &[Part]) {
        for Part { cause, time } in parts {
            self.causes.add(cause, *time);
            self.named.add(&cause.by_name(), *time);
        }
    }

    fn subtract(&mut self, parts: &[Part]) {
        for Part { cause, time } in parts {
            self.causes.subtract(cause, *time);
            self.named.subtract(&cause.by_name(), *time);
        }
    }
}

/// The sleeps within the late jobs of a thread, by reason and ender.
#[derive(Debug, Default)]
struct BlockedRows(Vec<BlockedRow>);

impl BlockedRows {
    fn add(&mut self, stretches: &[Stretch], scene: &Scene<'_>) {
        for stretch in stretches {
            let Some((sleep, ender)) = stretch.ended(scene) else { continue };
            let ender = match ender {
                Ender::Thread { name, .. } => Ender::Thread { name, thread: None },
                other => other,
            };
            let time = stretch.length();
            let known = self.0.iter_mut().find(|row| row.sleep == sleep && row.ender == ender);
            if let Some(row) = known {
                (row.count, row.time) = (row.count + 1, row.time + time);
            } else if self.0.len() < ROWS_MAX {
                self.0.push(BlockedRow { sleep, ender, count: 1, time });
            }
        }
    }

    /// The rows, the greatest time first.
    fn finish(mut self) -> Vec<BlockedRow> {
        self.0.sort_by_key(|row| std::cmp::Reverse((row.time, row.count)));
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cause::Cause;

    proptest! {
        #[test]
        fn shrunk_parts_add_up(
            times in prop::collection::vec(0..u64::MAX / 64, 1..50),
            share in 0.0..=1.0_f64,
        ) {
            let whole: u64 = times.iter().sum();
            let rest = Nanos::from_nanos(((whole as f64 * share) as u64).min(whole));
            let part = |time| Part { cause: Cause::OwnWork, time: Nanos::from_nanos(time) };
            let mut parts: Vec<Part> = times.into_iter().map(part).collect();
            shrink(&mut parts, Nanos::from_nanos(whole), rest);
            prop_assert_eq!(parts.iter().map(|part| part.time).sum::<Nanos>(), rest);
        }
    }
}
