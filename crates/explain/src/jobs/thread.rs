//! A periodic thread: its jobs, one after the other.

use tactus_model::recording::{Dictionary, NameId, Priority, ProcessId, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::cpu_time::CpuTime;
use super::finder::Schedule;
use super::grid::Grid;
use super::ledger::Ledger;
use super::reported::ReportedJob;
use super::segments::{JobSegment, JobSegments};
use super::turn::{Source, Turn};
use super::{CutJob, DoneJob, DueBy, JobEnd, JobExplanation, JobOptions, JobSegmentHistogram};
use crate::blame;
use crate::lengths::Lengths;
use crate::machine::{Absence, Armed, Machine};
use crate::outcome::MatchOutcome;
use crate::tally::Tally;
use crate::task::Options;

/// How many absences of a thread are kept within one job; time of earlier ones counts as an
/// unexplained gap.
const ABSENCES_MAX: usize = 1 << 12;

/// A periodic thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) name: NameId,
    pub(super) priority: Priority,
    schedule: Schedule,
    pub(super) deadline: Nanos,
    grid: Grid,
    /// The job that is not done.
    pub(super) job: Option<Job>,
    /// The last time at which the thread itself marked the end of a job, and what it had used.
    pub(super) ended: Option<(Instant<Monotonic>, CpuTime)>,
    /// Its absences since that job was due and the one before it was done.
    absences: Vec<Absence>,
    /// When it last went to sleep, if that may have been until its next job and nothing has shown
    /// otherwise.
    rested: Option<Instant<Monotonic>>,
    cut: Option<CutJob>,
    /// When the job was done that its program reported last.
    reported: Option<Instant<Monotonic>>,
    /// The CPU to which it came last.
    cpu: Option<u32>,
    jobs: u64,
    missed: u64,
    void: u64,
    lengths: Lengths,
    segments: [Lengths; 5],
    pub(super) late_time: JobSegments,
    pub(super) ledger: Ledger,
    pub(super) tally: Tally,
}

/// A job that is not done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) due: Instant<Monotonic>,
    /// When the thread was done with the previous job.
    pub(super) free: Instant<Monotonic>,
    pub(super) started: Instant<Monotonic>,
    pub(super) outcome: MatchOutcome,
    /// The number of due times just before it for which there is no job.
    pub(super) missed: u64,
    /// What the thread had used when it began.
    pub(super) used_before: CpuTime,
}

/// A late job that is not divided among causes yet.
#[derive(Debug)]
pub(super) struct OpenJob {
    pub(super) thread: ThreadId,
    pub(super) job: Job,
    pub(super) done: Instant<Monotonic>,
    pub(super) end: JobEnd,
    /// Its index among the jobs of its thread.
    pub(super) index: u64,
    pub(super) segments: JobSegments,
    pub(super) absences: Vec<Absence>,
    pub(super) cpu: Option<u32>,
}

impl Thread {
    pub(super) fn new(
        name: NameId,
        priority: Priority,
        schedule: Schedule,
        options: JobOptions,
    ) -> Self {
        let deadline = options.deadline.unwrap_or(schedule.period.length);
        let JobOptions { slowest, timelines, .. } = options;
        Self {
            name,
            priority,
            schedule,
            deadline,
            grid: Grid::default(),
            job: None,
            ended: None,
            absences: Vec::new(),
            rested: None,
            cut: None,
            reported: None,
            cpu: None,
            jobs: 0,
            missed: 0,
            void: 0,
            lengths: Lengths::default(),
            segments: Default::default(),
            late_time: JobSegments::default(),
            ledger: Ledger::default(),
            tally: Tally::new(Options { threshold: deadline, slowest, timelines }),
        }
    }

    /// Takes a turn of a thread that has `used` so much; returns the job that it ends, twice if
    /// that was late.
    pub(super) fn turn(
        &mut self,
        turn: &Turn,
        used: CpuTime,
    ) -> Option<(DoneJob, Option<OpenJob>)> {
        if turn.source != self.schedule.source {
            return None;
        }
        let Some(job) = self.job else {
            let due = self.grid.first(turn.due);
            self.begin(turn, due, 0, used);
            return None;
        };
        if !self.is_next(&job, turn.due) {
            return None;
        }
        let spacing = turn.due - job.due;
        let period = &self.schedule.period;
        let (due, periods) = match self.schedule.source {
            // A due time off the grid begins a new one.
            Source::Timer | Source::RelativeTimer => (turn.due, period.whole(spacing).unwrap_or(1)),
            Source::Thread(_) | Source::Interrupt(_) | Source::Mark | Source::Report => {
                self.grid.next(turn.due, period)
            }
        };
        self.missed += periods - 1;
        let (left, used_then) = self.marked_end(&job).unwrap_or((turn.left, used));
        let late = self.end(turn.thread, job, left, JobEnd::Done);
        let done = DoneJob {
            thread: turn.thread,
            due: job.due,
            done: left.max(job.due),
            missed: job.missed,
            used: used_then.since(&job.used_before),
        };
        self.begin(turn, due, periods - 1, used);
        Some((done, late))
    }

    fn begin(&mut self, turn: &Turn, due: Instant<Monotonic>, missed: u64, used: CpuTime) {
        let started = turn.sleep.map_or(turn.left, |sleep| sleep.back_at);
        let free = match turn.source {
            // What it did before the mark is not known to belong to the previous job.
            Source::Mark | Source::Report => due,
            Source::Timer | Source::RelativeTimer | Source::Thread(_) | Source::Interrupt(_) => {
                turn.left
            }
        };
        self.absences.retain(|absence| absence.back_at > due.max(free));
        let outcome = turn.outcome();
        self.job = Some(Job { due, free, started, outcome, missed, used_before: used });
    }

    /// Whether a job that is due then comes after `job`.
    fn is_next(&self, job: &Job, due: Instant<Monotonic>) -> bool {
        let period = &self.schedule.period;
        (due - job.due) + period.tolerance() >= period.length
    }

    /// When the thread itself marked the end of the job, if it did.
    fn marked_end(&mut self, job: &Job) -> Option<(Instant<Monotonic>, CpuTime)> {
        self.ended.take().filter(|(ended, _)| *ended > job.due)
    }

    fn end(
        &mut self,
        thread: ThreadId,
        job: Job,
        left: Instant<Monotonic>,
        end: JobEnd,
    ) -> Option<OpenJob> {
        let done = left.max(job.due);
        let Job { due, free, started, outcome, .. } = job;
        let segments = JobSegments::between(due, free, started, done, &self.absences);
        for (segment, length) in segments.iter() {
            self.segments[segment as usize].record(length);
        }
        self.lengths.record(done - due);
        self.tally.count(outcome);
        let index = self.jobs;
        self.jobs += 1;
        let is_late = done - due > self.deadline;
        if is_late && end != JobEnd::Done {
            self.cut = Some(CutJob { index, end, length: done - due });
        }
        is_late.then(|| {
            let (absences, cpu) = (self.absences.clone(), self.cpu);
            OpenJob { thread, job, done, end, index, segments, absences, cpu }
        })
    }

    /// Takes the exit of the thread; returns the job that it ends, if that was late.
    pub(super) fn exit(&mut self, thread: ThreadId, at: Instant<Monotonic>) -> Option<OpenJob> {
        let job = self.job.take()?;
        let (left, end) = match self.known_end(&job) {
            Some(left) => (left, JobEnd::Done),
            None => (at, JobEnd::Exit),
        };
        self.end(thread, job, left, end)
    }

    /// Takes the end of the recording; returns the job that the thread has not done, if that is
    /// late already. Others are not counted.
    pub(super) fn stop(&mut self, thread: ThreadId, machine: &Machine) -> Option<OpenJob> {
        let job = self.job.take()?;
        if let Some(absence) = machine.absence_of(thread) {
            self.absences.push(*absence);
            let mut timers = machine.timers_of(thread);
            let rests = match self.schedule.source {
                Source::Timer | Source::RelativeTimer => {
                    timers.any(|armed| self.is_until_next(&job, armed))
                }
                Source::Thread(_) | Source::Interrupt(_) | Source::Mark | Source::Report => true,
            };
            self.rested = (absence.slept() && rests).then_some(absence.left_at);
        }
        let (left, end) = match self.known_end(&job) {
            Some(left) => (left, JobEnd::Done),
            None => (machine.now(), JobEnd::Unfinished),
        };
        (left.max(job.due) - job.due > self.deadline)
            .then(|| self.end(thread, job, left, end))
            .flatten()
    }

    /// When a job was done without another one after it, as far as that is known.
    fn known_end(&mut self, job: &Job) -> Option<Instant<Monotonic>> {
        let marked = self.marked_end(job).map(|(ended, _)| ended);
        marked.or(self.rested.filter(|rested| *rested > job.free))
    }

    /// Whether a sleep until this timer is one until the job after `job`, or even longer.
    fn is_until_next(&self, job: &Job, armed: &Armed) -> bool {
        self.is_next(job, Instant::from_nanos(armed.soft_expires.as_nanos()))
    }

    /// Takes a timer that the thread cancelled: something else, such as a signal, has ended its
    /// sleep.
    pub(super) fn give_up(&mut self, armed: &Armed) {
        if let Some(job) = self.job
            && self.is_until_next(&job, armed)
        {
            let slept = self.absences.iter().rev().find(|absence| absence.slept());
            self.rested = slept.map(|absence| absence.left_at).filter(|left| *left >= armed.at);
        }
    }

    pub(super) fn come_back(&mut self, absence: Absence) {
        self.cpu = Some(absence.back_cpu);
        if absence.slept() {
            self.rested = match self.schedule.source {
                // Until a timer is cancelled, nothing shows that it was one of these sleeps.
                Source::Timer | Source::RelativeTimer => None,
                // A thread that is woken may rest wherever it sleeps.
                Source::Thread(_) | Source::Interrupt(_) | Source::Mark | Source::Report => {
                    Some(absence.left_at)
                }
            };
        }
        if self.absences.len() >= ABSENCES_MAX {
            self.absences.drain(..ABSENCES_MAX / 2);
        }
        self.absences.push(absence);
    }

    /// Takes a job that its program reports, with the absences of the thread since it was due;
    /// returns it if it was late.
    pub(super) fn report(
        &mut self,
        reported: &ReportedJob,
        absences: Vec<Absence>,
    ) -> Option<OpenJob> {
        let &ReportedJob { thread, due, done, .. } = reported;
        let free = self.reported.map_or(due, |before| before.max(due));
        self.reported = Some(done);
        self.absences = absences;
        let (outcome, used_before) = (MatchOutcome::Marked, CpuTime::default());
        let job = Job { due, free, started: free, outcome, missed: 0, used_before };
        self.end(thread, job, done, JobEnd::Done)
    }

    /// Does not count a job, because events were lost meanwhile or have not come.
    pub(super) fn leave_out(&mut self) {
        self.void += 1;
    }

    pub(super) fn lose(&mut self) {
        self.void += u64::from(self.job.take().is_some());
        self.absences.clear();
        self.cpu = None;
    }

    pub(super) fn finish(
        self,
        thread: ThreadId,
        machine: &Machine,
        names: &Dictionary,
    ) -> JobExplanation {
        let name = names.name(self.name).to_owned();
        let process = names.process_of(thread);
        let process_name = blame::culprit(thread, process, machine, names).process;
        let segments = JobSegment::ALL.into_iter().zip(&self.segments);
        let segments = segments.map(|(segment, lengths)| JobSegmentHistogram {
            segment,
            histogram: lengths.to_record(),
        });
        let mut explanation = self.tally.finish(Vec::new());
        explanation.throttled = machine.throttled(&[thread], names);
        JobExplanation {
            thread,
            process: process_name.unwrap_or_else(|| name.clone()),
            name,
            priority: self.priority,
            due: due_by(self.schedule.source, process, machine, names),
            period: self.schedule.period,
            deadline: self.deadline,
            missed: self.missed,
            void: self.void,
            lengths: self.lengths.to_record(),
            cut: self.cut,
            late_time: self.late_time,
            late_once: self.ledger.once(),
            blocked: self.ledger.blocked(),
            segments: segments.collect(),
            explanation,
        }
    }
}

fn due_by(source: Source, late: Option<ProcessId>, machine: &Machine, names: &Dictionary) -> DueBy {
    match source {
        Source::Timer | Source::RelativeTimer => DueBy::Timer,
        Source::Mark => DueBy::Mark,
        Source::Report => DueBy::Report,
        Source::Thread(thread) => {
            DueBy::Thread { thread: blame::culprit(thread, late, machine, names) }
        }
        Source::Interrupt(activity) => {
            DueBy::Interrupt { name: blame::interrupt_name(activity, names) }
        }
    }
}
