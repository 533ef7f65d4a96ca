//! Walks through a recording once and explains its samples.

use std::collections::BTreeMap;

use tactus_model::recording::{
    About, Dictionary, Event, EventSource, Item, Lost, SourceError, ThreadId,
};
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_stats::LatencyHistogram;

use crate::blame::{Scene, Window, blame, blame_received};
use crate::circumstance::{
    AtDue, Circumstance, Circumstances, Serving, ServingCount, Transfers, WitnessedSample,
};
use crate::explanation::{ExplainedSample, Explanation, SegmentHistogram};
use crate::log::Log;
use crate::machine::{Absence, Fault, Machine, Observer, TimerFire, Waking};
use crate::matcher::{Match, Matcher, keep};
use crate::outcome::MatchOutcome;
use crate::segments::Segment;
use crate::tally::Tally;
use crate::task::{Options, ProbeTask};
use crate::thread_time::running_on;
use crate::timeline::{draw, marks};

/// How long after a sample's arrival its window stays open: steal time shows only when
/// the thread is charged next, at a tick at the latest.
pub(crate) const AFTERMATH: Nanos = Nanos::from_millis(10);

/// How long after a sample's arrival the first event of its thread may come if the
/// sched_switch event is missing: that event comes when the thread goes to sleep again.
const HEARD_WITHIN: Nanos = Nanos::from_millis(10);

/// Explains the samples of some tasks from a recording.
///
/// # Errors
/// The errors of the source. Nothing is explained then, not even what the source gave
/// before the error.
pub fn explain(
    source: &mut dyn EventSource,
    tasks: Vec<ProbeTask>,
    options: Options,
) -> Result<Explanation, SourceError> {
    let explainer = Explainer::new(source.about(), tasks, options).witnessing(source.about(), None);
    Ok(explainer.replayed(source)?.finish(source.dictionary()))
}

/// Reports what happened while each sample of some tasks was open. The samples of a
/// task keep their order; samples outside the recorded time are left out.
///
/// # Errors
/// The errors of the source. Nothing is reported then, not even what the source gave
/// before the error.
pub fn witness(
    source: &mut dyn EventSource,
    tasks: Vec<ProbeTask>,
) -> Result<Vec<WitnessedSample>, SourceError> {
    // No sample has to be divided among causes.
    let options = Options { threshold: Nanos::MAX, slowest: 0, timelines: 0 };
    let explainer = Explainer::new(source.about(), tasks, options);
    let mut explainer = explainer.witnessing(source.about(), Some(Vec::new())).replayed(source)?;
    explainer.replay_is_over(source.dictionary());
    Ok(explainer.witness.map_or_else(Vec::new, Witness::finish))
}

/// Explains samples while events come in.
/// The caller passes events and losses in the order of time and then calls
/// [`Self::finish`]. The explainer keeps only the events in the windows of late
/// samples.
#[derive(Debug)]
pub struct Explainer {
    machine: Machine,
    log: Log,
    matchers: Matchers,
    tasks: Vec<Progress>,
    started: Instant<Monotonic>,
    /// Before this instant the explainer only has to replay events.
    next_stop: Instant<Monotonic>,
    /// Whether all events have been passed.
    is_over: bool,
    losses: Losses,
    segments: [LatencyHistogram; 6],
    tally: Tally,
    /// What happens while samples are open, if the caller asked for it.
    witness: Option<Witness>,
}

/// What happens while samples are open.
#[derive(Debug)]
struct Witness {
    transfers: Transfers,
    /// The state of each task.
    at_due: Vec<AtDue>,
    /// For each interrupt or softirq, how many samples came due while it was being
    /// served.
    serving: BTreeMap<Serving, u64>,
    /// If every sample is to be reported: the samples with their due times and arrivals.
    /// Transfers are filled in when the replay is over.
    every: Option<Vec<Open>>,
}

/// Losses of events, for look-ups by time.
#[derive(Debug, Default)]
struct Losses {
    /// When each loss began, ascending, and the latest end of all losses up to it.
    begun: Vec<(Instant<Monotonic>, Instant<Monotonic>)>,
}

impl Losses {
    /// Adds a loss; losses come nearly in the order in which they began.
    fn add(&mut self, lost: &Lost) {
        let place = self.begun.partition_point(|(from, _)| *from <= lost.from);
        let before = place.checked_sub(1).map_or(lost.to, |last| self.begun[last].1);
        self.begun.insert(place, (lost.from, lost.to.max(before)));
        for (_, to) in &mut self.begun[place..] {
            *to = lost.to.max(*to);
        }
    }

    /// Whether events of some instant between `due` and `came` were lost.
    fn any_between(&self, due: Instant<Monotonic>, came: Instant<Monotonic>) -> bool {
        let before = self.begun.partition_point(|(from, _)| *from < came);
        before.checked_sub(1).is_some_and(|last| self.begun[last].1 > due)
    }
}

/// A sample with its due time and its arrival.
type Open = (WitnessedSample, Instant<Monotonic>, Instant<Monotonic>);

impl Witness {
    /// Counts what happened while samples were open, and adds it to the slowest
    /// samples.
    fn fill(self, tasks: &[Progress], started: Instant<Monotonic>, into: &mut Explanation) {
        let busy = self.transfers.finish();
        let saw = |task: &ProbeTask, sample: usize| {
            Some(busy.as_ref()?.any_between(task.due(sample), task.came(sample)))
        };
        let (mut samples, mut seen) = (0, 0);
        for Progress { task, next, .. } in tasks {
            for sample in (0..*next).filter(|&sample| task.due(sample) >= started) {
                samples += 1;
                seen += u64::from(saw(task, sample) == Some(true));
            }
        }
        for worst in &mut into.worst {
            let task = tasks.iter().find(|progress| progress.task.task == worst.task);
            let place = usize::try_from(worst.index).ok();
            worst.circumstance.transfer = task
                .zip(place)
                .filter(|_| worst.outcome != MatchOutcome::Untraced)
                .and_then(|(progress, place)| saw(&progress.task, place));
        }
        let transfers = busy.as_ref().map(|_| seen);
        let serving =
            self.serving.into_iter().map(|(serving, count)| ServingCount { serving, count });
        into.circumstances = Circumstances::new(samples, transfers, serving.collect());
    }

    fn finish(self) -> Vec<WitnessedSample> {
        let (busy, samples) = (self.transfers.finish(), self.every.unwrap_or_default());
        let samples = samples.into_iter().map(|(mut sample, due, came)| {
            sample.circumstance.transfer = busy.as_ref().map(|busy| busy.any_between(due, came));
            sample
        });
        let mut witnessed: Vec<WitnessedSample> = samples.collect();
        witnessed.sort_by_key(|witnessed| (witnessed.task, witnessed.index));
        witnessed
    }
}

/// A task and how far it has been explained.
#[derive(Debug)]
struct Progress {
    task: ProbeTask,
    /// The next sample to match.
    next: usize,
    /// The samples to divide among causes, in order.
    late: Vec<usize>,
    /// How many of `late` have had their windows opened.
    opened: usize,
    open: Vec<OpenWindow>,
}

/// A late sample with an open window.
#[derive(Debug)]
struct OpenWindow {
    index: usize,
    due: Instant<Monotonic>,
    /// When to close the window; known once the sample has arrived.
    closes: Option<Instant<Monotonic>>,
    found: Option<Found>,
}

/// What was found when the sample arrived.
#[derive(Debug)]
struct Found {
    matched: Match,
    circumstance: Circumstance,
    absences: Vec<Absence>,
    faults: Vec<Instant<Monotonic>>,
    fires: Vec<TimerFire>,
    cpu: Option<u32>,
}

impl Explainer {
    /// Makes an explainer for a recording described by `about`.
    ///
    /// Tasks beyond 65 535 are not matched; no cell has that many.
    pub fn new(about: &About, tasks: Vec<ProbeTask>, options: Options) -> Self {
        let mut machine = Machine::new(about);
        let mut matchers = Matchers::default();
        let mut slowest = Slowest::of(&tasks, options.slowest);
        let mut progresses = Vec::with_capacity(tasks.len());
        for (index, task) in tasks.into_iter().enumerate().take(usize::from(u16::MAX)) {
            machine.watch(task.thread, index as u16);
            matchers.0.push(Matcher::default());
            let late = (0..task.samples.len())
                .filter(|&sample| {
                    let latency = task.samples[sample].latency();
                    // Both conditions are evaluated, because `takes` counts the slowest
                    // samples.
                    slowest.takes(latency) | (latency > options.threshold)
                })
                .collect();
            progresses.push(Progress { task, next: 0, late, opened: 0, open: Vec::new() });
        }
        let mut explainer = Self {
            machine,
            log: Log::default(),
            matchers,
            tasks: progresses,
            started: about.started,
            next_stop: Instant::from_nanos(0),
            is_over: false,
            losses: Losses::default(),
            segments: std::array::from_fn(|_| LatencyHistogram::new()),
            tally: Tally::new(options),
            witness: None,
        };
        explainer.plan_next_stop();
        explainer
    }

    /// Makes the explainer also report what happens while samples are open; for every
    /// sample if `every` is a list.
    fn witnessing(mut self, about: &About, every: Option<Vec<Open>>) -> Self {
        let at_due = vec![AtDue::default(); self.tasks.len()];
        let (transfers, serving) = (Transfers::new(about), BTreeMap::new());
        self.witness = Some(Witness { transfers, at_due, serving, every });
        self.plan_next_stop();
        self
    }

    fn replayed(mut self, source: &mut dyn EventSource) -> Result<Self, SourceError> {
        while let Some(item) = source.next_item()? {
            match item {
                Item::Event(event) => self.event(&event, source.dictionary()),
                Item::Lost(lost) => self.lost(&lost),
            }
        }
        Ok(self)
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event, names: &Dictionary) {
        if event.at > self.next_stop {
            self.stop(event.at, names);
        }
        if let Some(witness) = &mut self.witness {
            witness.transfers.step(event);
        }
        self.machine.step(event, &mut (&mut self.log, &mut self.matchers));
    }

    /// Takes a loss of events.
    pub fn lost(&mut self, lost: &Lost) {
        self.losses.add(lost);
        self.machine.lose(lost, &mut (&mut self.log, &mut self.matchers));
        if let Some(witness) = &mut self.witness {
            witness.transfers.lose();
        }
    }

    /// Explains the remaining samples and returns the result.
    pub fn finish(mut self, names: &Dictionary) -> Explanation {
        self.replay_is_over(names);
        for index in 0..self.tasks.len() {
            self.close_windows(index, Instant::from_nanos(u64::MAX), names);
            let progress = &self.tasks[index];
            let rest: Vec<usize> = (progress.next..progress.task.samples.len()).collect();
            for sample in rest {
                self.report_undivided(index, sample, MatchOutcome::Untraced);
            }
        }
        self.into_explanation()
    }

    /// Does all work that is due before the end, as if another event followed.
    fn replay_is_over(&mut self, names: &Dictionary) {
        let end = self.machine.now();
        self.is_over = true;
        self.stop(end + Nanos::from_nanos(1), names);
    }

    fn into_explanation(self) -> Explanation {
        let Self { tally, segments, witness, tasks, started, .. } = self;
        let segments = Segment::ALL.into_iter().zip(&segments);
        let segments = segments
            .map(|(segment, lengths)| SegmentHistogram { segment, histogram: lengths.to_record() });
        let mut explanation = tally.finish(segments.collect());
        if let Some(witness) = witness {
            witness.fill(&tasks, started, &mut explanation);
        }
        explanation
    }

    /// Does all work that is due before an event at `at`: matches samples that have
    /// arrived, opens and closes windows.
    fn stop(&mut self, at: Instant<Monotonic>, names: &Dictionary) {
        for index in 0..self.tasks.len() {
            self.pass_due_times(index, at);
            self.match_samples(index, at);
            self.close_windows(index, at, names);
            self.open_windows(index, at);
            // A window may open and its sample may arrive before the same event.
            self.match_samples(index, at);
        }
        let earliest =
            self.tasks.iter().flat_map(|progress| &progress.open).map(|window| window.due).min();
        match earliest {
            Some(due) => {
                self.log.open = true;
                if self.log.has_enough() {
                    self.log.forget_before(due);
                }
            }
            None => {
                self.log.open = false;
                self.log.clear();
            }
        }
        self.plan_next_stop();
    }

    fn plan_next_stop(&mut self) {
        let mut next = Instant::from_nanos(u64::MAX);
        for progress in &self.tasks {
            if progress.next < progress.task.samples.len() {
                next = next.min(progress.task.done(progress.next));
            }
            if let Some(&sample) = progress.late.get(progress.opened) {
                next = next.min(progress.task.due(sample));
            }
            for window in &progress.open {
                if let Some(closes) = window.closes {
                    next = next.min(closes);
                }
            }
        }
        if let Some(witness) = &self.witness {
            for (progress, at_due) in self.tasks.iter().zip(&witness.at_due) {
                if at_due.next() < progress.task.samples.len() {
                    next = next.min(progress.task.due(at_due.next()));
                }
            }
        }
        self.next_stop = next;
    }

    /// Notes what is being served at the due times that lie before `at`.
    fn pass_due_times(&mut self, index: usize, at: Instant<Monotonic>) {
        let Some(witness) = &mut self.witness else { return };
        let (task, at_due) = (&self.tasks[index].task, &mut witness.at_due[index]);
        while at_due.next() < task.samples.len() && task.due(at_due.next()) < at {
            at_due.pass(self.machine.cpus());
        }
    }

    /// Opens the windows of late samples that were due before `at`.
    fn open_windows(&mut self, index: usize, at: Instant<Monotonic>) {
        let progress = &mut self.tasks[index];
        while let Some(&sample) = progress.late.get(progress.opened) {
            let due = progress.task.due(sample);
            if due >= at {
                return;
            }
            progress.opened += 1;
            if sample >= progress.next {
                progress.open.push(OpenWindow { index: sample, due, closes: None, found: None });
            }
        }
    }

    /// Matches the samples with which their threads were done before `at`.
    fn match_samples(&mut self, index: usize, at: Instant<Monotonic>) {
        loop {
            let progress = &self.tasks[index];
            let sample = progress.next;
            if sample >= progress.task.samples.len() || progress.task.done(sample) >= at {
                return;
            }
            // The window is opened first, so that the sample can be kept.
            let due_late = progress.late.get(progress.opened) == Some(&sample);
            if due_late {
                return;
            }
            let done = progress.task.done(sample);
            let may_be_heard = !self.is_over && at <= done + HEARD_WITHIN;
            if may_be_heard && self.is_away(progress.task.thread, done) {
                return;
            }
            self.match_sample(index, sample);
            self.tasks[index].next += 1;
        }
    }

    /// Whether `thread` is known to have left its CPU before `came` and had no event
    /// since, although its sample arrived.
    fn is_away(&self, thread: ThreadId, came: Instant<Monotonic>) -> bool {
        self.machine.absence_of(thread).is_some_and(|absence| absence.left_at <= came)
    }

    fn match_sample(&mut self, index: usize, sample: usize) {
        let progress = &self.tasks[index];
        let (due, came) = (progress.task.due(sample), progress.task.came(sample));
        let done = progress.task.done(sample);
        if self.is_away(progress.task.thread, done) {
            // The sample arrived, so the thread runs; there is no event that shows when
            // it came.
            self.matchers.0[index].unaccounted = true;
        }
        let matcher = &self.matchers.0[index];
        let mut matched = if due < self.started {
            Match::without_segments(MatchOutcome::Untraced)
        } else if self.losses.any_between(due, done) {
            Match::without_segments(MatchOutcome::Void)
        } else {
            matcher.find(&progress.task, sample)
        };
        if let Some(segments) = &mut matched.segments {
            *segments = segments.received_after(came - done);
            for (histogram, (_, length)) in self.segments.iter_mut().zip(segments.iter()) {
                histogram.record(length);
            }
        }
        let mut circumstance = Circumstance::default();
        if let Some(witness) = &mut self.witness {
            circumstance.serving = witness.at_due[index].come(matched.cpu);
            if matched.outcome != MatchOutcome::Untraced {
                if let Some(serving) = circumstance.serving {
                    *witness.serving.entry(serving).or_default() += 1;
                }
                if let Some(every) = &mut witness.every {
                    let witnessed = WitnessedSample {
                        task: progress.task.task,
                        index: sample as u64,
                        sample: progress.task.samples[sample],
                        outcome: matched.outcome,
                        segments: matched.segments,
                        circumstance,
                    };
                    every.push((witnessed, due, came));
                }
            }
        }
        let progress = &mut self.tasks[index];
        if let Some(window) = progress.open.iter_mut().find(|window| window.index == sample) {
            window.closes = Some(came + AFTERMATH);
            window.found = Some(Found {
                matched,
                circumstance,
                absences: matcher.absences.clone(),
                faults: matcher.faults.clone(),
                fires: matcher.fires.clone(),
                cpu: matcher.cpu,
            });
        }
        self.tally.count(matched.outcome);
        self.matchers.0[index].clear();
    }

    /// Divides the windows that must be closed before `at`.
    fn close_windows(&mut self, index: usize, at: Instant<Monotonic>, names: &Dictionary) {
        loop {
            let open = &self.tasks[index].open;
            let Some(position) =
                open.iter().position(|window| window.closes.is_some_and(|closes| closes < at))
            else {
                return;
            };
            let window = self.tasks[index].open.remove(position);
            self.divide(index, window, names);
        }
    }

    fn divide(&mut self, index: usize, window: OpenWindow, names: &Dictionary) {
        let Some(found) = window.found else { return };
        let sample = window.index;
        let task = &self.tasks[index].task;
        let came = task.came(sample);
        let (task_number, thread) = (task.task, task.thread);
        let mut explained = ExplainedSample {
            task: task_number,
            index: sample as u64,
            sample: task.samples[sample],
            outcome: found.matched.outcome,
            segments: found.matched.segments,
            circumstance: found.circumstance,
            parts: Vec::new(),
            job: None,
            timeline: None,
        };
        let receiving = task.receiving(sample);
        if receiving.is_some_and(|(_, from)| self.losses.any_between(from, came)) {
            explained.outcome = MatchOutcome::Void;
        }
        if !explained.outcome.can_blame() {
            return self.tally.leave_undivided(explained);
        }
        let scene = Scene { log: self.log.whole(), machine: &self.machine, names, late: None };
        let material = Window {
            due: window.due,
            came: receiving.map_or(came, |(_, from)| from),
            absences: &found.absences,
            faults: &found.faults,
            cpu: found.cpu.or_else(|| running_on(&self.machine, thread)),
        };
        explained.parts = match receiving {
            Some((receiver, _)) => blame_received(&scene, &material, receiver, came),
            None => blame(&scene, &material),
        };
        if self.tally.would_draw(&explained) {
            let Found { absences, fires, faults, .. } = &found;
            let marks = marks(window.due, came, absences, fires, faults);
            explained.timeline = Some(draw(&scene, window.due, came, thread, marks));
        }
        self.log.learn(thread, &explained.parts);
        self.tally.take(explained);
    }

    /// Reports a sample that the replay never reached.
    fn report_undivided(&mut self, index: usize, sample: usize, outcome: MatchOutcome) {
        let given = self.tasks[index].task.samples[sample];
        self.tally.leave_unreached(given, outcome);
    }
}

/// Finds the slowest samples of all tasks.
#[derive(Debug)]
struct Slowest {
    /// The latency of the fastest of the slowest samples.
    floor: Nanos,
    /// How many more samples of exactly that latency fit.
    room: usize,
}

impl Slowest {
    fn of(tasks: &[ProbeTask], count: usize) -> Self {
        let mut latencies: Vec<Nanos> =
            tasks.iter().flat_map(|task| &task.samples).map(|sample| sample.latency()).collect();
        let Some(last) = count.min(latencies.len()).checked_sub(1) else {
            return Self { floor: Nanos::MAX, room: 0 };
        };
        let (above, floor, _) = latencies.select_nth_unstable_by(last, |a, b| b.cmp(a));
        let slower = above.iter().filter(|latency| **latency > *floor).count();
        Self { floor: *floor, room: last + 1 - slower }
    }

    fn takes(&mut self, latency: Nanos) -> bool {
        if latency == self.floor && self.room > 0 {
            self.room -= 1;
            return true;
        }
        latency > self.floor
    }
}

/// Passes what the replay reports to the watched threads.
#[derive(Debug, Default)]
struct Matchers(Vec<Matcher>);

impl Matchers {
    fn of(&mut self, watched: u16) -> Option<&mut Matcher> {
        let matcher = self.0.get_mut(usize::from(watched))?;
        matcher.seen = true;
        Some(matcher)
    }
}

impl Observer for Matchers {
    fn absence(&mut self, absence: &Absence) {
        if let Some(matcher) = absence.watched.and_then(|watched| self.of(watched)) {
            keep(&mut matcher.absences, *absence);
        }
    }

    fn woken_awake(&mut self, watched: u16, waking: &Waking) {
        if let Some(matcher) = self.of(watched) {
            keep(&mut matcher.awake, *waking);
        }
    }

    fn fired(&mut self, fire: &TimerFire) {
        let watched = fire.armed.and_then(|armed| armed.watched);
        if let Some(matcher) = watched.and_then(|watched| self.of(watched)) {
            keep(&mut matcher.fires, *fire);
        }
    }

    fn fault(&mut self, fault: Fault) {
        if let Some(matcher) = self.of(fault.watched) {
            keep(&mut matcher.faults, fault.at);
        }
    }

    fn unaccounted(&mut self, watched: u16) {
        if let Some(matcher) = self.of(watched) {
            matcher.unaccounted = true;
        }
    }

    fn call_exit(&mut self, watched: u16, _at: Instant<Monotonic>) {
        let _ = self.of(watched);
    }
}
