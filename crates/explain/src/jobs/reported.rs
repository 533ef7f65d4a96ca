//! Jobs whose program says when they were due and done.

use std::collections::VecDeque;

use tactus_model::recording::{Lost, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::finder::Schedule;
use super::period::Period;
use super::turn::Source;

/// How long after it was due a job may be reported: for so long the events are kept that explain
/// it, if they are not too many.
pub(super) const REPORTED_WITHIN: Nanos = Nanos::from_secs(10);

/// How many reports wait for the events that explain them; beyond it, the first is dropped.
const WAITING_MAX: usize = 1 << 14;

/// A job that its program reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedJob {
    /// The thread that does it.
    pub thread: ThreadId,
    /// When it was due.
    pub due: Instant<Monotonic>,
    /// When it was done; before `due`, it counts as done when it was due.
    pub done: Instant<Monotonic>,
    /// The time between two due times.
    pub period: Nanos,
}

impl ReportedJob {
    /// The schedule of its thread.
    pub(super) fn schedule(&self) -> Schedule {
        let period = Period { length: self.period, fit: 1.0, spacings: 0, median: self.period };
        Schedule { source: Source::Report, period }
    }
}

/// The reports whose events have not all come, and the losses that could concern them.
#[derive(Debug, Default)]
pub(super) struct Reports {
    waiting: VecDeque<ReportedJob>,
    losses: Vec<Lost>,
}

impl Reports {
    /// Takes a report; returns the first one if too many wait.
    pub(super) fn add(&mut self, job: ReportedJob) -> Option<ReportedJob> {
        self.waiting.push_back(job);
        (self.waiting.len() > WAITING_MAX).then(|| self.waiting.pop_front()).flatten()
    }

    /// The next job that was done by then.
    pub(super) fn next(&mut self, by: Instant<Monotonic>) -> Option<ReportedJob> {
        let is_done = self.waiting.front().is_some_and(|job| job.done <= by);
        is_done.then(|| self.waiting.pop_front()).flatten()
    }

    /// The jobs whose events did not come.
    pub(super) fn rest(&mut self) -> VecDeque<ReportedJob> {
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn lose(&mut self, lost: Lost) {
        self.losses.retain(|old| old.to + REPORTED_WITHIN >= lost.to);
        self.losses.push(lost);
    }

    /// Whether events were lost while a job was due and not done.
    pub(super) fn is_void(&self, job: &ReportedJob) -> bool {
        self.losses.iter().any(|lost| lost.from <= job.done && job.due <= lost.to)
    }
}
