//! Where the time of a late job went.

use std::collections::BTreeMap;

use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::segments::JobSegments;
use super::{Blocked, BlockedRow, JobDivision};
use crate::blame::{Scene, Window, blame};
use crate::cause::Cause;
use crate::explanation::Part;
use crate::machine::Absence;
use crate::thread_time::{Ender, Stretch, divide};

/// How many pairs of a reason and an ender are listed for each thread; later ones are left out.
const ROWS_MAX: usize = 64;

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
    pub(super) absences: &'a [Absence],
    pub(super) cpu: Option<u32>,
}

impl Course<'_> {
    /// The causes of the job's time, the greatest first, and its sleeps. The causes add up to the
    /// time from due to done.
    pub(super) fn divide(&self, scene: &Scene<'_>) -> (Vec<Part>, Vec<Stretch>) {
        let free = self.free.clamp(self.due, self.done);
        let started = self.started.clamp(free, self.done);
        // A late start has the causes of a probe's late wakeup.
        let start = Window {
            due: free,
            came: started,
            absences: self.absences,
            faults: &[],
            cpu: self.cpu,
        };
        let mut stretches = divide(scene, self.thread, self.due, free);
        stretches.extend(divide(scene, self.thread, started, self.done));
        let mut times: BTreeMap<Cause, Nanos> = BTreeMap::new();
        let causes = stretches.iter().flat_map(|stretch| stretch.causes(scene));
        for Part { cause, time } in blame(scene, &start).into_iter().chain(causes) {
            let sum = times.entry(cause).or_default();
            *sum = *sum + time;
        }
        let mut parts: Vec<Part> =
            times.into_iter().map(|(cause, time)| Part { cause, time }).collect();
        // The sort is stable, so equal times stay in the order of causes.
        parts.sort_by_key(|part| std::cmp::Reverse(part.time));
        (parts, stretches)
    }
}

impl JobDivision {
    /// The division of a job with these segments and sleeps. `started` is the start of the
    /// recording.
    pub(super) fn of(
        segments: JobSegments,
        sleeps: &[Stretch],
        scene: &Scene<'_>,
        started: Instant<Monotonic>,
    ) -> Self {
        let longest = sleeps.iter().filter(|stretch| stretch.is_sleep());
        let longest = longest.max_by_key(|stretch| stretch.to - stretch.from);
        let blocked = longest.and_then(|longest| longest.blocked(scene, started));
        Self { segments, blocked: blocked.map(|(sleep, stretch)| Blocked { sleep, stretch }) }
    }
}

/// The sleeps within the late jobs of a thread, by reason and ender.
#[derive(Debug, Default)]
pub(super) struct BlockedRows(Vec<BlockedRow>);

impl BlockedRows {
    /// Adds the sleeps of a job.
    pub(super) fn add(&mut self, sleeps: &[Stretch], scene: &Scene<'_>) {
        for stretch in sleeps {
            let Some((sleep, ender)) = stretch.ended(scene) else { continue };
            let ender = match ender {
                Ender::Thread { name, .. } => Ender::Thread { name, thread: None },
                other => other,
            };
            let time = stretch.to - stretch.from;
            let known = self.0.iter_mut().find(|row| row.sleep == sleep && row.ender == ender);
            if let Some(row) = known {
                (row.count, row.time) = (row.count + 1, row.time + time);
            } else if self.0.len() < ROWS_MAX {
                self.0.push(BlockedRow { sleep, ender, count: 1, time });
            }
        }
    }

    /// The rows, the greatest time first.
    pub(super) fn finish(mut self) -> Vec<BlockedRow> {
        self.0.sort_by_key(|row| std::cmp::Reverse((row.time, row.count)));
        self.0
    }
}
