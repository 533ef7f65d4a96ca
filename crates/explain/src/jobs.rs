//! The jobs of periodic threads: when each was due, when it was done, and where its time went.
//!
//! A *job* is one period's work of a thread. It runs from *due* to *done*:
//!
//! - **Due** is the time for which the thread's own timer was armed (its soft expiry). If the
//!   thread is regularly woken by another thread or by an interrupt instead, no event contains the
//!   due time. Then due times are a grid: each is a whole number of periods after the earliest
//!   wakeup, relative to the grid, among the last [`GRID`] jobs.
//! - **Done** is the time at which the thread goes to sleep until its next due time. A sleep that
//!   something else ends, such as a lock or a page fault, is a part of the job; so is a sleep until
//!   a timer that is due less than nine tenths of a period after the job.
//!
//! A program may mark its jobs itself, by lines to `trace_marker` of tracefs:
//! `tactus: job begin NAME` and `tactus: job end NAME`. A job with a mark of its end is done then.
//! Marks of beginnings are used like regular wakeups, if the thread has no regular timer.
//!
//! A program that knows its jobs better reports them ([`ReportedJob`]): when each was due and done,
//! e.g. the frames of a player.
//!
//! The exit of the thread ends its last job, unless the thread had gone to sleep until the next due
//! time. Of a thread without a timer of its own, any sleep counts as that: no lateness is invented
//! for a thread that rests. A job that is late and not done when the recording ends is *unfinished*.
//!
//! A job is *late* if it is done later than its deadline after it was due. A due time for which
//! the thread began no job is *missed*.
//!
//! Which source gives a thread its due times, and the period, follow from the spacings: see
//! [`Period::find`]. In a recording, a [`JobFinder`] finds them first and a [`JobExplainer`]
//! explains the jobs in a second walk; while events come in, a [`JobExplainer`] learns them from
//! each thread's first due times.

mod cpu_time;
mod explainer;
mod finder;
mod grid;
mod ledger;
mod period;
mod reported;
mod segments;
mod thread;
mod turn;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{Dictionary, EventSource, Item, Priority, SourceError, ThreadId};
use tactus_model::result::Histogram;
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::cause::Culprit;
use crate::explanation::{Explanation, Part};
use crate::thread_time::{BlockedStretch, Ender, Sleep};

pub use cpu_time::CpuTime;
pub use explainer::{JobExplainer, LEARNED};
pub use finder::{JobFinder, Schedules};
pub use grid::GRID;
pub use period::{FIT_MIN, NoPeriod, Period, SPACINGS_MIN};
pub use reported::ReportedJob;
pub use segments::{JobSegment, JobSegments};

/// Which jobs are late, and how many to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobOptions {
    /// The period of the threads; if `None`, each thread's own is found.
    pub period: Option<Nanos>,
    /// The time from due to done above which a job is late; if `None`, the period.
    pub deadline: Option<Nanos>,
    /// How many of the slowest jobs of a thread to keep.
    pub slowest: usize,
    /// How many of those to keep with a timeline.
    pub timelines: usize,
}

/// The jobs of the threads of a recording.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    /// The periodic threads, sorted by the total time of their late jobs, the greatest first.
    pub threads: Vec<JobExplanation>,
    /// The other threads, by thread id.
    pub aperiodic: Vec<Aperiodic>,
    /// The names of threads that the caller did not ask for, in alphabetical order.
    pub others: Vec<String>,
}

/// A thread whose due times are not regular.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aperiodic {
    /// The thread.
    pub thread: ThreadId,
    /// Its last name.
    pub name: String,
    /// Why it has no period.
    #[serde(flatten)]
    pub reason: NoPeriod,
}

/// What gives a thread its due times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum DueBy {
    /// Its own timer.
    Timer,
    /// Its own marks.
    Mark,
    /// The reports of its program.
    Report,
    /// A thread that wakes it regularly.
    Thread {
        /// That thread.
        thread: Culprit,
    },
    /// An interrupt or a softirq that wakes it regularly.
    Interrupt {
        /// Its name.
        name: String,
    },
}

/// The durations of one segment over all jobs of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSegmentHistogram {
    /// The segment.
    pub segment: JobSegment,
    /// Its durations.
    pub histogram: Histogram,
}

/// The jobs of one thread, and why some were late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobExplanation {
    /// The thread.
    pub thread: ThreadId,
    /// Its last name.
    pub name: String,
    /// The name of its process; its own name if the process is unknown.
    #[serde(default)]
    pub process: String,
    /// Its highest priority.
    pub priority: Priority,
    /// What gives it its due times.
    pub due: DueBy,
    /// Its period.
    pub period: Period,
    /// The time from due to done above which a job is late.
    pub deadline: Nanos,
    /// The number of due times for which the thread began no job.
    pub missed: u64,
    /// The number of jobs not counted because events were lost.
    pub void: u64,
    /// The times from due to done of all jobs.
    pub lengths: Histogram,
    /// The late job that was cut short; `None` if its last job was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutJob>,
    /// The sum of each segment, over the late jobs.
    pub late_time: JobSegments,
    /// The time in which at least one late job was due and not done. The sum over late jobs counts
    /// the time of jobs that overlap again, for each of them.
    pub late_once: Nanos,
    /// The sleeps within the late jobs, the greatest time first; a sleep within several counts
    /// once.
    pub blocked: Vec<BlockedRow>,
    /// The duration of each segment, over all jobs.
    pub segments: Vec<JobSegmentHistogram>,
    /// The causes of the late jobs. Its threshold is the deadline; its samples run from due to
    /// done.
    pub explanation: Explanation,
}

impl JobExplanation {
    /// The number of late jobs.
    pub fn late(&self) -> u64 {
        self.explanation.pareto.samples + self.explanation.pareto.undivided
    }

    /// The same without its worst jobs.
    #[must_use]
    pub fn without_worst(&self) -> Self {
        let mut figures = self.clone();
        figures.explanation.worst = Vec::new();
        figures
    }
}

/// Where the time of a late job went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDivision {
    /// Its segments. They add up to the time from due to done.
    pub segments: JobSegments,
    /// Its longest sleep, if it slept.
    pub blocked: Option<Blocked>,
    /// How it ended.
    #[serde(default)]
    pub end: JobEnd,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobEnd {
    /// The thread went to sleep until its next due time, or marked the end.
    #[default]
    Done,
    /// The thread exited.
    Exit,
    /// It did not end: the recording did. Its time is the least that it took.
    Unfinished,
}

/// A late job that the exit of the thread or the end of the recording cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutJob {
    /// Its index among the jobs of the thread, from 0.
    pub index: u64,
    /// What cut it short.
    pub end: JobEnd,
    /// The time from its due time to that.
    pub length: Nanos,
}

/// A sleep within a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// What it was for.
    #[serde(flatten)]
    pub sleep: Sleep,
    /// How long it was, and what had to happen first.
    #[serde(flatten)]
    pub stretch: BlockedStretch,
}

/// The sleeps within late jobs that had the same reason and were ended by the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedRow {
    /// The reason.
    #[serde(flatten)]
    pub sleep: Sleep,
    /// What ended them; threads with one name are combined.
    pub ender: Ender,
    /// How many.
    pub count: u64,
    /// Their time.
    pub time: Nanos,
}

/// A late job, as soon as its causes are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LateJob {
    /// The thread.
    pub thread: ThreadId,
    /// Its name.
    pub name: String,
    /// Its priority.
    pub priority: Priority,
    /// When the job was due.
    pub due: Instant<Monotonic>,
    /// When it was done.
    pub done: Instant<Monotonic>,
    /// The time from due to done above which it is late.
    pub deadline: Nanos,
    /// Where its time went.
    pub division: JobDivision,
    /// Its causes, the greatest first.
    pub parts: Vec<Part>,
}

/// A job that is done, late or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoneJob {
    /// The thread.
    pub thread: ThreadId,
    /// When the job was due.
    pub due: Instant<Monotonic>,
    /// When it was done.
    pub done: Instant<Monotonic>,
    /// The number of due times before it, since the previous job, for which the thread began no
    /// job.
    pub missed: u64,
    /// The CPU time that the thread used for it.
    pub used: CpuTime,
}

impl DoneJob {
    /// The time from due to done.
    pub fn response(&self) -> Nanos {
        self.done - self.due
    }
}

/// Finds the periodic threads among those that the caller asks for, and explains their late jobs.
/// `wanted` gets a thread id and a name and returns whether to include the thread. Both sources
/// read the same recording from its beginning.
///
/// A job across a loss of events is not counted. A job that the exit of its thread ends is counted;
/// one that the end of the recording cuts short only if it is late already.
///
/// # Errors
/// The errors of the sources.
pub fn jobs(
    first: &mut dyn EventSource,
    second: &mut dyn EventSource,
    options: JobOptions,
    wanted: impl Fn(ThreadId, &str) -> bool,
) -> Result<Jobs, SourceError> {
    let mut finder = JobFinder::new(first.about());
    walk(first, |item, names| match item {
        Item::Event(event) => finder.event(&event, names),
        Item::Lost(lost) => finder.lost(&lost),
    })?;
    let schedules = finder.finish(options.period);
    let mut explainer = JobExplainer::new(second.about(), options, schedules);
    walk(second, |item, names| match item {
        Item::Event(event) => {
            explainer.event(&event, names, |thread, name, _| wanted(thread, name));
        }
        Item::Lost(lost) => explainer.lost(&lost),
    })?;
    Ok(explainer.finish(second.dictionary()))
}

fn walk(
    source: &mut dyn EventSource,
    mut take: impl FnMut(Item, &Dictionary),
) -> Result<(), SourceError> {
    while let Some(item) = source.next_item()? {
        take(item, source.dictionary());
    }
    Ok(())
}
