//! The stages of a job, from its due time to its end.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::machine::Absence;
use crate::path::{Standing, legs};

/// A part of a job's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobSegment {
    /// The thread was still busy with the previous job.
    PreviousJob,
    /// From there until the thread ran.
    LateStart,
    /// It was on a CPU, interrupts included.
    OnCpu,
    /// It was runnable and waited for a CPU.
    Waiting,
    /// It slept within the job.
    Blocked,
}

impl JobSegment {
    /// All segments.
    pub const ALL: [Self; 5] =
        [Self::PreviousJob, Self::LateStart, Self::OnCpu, Self::Waiting, Self::Blocked];
}

impl fmt::Display for JobSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PreviousJob => "previous job",
            Self::LateStart => "late start",
            Self::OnCpu => "on CPU",
            Self::Waiting => "waiting for a CPU",
            Self::Blocked => "blocked",
        })
    }
}

/// The duration of each segment of a job, in the order of [`JobSegment::ALL`].
///
/// They add up exactly to the time from the due time to the end of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobSegments([Nanos; 5]);

impl JobSegments {
    /// Divides the time of a job that was `due`, that the thread could begin when it was `free`
    /// of the previous one and did begin at `started`, and that was `done`.
    pub(super) fn between(
        due: Instant<Monotonic>,
        free: Instant<Monotonic>,
        started: Instant<Monotonic>,
        done: Instant<Monotonic>,
        absences: &[Absence],
    ) -> Self {
        let free = free.clamp(due, done.max(due));
        let started = started.clamp(free, done.max(free));
        let mut segments = Self::default();
        segments.add(JobSegment::PreviousJob, free - due);
        segments.add(JobSegment::LateStart, started - free);
        for leg in legs(started, done, absences, None) {
            let segment = match leg.standing {
                Standing::Running(_) => JobSegment::OnCpu,
                Standing::Waiting(_) => JobSegment::Waiting,
                Standing::Asleep(_) => JobSegment::Blocked,
            };
            segments.add(segment, leg.to - leg.from);
        }
        segments
    }

    fn add(&mut self, segment: JobSegment, time: Nanos) {
        let place = &mut self.0[segment as usize];
        *place = *place + time;
    }

    /// The sum of these segments and of `other`.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        other.iter().for_each(|(segment, time)| self.add(segment, time));
        self
    }

    /// The duration of a segment.
    pub const fn get(&self, segment: JobSegment) -> Nanos {
        self.0[segment as usize]
    }

    /// Every segment with its duration.
    pub fn iter(&self) -> impl Iterator<Item = (JobSegment, Nanos)> + '_ {
        JobSegment::ALL.into_iter().zip(self.0)
    }

    /// The sum of all segments: the time from the due time to the end of the job.
    pub fn total(&self) -> Nanos {
        self.0.into_iter().sum()
    }
}
