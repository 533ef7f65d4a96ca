//! Walks through a recording once and explains the waits of all its threads.

use std::collections::{BTreeSet, VecDeque};

use tactus_model::recording::{About, Dictionary, Event, Lost, NameId, Priority, ThreadId};
use tactus_model::result::Histogram;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic};

use super::watch::Wait;
use super::{WaitExplanation, Waits};
use crate::blame::{Scene, Window, blame};
use crate::cause::Cause;
use crate::circumstance::Circumstance;
use crate::explainer::AFTERMATH;
use crate::explanation::{ExplainedSample, SegmentHistogram};
use crate::lengths::Lengths;
use crate::log::Log;
use crate::machine::{
    Absence, Machine, Migration, Observer, Overdue, Silence, Slice, Steal, Waker,
};
use crate::number_map::NumberMap;
use crate::outcome::{MatchOutcome, Unmatched};
use crate::segments::Segment;
use crate::tally::Tally;
use crate::task::Options;
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
    watch: Watch,
    started: Instant<Monotonic>,
    /// A wait that began before this instant may have been several waits.
    void_until: Instant<Monotonic>,
    options: Options,
    wanted: W,
    /// The names by their numbers.
    names: NumberMap<u64, Name>,
    others: BTreeSet<NameId>,
    /// Waits over the threshold, in order, that are divided among causes as soon as
    /// steal time would show.
    open: VecDeque<OpenWait>,
    /// At this number of slices in the log, the explainer checks what can be dropped.
    slices_enough: usize,
}

/// The threads with one name.
struct Name {
    name: NameId,
    /// How many waits over the threshold each thread had.
    threads: NumberMap<i32, u64>,
    priority: Priority,
    lengths: Lengths,
    tally: Tally,
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

/// Collects what the replay reports.
#[derive(Default)]
struct Watch {
    log: Log,
    /// The absence that the last event ended.
    ended: Option<Absence>,
}

impl<W: Fn(ThreadId, &str) -> bool> WaitExplainer<W> {
    pub(super) fn new(about: &About, options: Options, wanted: W) -> Self {
        let mut watch = Watch::default();
        // Which wait becomes long is known only when it is over.
        watch.log.open = true;
        Self {
            machine: Machine::new(about),
            watch,
            started: about.started,
            void_until: about.started,
            options,
            wanted,
            names: NumberMap::default(),
            others: BTreeSet::new(),
            open: VecDeque::new(),
            slices_enough: Log::FEW,
        }
    }

    pub(super) fn event(&mut self, event: &Event, names: &Dictionary) {
        while let Some(open) = self.open.front()
            && (open.wait.to + AFTERMATH < event.at || self.open.len() >= OPEN_MAX)
        {
            self.divide_next(names);
        }
        self.watch.ended = None;
        self.machine.step(event, &mut self.watch);
        if let Some(absence) = self.watch.ended
            && let Some(wait) = Wait::of(&absence, event, self.void_until)
        {
            self.take(&wait, absence, names);
        }
        if self.watch.log.slice_count() >= self.slices_enough {
            self.forget();
        }
    }

    pub(super) fn lost(&mut self, lost: &Lost) {
        self.void_until = self.void_until.max(lost.to);
        self.machine.lose(lost, &mut self.watch);
    }

    pub(super) fn finish(mut self, names: &Dictionary) -> Waits {
        while !self.open.is_empty() {
            self.divide_next(names);
        }
        let mut named: Vec<WaitExplanation> =
            self.names.into_iter().map(|(number, name)| name.finish(number, names)).collect();
        named.sort_by(|a, b| {
            let times = b.explanation.pareto.time.cmp(&a.explanation.pareto.time);
            times.then_with(|| a.name.cmp(&b.name))
        });
        let others: BTreeSet<&str> = self.others.iter().map(|name| names.name(*name)).collect();
        Waits { names: named, others: others.into_iter().map(str::to_owned).collect() }
    }

    fn take(&mut self, wait: &Wait, absence: Absence, names: &Dictionary) {
        if !(self.wanted)(wait.thread, names.name(wait.name)) {
            self.others.insert(wait.name);
            return;
        }
        let mut number = u64::from(wait.name.index());
        if self.names.len() >= NAMES_MAX && !self.names.contains_key(&number) {
            number = OTHERS;
        }
        let name = self.names.entry(number).or_insert_with(|| Name::new(wait, self.options));
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
        let log = self.watch.log.since(wait.from);
        let scene = Scene { log, machine: &self.machine, names };
        let absences = [absence];
        let window = Window {
            due: wait.from,
            came: wait.to,
            absences: &absences,
            faults: &[],
            cpu: Some(absence.left_cpu),
            running: Cause::Switch,
        };
        let mut explained = ExplainedSample {
            // Thread ids stand for task numbers until all threads are known.
            task: wait.thread.0 as u32,
            index,
            sample: Sample { due: wait.from - self.started, came: wait.to - self.started },
            outcome: outcome(&absence),
            segments: None,
            circumstance: Circumstance::default(),
            parts: blame(&scene, &window),
            job: None,
            timeline: None,
        };
        name.tally.count(explained.outcome);
        if name.tally.would_draw(&explained) {
            let marks = marks(wait.from, wait.to, &absences, &[], &[]);
            explained.timeline = Some(draw(&scene, wait.from, wait.to, wait.thread, marks));
        }
        name.tally.take(explained);
    }

    /// Drops what happened before all waits that are still open.
    fn forget(&mut self) {
        let open = self.open.iter().map(|open| open.wait.from).min();
        // A wait across a loss is not counted.
        let waiting = self.machine.waiting_since().max(self.void_until);
        self.watch.log.forget_before(open.map_or(waiting, |open| open.min(waiting)));
        // What could not be dropped is checked again when there is twice as much.
        self.slices_enough = (2 * self.watch.log.slice_count()).max(Log::FEW);
    }
}

impl Name {
    fn new(wait: &Wait, options: Options) -> Self {
        Self {
            name: wait.name,
            threads: NumberMap::default(),
            priority: wait.priority,
            lengths: Lengths::default(),
            tally: Tally::new(options),
        }
    }

    fn finish(self, number: u64, names: &Dictionary) -> WaitExplanation {
        let mut threads: Vec<ThreadId> = self.threads.into_keys().map(ThreadId).collect();
        threads.sort_unstable();
        // Segments are reported only for a probe's samples.
        let segments = Segment::ALL.into_iter();
        let segments =
            segments.map(|segment| SegmentHistogram { segment, histogram: Histogram::default() });
        let mut explanation = self.tally.finish(segments.collect());
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

impl Observer for Watch {
    fn slice(&mut self, slice: Slice) {
        self.log.push_slice(slice);
    }

    fn absence(&mut self, absence: &Absence) {
        self.ended = Some(*absence);
        self.log.push_absence(absence);
    }

    fn overdue(&mut self, overdue: Overdue) {
        self.log.push_overdue(overdue);
    }

    fn silence(&mut self, silence: Silence) {
        self.log.push_silence(silence);
    }

    fn steal(&mut self, steal: Steal) {
        self.log.push_steal(steal);
    }

    fn migration(&mut self, migration: Migration) {
        self.log.push_migration(migration);
    }
}
