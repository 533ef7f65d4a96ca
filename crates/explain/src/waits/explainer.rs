//! Walks through a recording once and explains the waits of all its threads.

use std::collections::{BTreeSet, VecDeque};

use tactus_model::recording::{About, Dictionary, Event, Lost, NameId, Priority, ThreadId};
use tactus_model::result::Histogram;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::watch::Wait;
use super::{SleepEvidence, WaitExplanation, Waits};
use crate::blame::{Scene, Window, case};
use crate::circumstance::Circumstance;
use crate::explainer::AFTERMATH;
use crate::explanation::{ExplainedSample, SegmentHistogram};
use crate::lengths::Lengths;
use crate::log::Log;
use crate::machine::{Absence, Activity, Machine, Observer, Quantum, Slice, Waker};
use crate::number_map::NumberMap;
use crate::outcome::{MatchOutcome, Unmatched};
use crate::segments::Segment;
use crate::tally::Tally;
use crate::task::Options;
use crate::thread_time::Doing::{self, Unknown};
use crate::thread_time::{Follow, INHERITED_BEFORE, Sums, THREADS_MAX, ThreadTimes};
use crate::timeline::{draw, marks};

/// How many names have waits of their own; the threads with further names share an entry.
/// Kernel workers alone have some thousand names on a large machine.
const NAMES_MAX: usize = 1 << 14;

/// The number of the entry that the threads with further names share; no name has it.
const OTHERS: u64 = u64::MAX;

/// The name of that entry.
const OTHERS_NAME: &str = "other threads";

/// How many waits over the threshold are open at the same time. Beyond it, the wait that has
/// been open longest is divided before steal time in it would show.
const OPEN_MAX: usize = 1 << 16;

/// Explains waits while events come in.
/// The caller passes events and losses in the order of time and then calls
/// [`Self::finish`]. Memory use grows with the number of names and threads, and with
/// the number of events during the longest wait, not with the number of all events or
/// waits.
pub(super) struct WaitExplainer<W> {
    machine: Machine,
    log: Log,
    ends: Ends,
    started: Instant<Monotonic>,
    /// A wait that began before this instant may have been several waits.
    void_until: Instant<Monotonic>,
    options: Options,
    wanted: W,
    /// The names by their numbers.
    names: NumberMap<u64, Name>,
    /// The name of each thread, and the number of its entry if the caller asks for it.
    entries: NumberMap<i32, (NameId, Option<u64>)>,
    others: BTreeSet<NameId>,
    times: ThreadTimes,
    evidence: SleepEvidence,
    /// Waits over the threshold, in order, that are divided among causes as soon as
    /// steal time would show.
    open: VecDeque<OpenWait>,
}

/// How far back a sleep is followed to what its waker did, unless a wait needs more. Threads
/// that wait for work sleep as long as the recording; without a limit, all its events would
/// stay in memory.
const FOLLOWED_MAX: Nanos = Nanos::from_secs(5);

/// The threads with one name.
struct Name {
    name: NameId,
    /// How many waits over the threshold each thread had.
    threads: NumberMap<i32, u64>,
    priority: Priority,
    lengths: Lengths,
    tally: Tally,
    sums: Sums,
}

/// A wait over the threshold that is not divided among causes yet.
struct OpenWait {
    wait: Wait,
    absence: Absence,
    /// Its index among the waits of its thread.
    index: u64,
    /// The number of its entry.
    number: u64,
}

/// What the last event ended, in the order of the replay.
#[derive(Default)]
struct Ends(Vec<Ended>);

/// A stretch of a thread's time that has ended.
enum Ended {
    Absence(Absence),
    Quantum(Quantum),
    /// Of the thread and for the time that it reclaimed memory.
    Reclaim(ThreadId, Nanos),
}

impl<W: Fn(ThreadId, &str) -> bool> WaitExplainer<W> {
    pub(super) fn new(about: &About, options: Options, wanted: W) -> Self {
        // Which wait becomes long is known only when it is over.
        let log = Log::opened(about);
        Self {
            machine: Machine::new(about),
            log,
            ends: Ends::default(),
            started: about.started,
            void_until: about.started,
            options,
            wanted,
            names: NumberMap::default(),
            entries: NumberMap::default(),
            times: ThreadTimes::default(),
            evidence: SleepEvidence::default(),
            others: BTreeSet::new(),
            open: VecDeque::new(),
        }
    }

    pub(super) fn event(&mut self, event: &Event, names: &Dictionary) {
        while let Some(open) = self.open.front()
            && (open.wait.to + AFTERMATH < event.at || self.open.len() >= OPEN_MAX)
        {
            self.divide_next(names);
        }
        self.ends.0.clear();
        self.machine.step(event, &mut (&mut self.log, &mut self.ends));
        self.take_ended(names);
        if let Some(Ended::Absence(absence)) =
            self.ends.0.iter().rev().find(|ended| matches!(ended, Ended::Absence(_)))
            && let Some(wait) = Wait::of(absence, event, self.void_until)
        {
            self.take(&wait, *absence, names);
        }
        if self.log.has_enough() {
            self.forget(names);
        }
    }

    /// Divides the time of the threads up to the end of what has just ended.
    fn take_ended(&mut self, names: &Dictionary) {
        for index in 0..self.ends.0.len() {
            match self.ends.0[index] {
                Ended::Absence(absence) => self.take_absence(&absence, absence.back_at, names),
                Ended::Quantum(quantum) => self.take_quantum(&quantum, names),
                Ended::Reclaim(thread, time) => {
                    if let Some(number) = self.number(thread, self.machine.known(thread), names)
                        && let Some(name) = self.names.get_mut(&number)
                    {
                        name.sums.reclaim(time);
                    }
                }
            }
        }
    }

    fn take_quantum(&mut self, quantum: &Quantum, names: &Dictionary) {
        let &Quantum { thread, from, to, .. } = quantum;
        if thread.is_idle() {
            return;
        }
        let known = (quantum.name, quantum.priority);
        if let Some(number) = self.number(thread, known, names)
            && let Some(name) = self.names.get_mut(&number)
        {
            self.times.take(thread, self.started, from, to, Doing::OnCpu, &mut name.sums);
        }
        if quantum.left.is_some_and(|left| left.state.is_dead()) {
            self.times.end(thread);
            self.entries.remove(&thread.0);
        }
    }

    /// Takes an absence that ended at `until`, with it or with the recording.
    fn take_absence(&mut self, absence: &Absence, until: Instant<Monotonic>, names: &Dictionary) {
        let thread = absence.thread;
        let known = self.machine.known(thread);
        let Some(number) = self.number(thread, known, names) else { return };
        let Some(name) = self.names.get_mut(&number) else { return };
        // Before the end of a loss, the thread may have done anything.
        if absence.left_at < self.void_until {
            let from = absence.left_at;
            return self.times.take(thread, from, from, until, Unknown, &mut name.sums);
        }
        if absence.slept() && absence.ready_at() != Some(absence.left_at) {
            self.evidence.sleeps += 1;
            self.evidence.chains += u64::from(absence.left_chain.is_some());
        }
        // The waker inherits the priority of a thread just before that goes to sleep.
        let log = self.log.since(absence.left_at - INHERITED_BEFORE);
        let scene = Scene { log, machine: &self.machine, names, late: None };
        let log_from = self.log.kept_from();
        let follow = Follow { started: self.started, log_from, options: self.options };
        self.times.take_absence(absence, until, &scene, follow, &mut name.sums);
    }

    /// The number of the entry for a thread of this name and priority, which is made if it does
    /// not exist; `None` if the caller does not ask for the thread.
    fn number(
        &mut self,
        thread: ThreadId,
        (name, priority): (NameId, Priority),
        names: &Dictionary,
    ) -> Option<u64> {
        if let Some((known, number)) = self.entries.get(&thread.0)
            && *known == name
        {
            return *number;
        }
        let number = match (self.wanted)(thread, names.name(name)) {
            true => Some(u64::from(name.index())),
            false => {
                self.others.insert(name);
                None
            }
        };
        let full = self.names.len() >= NAMES_MAX;
        let number = number.map(|number| match full && !self.names.contains_key(&number) {
            true => OTHERS,
            false => number,
        });
        if let Some(number) = number {
            let entry = self.names.entry(number);
            let entry = entry.or_insert_with(|| Name::new(name, priority, self.options));
            entry.threads.entry(thread.0).or_default();
        }
        if self.entries.len() >= THREADS_MAX {
            self.entries.clear();
        }
        self.entries.insert(thread.0, (name, number));
        number
    }

    pub(super) fn lost(&mut self, lost: &Lost) {
        self.void_until = self.void_until.max(lost.to);
        self.machine.lose(lost, &mut (&mut self.log, &mut self.ends));
    }

    pub(super) fn finish(mut self, names: &Dictionary) -> Waits {
        while !self.open.is_empty() {
            self.divide_next(names);
        }
        self.end(names);
        let (times, named) = (&self.times, self.names.into_iter());
        let mut named: Vec<WaitExplanation> =
            named.map(|(number, name)| name.finish(number, times, &self.machine, names)).collect();
        named.sort_by(|a, b| b.delayed().cmp(&a.delayed()).then_with(|| a.name.cmp(&b.name)));
        let others: BTreeSet<&str> = self.others.iter().map(|name| names.name(*name)).collect();
        let others = others.into_iter().map(str::to_owned).collect();
        Waits { names: named, others, evidence: self.evidence }
    }

    /// Divides the time of all threads up to the end of the recording.
    fn end(&mut self, names: &Dictionary) {
        let end = self.machine.now();
        self.ends.0.clear();
        self.machine.close(end, &mut (&mut self.log, &mut self.ends));
        self.take_ended(names);
        let threads: Vec<ThreadId> = self.times.threads().collect();
        for thread in threads {
            if let Some(absence) = self.machine.absence_of(thread).copied() {
                self.take_absence(&absence, end, names);
            } else if let Some(number) = self.number(thread, self.machine.known(thread), names)
                && let Some(name) = self.names.get_mut(&number)
            {
                self.times.take(thread, end, end, end, Unknown, &mut name.sums);
            }
        }
    }

    fn take(&mut self, wait: &Wait, absence: Absence, names: &Dictionary) {
        let known = (wait.name, wait.priority);
        let Some(number) = self.number(wait.thread, known, names) else { return };
        let Some(name) = self.names.get_mut(&number) else { return };
        name.priority = name.priority.min(wait.priority);
        name.lengths.record(wait.length());
        let late = name.threads.entry(wait.thread.0).or_default();
        if wait.length() > self.options.threshold {
            self.open.push_back(OpenWait { wait: *wait, absence, index: *late, number });
            *late += 1;
        }
    }

    /// Divides the wait that has been open longest among its causes.
    fn divide_next(&mut self, names: &Dictionary) {
        let Some(OpenWait { wait, absence, index, number }) = self.open.pop_front() else { return };
        let Some(name) = self.names.get_mut(&number) else { return };
        // The log holds earlier data only if another thread was already waiting then.
        let log = self.log.since(wait.from);
        let scene = Scene { log, machine: &self.machine, names, late: None };
        let absences = [absence];
        let window = Window {
            due: wait.from,
            came: wait.to,
            absences: &absences,
            faults: &[],
            cpu: Some(absence.left_cpu),
        };
        let mut explained = ExplainedSample {
            // Thread ids stand for task numbers until all threads are known.
            task: wait.thread.0 as u32,
            index,
            sample: Sample { due: wait.from - self.started, came: wait.to - self.started },
            outcome: outcome(&absence),
            segments: None,
            circumstance: Circumstance::default(),
            parts: Vec::new(),
            job: None,
            timeline: None,
        };
        let case = case(&scene, &window);
        explained.parts = match name.tally.would_keep(&explained) {
            true => case.into_parts(),
            false => case.into_parts_by_name(),
        };
        name.tally.count(explained.outcome);
        if name.tally.would_draw(&explained) {
            let marks = marks(wait.from, wait.to, &absences, &[], &[]);
            explained.timeline = Some(draw(&scene, wait.from, wait.to, wait.thread, marks));
        }
        self.log.learn(wait.thread, &explained.parts);
        name.tally.take(explained);
    }

    /// Drops what happened before all waits that are still open, and before all sleeps that
    /// may have to be followed.
    fn forget(&mut self, names: &Dictionary) {
        let open = self.open.iter().map(|open| open.wait.from).min();
        // A wait or a sleep across a loss is not explained.
        let waiting = self.machine.waiting_since().min(self.asleep_since(names));
        let waiting = waiting.max(self.void_until);
        self.log.forget_before(open.map_or(waiting, |open| open.min(waiting)));
    }

    /// Since when the thread has slept that has slept longest and may have to be followed.
    fn asleep_since(&mut self, names: &Dictionary) -> Instant<Monotonic> {
        let now = self.machine.now();
        let mut since = now;
        for thread in self.entries.iter().filter(|(_, (_, number))| number.is_some()) {
            if let Some(absence) = self.machine.absence_of(ThreadId(*thread.0))
                && absence.left_at < since
                && self.times.may_follow(absence, names)
            {
                since = absence.left_at;
            }
        }
        since.max(now - FOLLOWED_MAX)
    }
}

impl Name {
    fn new(name: NameId, priority: Priority, options: Options) -> Self {
        Self {
            name,
            threads: NumberMap::default(),
            priority,
            lengths: Lengths::default(),
            tally: Tally::new(options),
            sums: Sums::default(),
        }
    }

    fn finish(
        self,
        number: u64,
        times: &ThreadTimes,
        machine: &Machine,
        names: &Dictionary,
    ) -> WaitExplanation {
        let mut threads: Vec<ThreadId> = self.threads.into_keys().map(ThreadId).collect();
        threads.sort_unstable();
        // Segments are reported only for a probe's samples.
        let segments = Segment::ALL.into_iter();
        let segments =
            segments.map(|segment| SegmentHistogram { segment, histogram: Histogram::default() });
        let mut explanation = self.tally.finish(segments.collect());
        explanation.throttled = machine.throttled(&threads, names);
        for explained in &mut explanation.worst {
            let thread = ThreadId(explained.task as i32);
            explained.task = threads.partition_point(|other| *other < thread) as u32;
        }
        WaitExplanation {
            name: if number == OTHERS { OTHERS_NAME } else { names.name(self.name) }.to_owned(),
            threads,
            priority: self.priority,
            lengths: self.lengths.to_record(),
            explanation,
            time: times.finish(self.sums, machine, names),
        }
    }
}

/// How the wait at the end of an absence began.
fn outcome(absence: &Absence) -> MatchOutcome {
    if !absence.slept() {
        return MatchOutcome::HadToLeave;
    }
    match absence.waking.map(|waking| waking.by) {
        Some(Waker::Thread(_)) => MatchOutcome::WokenByThread,
        Some(Waker::Interrupt(_)) => MatchOutcome::WokenByInterrupt,
        Some(Waker::Timer(_)) => MatchOutcome::WokenByTimer,
        None => MatchOutcome::Unmatched(Unmatched::NoWakeup),
    }
}

impl Observer for Ends {
    fn slice(&mut self, slice: Slice) {
        if slice.activity == Activity::Reclaim {
            self.0.push(Ended::Reclaim(slice.thread, slice.to - slice.from));
        }
    }

    fn absence(&mut self, absence: &Absence) {
        self.0.push(Ended::Absence(*absence));
    }

    fn quantum(&mut self, quantum: &Quantum) {
        self.0.push(Ended::Quantum(*quantum));
    }
}
