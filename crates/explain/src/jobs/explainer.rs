//! Divides the jobs of periodic threads into segments, and late ones among causes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tactus_model::recording::{
    About, Dictionary, Event, EventKind, Lost, NameId, Priority, ThreadId,
};
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::cpu_time::{CpuTime, CpuTimes};
use super::finder::{Rhythms, Schedule, Schedules};
use super::ledger::Course;
use super::reported::{REPORTED_WITHIN, ReportedJob, Reports};
use super::thread::{Job, OpenJob, Thread};
use super::turn::{Heard, JobMark, Turn};
use super::{Aperiodic, DoneJob, JobDivision, JobExplanation, JobOptions, Jobs, LateJob};
use crate::blame::Scene;
use crate::circumstance::Circumstance;
use crate::explainer::AFTERMATH;
use crate::explanation::ExplainedSample;
use crate::log::Log;
use crate::machine::Machine;
use crate::number_map::NumberMap;
use crate::thread_time::absences;
use crate::timeline::{Moment, draw, marks};

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

/// The longest time from now back to the due time of an open job for which events are kept. What
/// a thread did earlier, the ledger of its late jobs has divided already; a thread with a longer
/// period sleeps most of the time.
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
    /// The jobs that programs reported, if they do.
    reports: Option<Reports>,
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
            reports: None,
        }
    }

    /// Makes an explainer that learns the period of each thread from its first [`LEARNED`]
    /// spacings, and that keeps late jobs for [`Self::take_late`].
    pub fn learning(about: &About, options: JobOptions) -> Self {
        let (learning, late) = (Some(Rhythms::default()), Some(Vec::new()));
        Self { learning, late, ..Self::new(about, options, Schedules::default()) }
    }

    /// Makes an explainer of jobs that programs [report](Self::report), which keeps late jobs for
    /// [`Self::take_late`].
    pub fn reported(about: &About, options: JobOptions) -> Self {
        let (reports, late) = (Some(Reports::default()), Some(Vec::new()));
        Self { reports, late, ..Self::new(about, options, Schedules::default()) }
    }

    /// Takes a job that its program reports. The jobs of a thread come in the order in which it does
    /// them, before or after their events, at most ten seconds after they were due.
    pub fn report(&mut self, job: ReportedJob, names: &Dictionary) {
        let first = self.reports.as_mut().and_then(|reports| reports.add(job));
        if let Some(first) = first {
            self.reporting(&first, names).leave_out();
        }
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
        while let Some(job) = self.reports.as_mut().and_then(|reports| reports.next(event.at)) {
            self.take_report(&job, names);
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
        if let Some(armed) = heard.cancelled
            && armed.by == event.thread
            && let Some(thread) = self.threads.get_mut(&event.thread.0)
        {
            thread.give_up(&armed);
        }
        if let EventKind::Exit { thread: number } = event.kind
            && let Some(thread) = self.threads.get_mut(&number.0)
        {
            self.open.extend(thread.exit(number, event.at));
        }
        if self.log.has_enough() {
            self.forget(names);
        }
    }

    /// Takes a loss of events.
    pub fn lost(&mut self, lost: &Lost) {
        self.machine.lose(lost, &mut self.log);
        self.threads.values_mut().for_each(Thread::lose);
        self.learning.iter_mut().for_each(Rhythms::lose);
        self.reports.iter_mut().for_each(|reports| reports.lose(*lost));
    }

    /// The late jobs whose causes were found since the last call.
    pub fn take_late(&mut self) -> Vec<LateJob> {
        self.late.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The jobs that were done since the last call.
    pub fn take_done(&mut self) -> Vec<DoneJob> {
        self.done.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Divides the late jobs that are still open, those included that are late already and not
    /// done, and returns the result.
    pub fn finish(mut self, names: &Dictionary) -> Jobs {
        while let Some(job) =
            self.reports.as_mut().and_then(|reports| reports.next(self.machine.now()))
        {
            self.take_report(&job, names);
        }
        for job in self.reports.as_mut().map(Reports::rest).unwrap_or_default() {
            self.reporting(&job, names).leave_out();
        }
        for (number, thread) in &mut self.threads {
            self.open.extend(thread.stop(ThreadId(*number), &self.machine));
        }
        while !self.open.is_empty() {
            self.divide_next(names);
        }
        self.draw_before(self.machine.now(), names);
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

    /// The thread of a reported job.
    fn reporting(&mut self, job: &ReportedJob, names: &Dictionary) -> &mut Thread {
        let (name, priority) = self.machine.known(job.thread);
        let options = self.options;
        let new = || Thread::new(name, priority, job.schedule(), options);
        let thread = self.threads.entry(job.thread.0).or_insert_with(new);
        if names.name(name) != Dictionary::UNKNOWN_NAME {
            thread.name = name;
        }
        thread.priority = thread.priority.min(priority);
        thread
    }

    /// Takes a reported job whose events have come.
    fn take_report(&mut self, job: &ReportedJob, names: &Dictionary) {
        let is_void = self.reports.as_ref().is_some_and(|reports| reports.is_void(job));
        let is_recorded = job.due >= self.log.kept_from().max(self.started);
        if is_void || !is_recorded {
            return self.reporting(job, names).leave_out();
        }
        let late = names.process_of(job.thread);
        let scene = Scene { log: self.log.since(job.due), machine: &self.machine, names, late };
        let absences = absences(&scene, job.thread, job.due, job.done);
        let open = self.reporting(job, names).report(job, absences);
        self.open.extend(open);
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
        let OpenJob { job: Job { due, free, started, outcome, .. }, done, end, segments, .. } =
            open;
        let late = names.process_of(open.thread);
        let scene = Scene { log: self.log.since(due), machine: &self.machine, names, late };
        let (absences, cpu) = (&open.absences[..], open.cpu);
        let course = Course { thread: open.thread, due, free, started, done, absences, cpu };
        thread.ledger.take(&course, &scene);
        thread.late_time = thread.late_time.plus(&segments);
        let mut explained = ExplainedSample {
            task: 0,
            index: open.index,
            sample: Sample { due: due - self.started, came: done - self.started },
            outcome,
            segments: None,
            job: None,
            circumstance: Circumstance::default(),
            parts: Vec::new(),
            timeline: None,
        };
        if self.late.is_some() || thread.tally.would_keep(&explained) {
            explained.parts = thread.ledger.parts();
            let blocked = thread.ledger.longest_sleep(&scene, self.started);
            explained.job = Some(JobDivision { segments, blocked, end });
        } else {
            explained.parts = thread.ledger.named().parts();
        }
        if let Some(late) = &mut self.late
            && let Some(division) = &explained.job
        {
            late.push(LateJob {
                thread: open.thread,
                name: names.name(thread.name).to_owned(),
                priority: thread.priority,
                due,
                done,
                deadline: thread.deadline,
                division: division.clone(),
                parts: explained.parts.clone(),
            });
        }
        self.log.learn(open.thread, &explained.parts);
        thread.tally.take_named(explained, thread.ledger.named());
        if thread.tally.late_time() >= self.detailed_from {
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

    /// Leaves the late jobs that are still open undivided; they are counted, unless they are not
    /// done. For a reader that has no time for them.
    pub fn leave_open(&mut self) {
        self.threads.values_mut().for_each(|thread| thread.job = None);
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
    fn forget(&mut self, names: &Dictionary) {
        let now = self.machine.now();
        let earliest = now - LOOKBACK;
        let open = self.open.iter().map(|open| open.job.due);
        let current = self.threads.values().filter_map(|thread| Some(thread.job?.due));
        // A job that is reported later may have been due already.
        let reported = self.reports.as_ref().map(|_| now - REPORTED_WITHIN);
        let needed = open.chain(current).chain(reported).min().unwrap_or(now);
        let start = needed.min(self.machine.waiting_since()).max(earliest);
        self.draw_before(if self.log.is_almost_full() { now } else { start }, names);
        self.log.forget_before(start);
    }

    /// Draws the worst jobs, as far as they are known, that were due before `end`: only while their
    /// events are kept. In a growing backlog each job is worse than all before it, so drawing all
    /// that are the worst for a moment would take too long.
    fn draw_before(&mut self, end: Instant<Monotonic>, names: &Dictionary) {
        for number in &self.detailed {
            let Some(thread) = self.threads.get_mut(number) else { continue };
            let (log, machine, number) = (&self.log, &self.machine, ThreadId(*number));
            thread.tally.draw_before(end - self.started, |sample| {
                let (due, done) = (self.started + sample.due, self.started + sample.came);
                let late = names.process_of(number);
                let scene = Scene { log: log.since(due), machine, names, late };
                let absences = absences(&scene, number, due, done);
                let mut marks = marks(due, done, &absences, &[], &[]);
                // The end of a job is a switch to another thread.
                marks.retain(|mark| mark.moment != Moment::Came);
                (log.kept_from() <= due).then(|| draw(&scene, due, done, number, marks))
            });
        }
    }
}
