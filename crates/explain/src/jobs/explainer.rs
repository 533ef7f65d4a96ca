//! Divides the jobs of periodic threads into segments, and late ones among causes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tactus_model::recording::{About, Dictionary, Event, Lost, NameId, Priority, ThreadId};
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::cpu_time::{CpuTime, CpuTimes};
use super::division::{BlockedRows, Course};
use super::finder::{Rhythms, Schedule, Schedules};
use super::period::Period;
use super::segments::{JobSegment, JobSegments};
use super::turn::{Heard, JobMark, Source, Turn};
use super::{
    Aperiodic, DoneJob, DueBy, JobDivision, JobExplanation, JobOptions, JobSegmentHistogram, Jobs,
    LateJob,
};
use crate::blame::{self, Scene};
use crate::circumstance::Circumstance;
use crate::explainer::AFTERMATH;
use crate::explanation::ExplainedSample;
use crate::lengths::Lengths;
use crate::log::Log;
use crate::machine::{Absence, Machine};
use crate::number_map::NumberMap;
use crate::outcome::MatchOutcome;
use crate::tally::Tally;
use crate::task::Options;
use crate::timeline::{Moment, draw, marks};

/// The number of the last wakeups by which the due times of a regularly woken thread are
/// aligned.
pub const GRID: usize = 32;

/// The number of spacings from which a period is learned while events come in.
pub const LEARNED: usize = 16;

/// How many periodic threads are explained; later ones are left out.
const THREADS_MAX: usize = 1 << 12;

/// How many threads keep their worst jobs with timelines: those with the most late time. They are
/// more than anybody reads about, since their order changes while events come in.
const DETAILED: usize = 64;

/// How many of the worst jobs any other thread keeps, without timelines.
const UNDETAILED_WORST: usize = 3;

/// How many late jobs wait to be divided. Beyond it, the first is divided before steal time
/// in it would show.
const OPEN_MAX: usize = 1 << 14;

/// How many absences of a thread are kept within one job; time of earlier ones counts as an
/// unexplained gap.
const ABSENCES_MAX: usize = 1 << 12;

/// The longest time from now back to the beginning of an open job for which events are kept.
/// A thread with a longer period sleeps most of the time.
const LOOKBACK: Nanos = Nanos::from_secs(10);

/// Explains the jobs of periodic threads.
///
/// The caller passes events and losses in the order of time and then calls
/// [`Self::finish`]. Memory use grows with the number of periodic threads and with the number
/// of events in the longest open job, not with the number of all events or jobs.
#[derive(Debug)]
pub struct JobExplainer {
    machine: Machine,
    log: Log,
    started: Instant<Monotonic>,
    options: JobOptions,
    schedules: Schedules,
    /// The spacings of threads whose periods are not known yet; `None` if no more are learned.
    learning: Option<Rhythms>,
    threads: NumberMap<i32, Thread>,
    /// The threads that may have timelines: up to twice [`DETAILED`].
    detailed: BTreeSet<i32>,
    /// The late time from which on a thread may have timelines.
    detailed_from: Nanos,
    /// The threads asked for that have no schedule yet, with their names.
    unscheduled: BTreeMap<ThreadId, NameId>,
    others: BTreeSet<NameId>,
    /// Late jobs, in the order of their ends, that are divided among causes as soon as steal
    /// time would show.
    open: VecDeque<OpenJob>,
    /// The last late jobs that were divided, if the caller follows them.
    late: Option<Vec<LateJob>>,
    /// The last jobs that are done, if the caller follows them.
    done: Option<Vec<DoneJob>>,
    /// What the periodic threads have used.
    used: CpuTimes,
}

/// A periodic thread.
#[derive(Debug)]
struct Thread {
    name: NameId,
    priority: Priority,
    schedule: Schedule,
    deadline: Nanos,
    grid: Grid,
    /// The job that is not done.
    job: Option<Job>,
    /// The last time at which the thread itself marked the end of a job, and what it had used.
    ended: Option<(Instant<Monotonic>, CpuTime)>,
    /// Its absences since that job was due.
    absences: Vec<Absence>,
    /// The CPU to which it came last.
    cpu: Option<u32>,
    jobs: u64,
    missed: u64,
    void: u64,
    lengths: Lengths,
    segments: [Lengths; 5],
    late_time: JobSegments,
    blocked: BlockedRows,
    tally: Tally,
}

/// A job that is not done.
#[derive(Clone, Copy, Debug)]
struct Job {
    due: Instant<Monotonic>,
    /// When the thread was done with the previous job.
    free: Instant<Monotonic>,
    started: Instant<Monotonic>,
    outcome: MatchOutcome,
    /// The number of due times just before it for which there is no job.
    missed: u64,
    /// What the thread had used when it began.
    used_before: CpuTime,
}

/// A late job that is not divided among causes yet.
#[derive(Debug)]
struct OpenJob {
    thread: ThreadId,
    job: Job,
    done: Instant<Monotonic>,
    /// Its index among the jobs of its thread.
    index: u64,
    segments: JobSegments,
    absences: Vec<Absence>,
    cpu: Option<u32>,
}

impl JobExplainer {
    /// Makes an explainer for a recording described by `about`, with the periods that a
    /// [`JobFinder`](super::JobFinder) found in it.
    pub fn new(about: &About, options: JobOptions, schedules: Schedules) -> Self {
        // Whether a job is late is known only when it is done.
        let log = Log::opened(about);
        Self {
            machine: Machine::new(about),
            log,
            started: about.started,
            options,
            schedules,
            learning: None,
            threads: NumberMap::default(),
            detailed: BTreeSet::new(),
            detailed_from: Nanos::ZERO,
            unscheduled: BTreeMap::new(),
            others: BTreeSet::new(),
            open: VecDeque::new(),
            late: None,
            done: None,
            used: CpuTimes::default(),
        }
    }

    /// Makes an explainer that learns the period of each thread from its first [`LEARNED`]
    /// spacings, and that keeps late jobs for [`Self::take_late`].
    pub fn learning(about: &About, options: JobOptions) -> Self {
        let (learning, late) = (Some(Rhythms::default()), Some(Vec::new()));
        Self { learning, late, ..Self::new(about, options, Schedules::default()) }
    }

    /// The same explainer, which also keeps every job for [`Self::take_done`].
    #[must_use]
    pub fn keeping_done(self) -> Self {
        Self { done: Some(Vec::new()), ..self }
    }

    /// Takes the next event. `wanted` gets a thread id, a name and a priority, and returns
    /// whether to include the thread.
    pub fn event(
        &mut self,
        event: &Event,
        names: &Dictionary,
        wanted: impl Fn(ThreadId, &str, Priority) -> bool,
    ) {
        while let Some(open) = self.open.front()
            && (open.done + AFTERMATH < event.at || self.open.len() >= OPEN_MAX)
        {
            self.divide_next(names);
        }
        let mut heard = Heard::default();
        let mut jobs = (&mut heard, &mut self.used);
        self.machine.step(event, &mut (&mut self.log, &mut jobs));
        if JobMark::of(event, names) == Some(JobMark::End)
            && let Some(thread) = self.threads.get_mut(&event.thread.0)
        {
            let used = self.used.up_to(event.thread, event, &self.machine);
            thread.ended = Some((event.at, used));
        }
        if let Some(turn) = heard.turn(event, &self.machine, names) {
            let used = self.used.up_to(turn.thread, event, &self.machine);
            self.take(&turn, used, names, wanted);
        }
        if let Some(absence) = heard.ended
            && let Some(thread) = self.threads.get_mut(&absence.thread.0)
        {
            thread.come_back(absence);
        }
        if self.log.has_enough() {
            self.forget();
        }
    }

    /// Takes a loss of events.
    pub fn lost(&mut self, lost: &Lost) {
        self.machine.lose(lost, &mut self.log);
        self.threads.values_mut().for_each(Thread::lose);
        self.learning.iter_mut().for_each(Rhythms::lose);
    }

    /// The late jobs whose causes were found since the last call.
    pub fn take_late(&mut self) -> Vec<LateJob> {
        self.late.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The jobs that were done since the last call.
    pub fn take_done(&mut self) -> Vec<DoneJob> {
        self.done.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Divides the late jobs that are still open, and returns the result.
    pub fn finish(mut self, names: &Dictionary) -> Jobs {
        while !self.open.is_empty() {
            self.divide_next(names);
        }
        let machine = &self.machine;
        let without = self.schedules.without.iter().map(|(thread, reason)| (*thread, *reason));
        let unlearned = self.learning.iter().flat_map(|rhythms| rhythms.without(self.options));
        let mut aperiodic: Vec<Aperiodic> = without
            .chain(unlearned)
            .filter_map(|(thread, reason)| {
                let name = names.name(*self.unscheduled.get(&thread)?).to_owned();
                Some(Aperiodic { thread, name, reason })
            })
            .collect();
        aperiodic.sort_by_key(|aperiodic| aperiodic.thread);
        let threads = self.threads.into_iter();
        let mut threads: Vec<JobExplanation> = threads
            .map(|(number, thread)| thread.finish(ThreadId(number), machine, names))
            .collect();
        threads.sort_by(|a, b| {
            let times = b.explanation.pareto.time.cmp(&a.explanation.pareto.time);
            times.then_with(|| a.thread.cmp(&b.thread))
        });
        let others: BTreeSet<&str> = self.others.iter().map(|name| names.name(*name)).collect();
        let others = others.into_iter().map(str::to_owned).collect();
        Jobs { threads, aperiodic, others }
    }

    fn take(
        &mut self,
        turn: &Turn,
        used: CpuTime,
        names: &Dictionary,
        wanted: impl Fn(ThreadId, &str, Priority) -> bool,
    ) {
        let number = turn.thread.0;
        let (name, priority) = self.machine.known(turn.thread);
        if !self.threads.contains_key(&number) {
            if !wanted(turn.thread, names.name(name), priority) {
                self.others.insert(name);
                return;
            }
            if self.threads.len() >= THREADS_MAX {
                return;
            }
            let Some(schedule) = self.schedule(turn) else {
                if name != NameId::UNKNOWN {
                    self.unscheduled.insert(turn.thread, name);
                }
                return;
            };
            self.unscheduled.remove(&turn.thread);
            self.threads.insert(number, Thread::new(name, priority, schedule, self.options));
            if self.done.is_some() {
                self.used.count(turn.thread);
            }
        }
        let Some(thread) = self.threads.get_mut(&number) else { return };
        thread.name = name;
        thread.priority = thread.priority.min(priority);
        let Some((done, late)) = thread.turn(turn, used) else { return };
        self.done.iter_mut().for_each(|jobs| jobs.push(done));
        self.open.extend(late);
    }

    /// The schedule of a thread, if it is known already.
    fn schedule(&mut self, turn: &Turn) -> Option<Schedule> {
        let Some(learning) = &mut self.learning else {
            return self.schedules.of.get(&turn.thread.0).copied();
        };
        let rhythm = learning.take(turn)?;
        let enough = match self.options.period {
            Some(_) => 1,
            None => LEARNED,
        };
        if rhythm.most_spacings() % enough != 0 {
            return None;
        }
        let schedule = rhythm.schedule(self.options.period).ok()?;
        learning.forget(turn.thread);
        Some(schedule)
    }

    /// Divides the late job that has been open longest among its causes.
    fn divide_next(&mut self, names: &Dictionary) {
        let Some(open) = self.open.pop_front() else { return };
        let Some(thread) = self.threads.get_mut(&open.thread.0) else { return };
        let OpenJob { job: Job { due, free, started, outcome, .. }, done, segments, .. } = open;
        let scene = Scene { log: self.log.since(due), machine: &self.machine, names };
        let (absences, cpu) = (&open.absences[..], open.cpu);
        let course = Course { thread: open.thread, due, free, started, done, absences, cpu };
        let (parts, stretches) = course.divide(&scene);
        let division = JobDivision::of(segments, &stretches, &scene, self.started);
        thread.late_time = thread.late_time.plus(&segments);
        thread.blocked.add(&stretches, &scene);
        let mut explained = ExplainedSample {
            task: 0,
            index: open.index,
            sample: Sample { due: due - self.started, came: done - self.started },
            outcome,
            segments: None,
            job: Some(division.clone()),
            circumstance: Circumstance::default(),
            parts,
            timeline: None,
        };
        let is_detailed = thread.tally.late_time() >= self.detailed_from;
        if is_detailed && thread.tally.would_draw(&explained) {
            let mut marks = marks(due, done, &open.absences, &[], &[]);
            // The end of a job is a switch to another thread.
            marks.retain(|mark| mark.moment != Moment::Came);
            explained.timeline = Some(draw(&scene, due, done, open.thread, marks));
        }
        if let Some(late) = &mut self.late {
            late.push(LateJob {
                thread: open.thread,
                name: names.name(thread.name).to_owned(),
                priority: thread.priority,
                due,
                done,
                deadline: thread.deadline,
                division,
                parts: explained.parts.clone(),
            });
        }
        self.log.learn(open.thread, &explained.parts);
        thread.tally.take(explained);
        if is_detailed {
            self.detailed.insert(open.thread.0);
        } else {
            thread.tally.shorten(UNDETAILED_WORST);
        }
        self.limit_details();
    }

    /// Takes the details from all but [`DETAILED`] threads, if twice as many have some: a timeline
    /// of a busy machine takes tens of kilobytes.
    fn limit_details(&mut self) {
        if self.detailed.len() <= 2 * DETAILED {
            return;
        }
        let late = |number: &i32| {
            self.threads.get(number).map_or(Nanos::ZERO, |thread| thread.tally.late_time())
        };
        let mut ranked: Vec<(Nanos, i32)> =
            self.detailed.iter().map(|number| (late(number), *number)).collect();
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        for (_, number) in ranked.split_off(DETAILED) {
            self.detailed.remove(&number);
            let thread = self.threads.get_mut(&number);
            thread.into_iter().for_each(|thread| thread.tally.shorten(UNDETAILED_WORST));
        }
        self.detailed_from = ranked.last().map_or(Nanos::ZERO, |(late, _)| *late);
    }

    /// Leaves the late jobs that are still open undivided; they are counted. For a reader that
    /// has no time for them.
    pub fn leave_open(&mut self) {
        for open in self.open.drain(..) {
            let thread = self.threads.get_mut(&open.thread.0);
            thread.into_iter().for_each(|thread| {
                let sample =
                    Sample { due: open.job.due - self.started, came: open.done - self.started };
                thread.tally.leave_unexplained(&sample);
            });
        }
    }

    /// Drops what happened before all jobs that are still open.
    fn forget(&mut self) {
        let now = self.machine.now();
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(LOOKBACK.as_nanos()));
        let open = self.open.iter().map(|open| open.job.due);
        let current = self.threads.values().filter_map(|thread| Some(thread.job?.due));
        let needed = open.chain(current).min().unwrap_or(now);
        self.log.forget_before(needed.min(self.machine.waiting_since()).max(earliest));
    }
}

impl Thread {
    fn new(name: NameId, priority: Priority, schedule: Schedule, options: JobOptions) -> Self {
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
            cpu: None,
            jobs: 0,
            missed: 0,
            void: 0,
            lengths: Lengths::default(),
            segments: Default::default(),
            late_time: JobSegments::default(),
            blocked: BlockedRows::default(),
            tally: Tally::new(Options { threshold: deadline, slowest, timelines }),
        }
    }

    /// Takes a turn of a thread that has `used` so much; returns the job that it ends, twice if
    /// that was late.
    fn turn(&mut self, turn: &Turn, used: CpuTime) -> Option<(DoneJob, Option<OpenJob>)> {
        if turn.source != self.schedule.source {
            return None;
        }
        let Some(job) = self.job else {
            let due = self.grid.first(turn.due);
            self.begin(turn, due, 0, used);
            return None;
        };
        let spacing = turn.due - job.due;
        let period = &self.schedule.period;
        if spacing + period.tolerance() < period.length {
            return None;
        }
        let (due, periods) = match self.schedule.source {
            // A due time off the grid begins a new one.
            Source::Timer | Source::RelativeTimer => (turn.due, period.whole(spacing).unwrap_or(1)),
            Source::Thread(_) | Source::Interrupt(_) | Source::Mark => {
                self.grid.next(turn.due, period)
            }
        };
        self.missed += periods - 1;
        let marked = self.ended.take().filter(|(ended, _)| *ended > job.due);
        let (left, used_then) = marked.unwrap_or((turn.left, used));
        let late = self.end(turn.thread, job, left);
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
        self.absences.retain(|absence| absence.back_at > due);
        let started = turn.sleep.map_or(turn.left, |sleep| sleep.back_at);
        let free = match turn.source {
            // What it did before the mark is not known to belong to the previous job.
            Source::Mark => due,
            Source::Timer | Source::RelativeTimer | Source::Thread(_) | Source::Interrupt(_) => {
                turn.left
            }
        };
        let outcome = turn.outcome();
        self.job = Some(Job { due, free, started, outcome, missed, used_before: used });
    }

    fn end(&mut self, thread: ThreadId, job: Job, left: Instant<Monotonic>) -> Option<OpenJob> {
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
        (done - due > self.deadline).then(|| {
            let (absences, cpu) = (self.absences.clone(), self.cpu);
            OpenJob { thread, job, done, index, segments, absences, cpu }
        })
    }

    fn come_back(&mut self, absence: Absence) {
        self.cpu = Some(absence.back_cpu);
        if self.absences.len() >= ABSENCES_MAX {
            self.absences.drain(..ABSENCES_MAX / 2);
        }
        self.absences.push(absence);
    }

    fn lose(&mut self) {
        self.void += u64::from(self.job.take().is_some());
        self.absences.clear();
        self.cpu = None;
    }

    fn finish(self, thread: ThreadId, machine: &Machine, names: &Dictionary) -> JobExplanation {
        let segments = JobSegment::ALL.into_iter().zip(&self.segments);
        let segments = segments.map(|(segment, lengths)| JobSegmentHistogram {
            segment,
            histogram: lengths.to_record(),
        });
        let mut explanation = self.tally.finish(Vec::new());
        explanation.throttled = machine.throttled(&[thread], names);
        JobExplanation {
            thread,
            name: names.name(self.name).to_owned(),
            priority: self.priority,
            due: due_by(self.schedule.source, machine, names),
            period: self.schedule.period,
            deadline: self.deadline,
            missed: self.missed,
            void: self.void,
            lengths: self.lengths.to_record(),
            late_time: self.late_time,
            blocked: self.blocked.finish(),
            segments: segments.collect(),
            explanation,
        }
    }
}

fn due_by(source: Source, machine: &Machine, names: &Dictionary) -> DueBy {
    match source {
        Source::Timer | Source::RelativeTimer => DueBy::Timer,
        Source::Mark => DueBy::Mark,
        Source::Thread(thread) => DueBy::Thread { thread: blame::culprit(thread, machine, names) },
        Source::Interrupt(activity) => {
            DueBy::Interrupt { name: blame::interrupt_name(activity, names) }
        }
    }
}

/// The due times of a regularly woken thread.
///
/// A wakeup may be late but not early. Each wakeup is compared with a whole number of periods
/// after the first; the earliest of the last [`GRID`] wakeups in this sense was on time. The
/// grid can so follow a slow drift between the waker's clock and ours.
#[derive(Debug, Default)]
struct Grid {
    origin: u64,
    periods: u64,
    /// How much later than the grid from `origin` each of the last wakeups was, in
    /// nanoseconds; negative if it was earlier.
    offsets: VecDeque<i64>,
    last_due: u64,
}

impl Grid {
    /// Begins the grid at a wakeup.
    fn first(&mut self, wakeup: Instant<Monotonic>) -> Instant<Monotonic> {
        let origin = wakeup.as_nanos();
        *self = Self { origin, periods: 0, offsets: VecDeque::from([0]), last_due: origin };
        wakeup
    }

    fn last_due(&self) -> Instant<Monotonic> {
        Instant::from_nanos(self.last_due)
    }

    /// The due time of a wakeup, and the number of periods since the last.
    fn next(&mut self, wakeup: Instant<Monotonic>, period: &Period) -> (Instant<Monotonic>, u64) {
        let length = period.length.as_nanos().max(1);
        let spacing = wakeup - self.last_due() + period.tolerance();
        let periods = (spacing.as_nanos() / length).max(1);
        self.periods += periods;
        let expected = self.origin.saturating_add(self.periods.saturating_mul(length));
        if self.offsets.len() >= GRID {
            self.offsets.pop_front();
        }
        self.offsets.push_back(wakeup.as_nanos().wrapping_sub(expected) as i64);
        let earliest = self.offsets.iter().copied().min().unwrap_or(0);
        self.last_due = expected.saturating_add_signed(earliest);
        (self.last_due(), periods)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: u64) -> Instant<Monotonic> {
        Instant::from_nanos(micros * 1000)
    }

    #[test]
    fn a_late_wakeup_does_not_move_the_grid_and_a_drift_does() {
        let period = Period::of_length(Nanos::from_millis(5), &[Nanos::from_millis(5); 16]);
        let mut grid = Grid::default();
        assert_eq!(grid.first(micros(1000)), micros(1000));
        assert_eq!(grid.next(micros(6000), &period), (micros(6000), 1));
        // 2 ms late, then 1 ms late after a due time without a wakeup.
        assert_eq!(grid.next(micros(13_000), &period), (micros(11_000), 1));
        assert_eq!(grid.next(micros(22_000), &period), (micros(21_000), 2));
        // The waker's clock is slower than ours by one part in a thousand.
        let (mut wakeup, mut late) = (26_000, Nanos::ZERO);
        for _ in 0..1000 {
            late = micros(wakeup) - grid.next(micros(wakeup), &period).0;
            wakeup += 5005;
        }
        assert!(late <= Nanos::from_micros(5 * GRID as u64), "{late}");
    }
}
