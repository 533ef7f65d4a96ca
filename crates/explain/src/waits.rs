//! How long threads ought to have run and did not, and who kept them from it.
//!
//! What the events tell of every thread, not of a probe alone, is how long it waited
//! for a processor: after its timer was due, it was woken, or it had to leave one.
//! [`waits`] finds that in one walk through a recording, [`explain_waits`] divides
//! the long ones among their causes in a second, by the rules by which a probe's
//! samples are divided. A [`WaitWatch`] tells of them while events come in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{
    About, Dictionary, Event, EventKind, EventSource, Item, Lost, NameId, Priority, SourceError,
    ThreadId,
};
use tactus_model::result::Histogram;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_stats::LatencyHistogram;

use crate::explainer::Explainer;
use crate::explanation::Explanation;
use crate::machine::{Absence, Machine, Observer};
use crate::number_map::NumberMap;
use crate::task::{Options, Origin, ProbeTask};

/// The most waits over the threshold that are kept, of all threads together (16 MB);
/// further ones are counted.
const LATE_MAX: usize = 1 << 20;

/// How long the threads of a recording waited for a processor.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The threads that waited at least once, by number.
    pub threads: Vec<ThreadWaits>,
    /// Waits over the threshold that found no room to be kept one by one.
    pub unlisted: u64,
}

/// How long one thread waited for a processor.
#[derive(Clone, Debug)]
pub struct ThreadWaits {
    /// The thread.
    pub thread: ThreadId,
    /// Its name, as the last switch to it told.
    pub name: String,
    /// Its priority, likewise.
    pub priority: Priority,
    /// How long each wait was.
    pub lengths: LatencyHistogram,
    /// The waits over the threshold, in order; their times count from the
    /// beginning of the recording.
    pub late: Vec<Sample>,
}

/// Why the threads of one name waited for a processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitExplanation {
    /// The name.
    pub name: String,
    /// The threads that bear it, by number: the tasks of the explanation.
    pub threads: Vec<ThreadId>,
    /// The most favoured priority among them.
    pub priority: Priority,
    /// How long each of their waits was.
    pub lengths: Histogram,
    /// Why the waits over the threshold were so long.
    pub explanation: Explanation,
}

/// Finds how long every thread waited for a processor, and keeps the waits that
/// are longer than `threshold`.
///
/// A wait across a loss of events is not counted: it may have been several.
///
/// # Errors
/// Those of the source.
pub fn waits(source: &mut dyn EventSource, threshold: Nanos) -> Result<Waits, SourceError> {
    let mut finder = WaitFinder::new(source.about().started, threshold);
    let mut watch = WaitWatch::new(source.about());
    while let Some(item) = source.next_item()? {
        match item {
            Item::Event(event) => {
                if let Some(wait) = watch.event(&event) {
                    finder.take(&wait);
                }
            }
            Item::Lost(lost) => watch.lost(&lost),
        }
    }
    Ok(finder.finish(source.dictionary()))
}

/// A thread's wait for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The thread.
    pub thread: ThreadId,
    /// Its name, as the switch to it told.
    pub name: NameId,
    /// Its priority, likewise.
    pub priority: Priority,
    /// From when it ought to have run.
    pub from: Instant<Monotonic>,
    /// When it came to a processor.
    pub to: Instant<Monotonic>,
}

impl Wait {
    /// How long it was.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}

/// Tells of every wait while events come in, as soon as it is over.
#[derive(Debug)]
pub struct WaitWatch {
    machine: Machine,
    /// What began before this instant may have been several waits.
    void_until: Instant<Monotonic>,
}

impl WaitWatch {
    /// Makes the watch for a recording described by `about`.
    pub fn new(about: &About) -> Self {
        Self { machine: Machine::new(about), void_until: about.started }
    }

    /// Takes the next event; gives the wait that it ends, if it ends one.
    pub fn event(&mut self, event: &Event) -> Option<Wait> {
        let mut ended = Ended(None);
        self.machine.step(event, &mut ended);
        // A wait whose end is not told has no length.
        let absence = ended.0.filter(|absence| absence.untold_since.is_none())?;
        let from = absence.ready_at().filter(|from| *from >= self.void_until)?;
        let EventKind::Switch { next_name, next_priority, .. } = event.kind else { return None };
        Some(Wait {
            thread: absence.thread,
            name: next_name,
            priority: next_priority,
            from,
            to: absence.back_at,
        })
    }

    /// Takes a loss of events.
    pub fn lost(&mut self, lost: &Lost) {
        self.void_until = self.void_until.max(lost.to);
        self.machine.lose(lost, &mut Ended(None));
    }
}

/// The absence that an event ended.
struct Ended(Option<Absence>);

impl Observer for Ended {
    fn absence(&mut self, absence: &Absence) {
        self.0 = Some(*absence);
    }
}

/// Collects waits.
struct WaitFinder {
    started: Instant<Monotonic>,
    threshold: Nanos,
    threads: NumberMap<i32, Found>,
    kept: usize,
    unlisted: u64,
}

struct Found {
    name: NameId,
    priority: Priority,
    lengths: LatencyHistogram,
    late: Vec<Sample>,
}

impl WaitFinder {
    fn new(started: Instant<Monotonic>, threshold: Nanos) -> Self {
        Self { started, threshold, threads: NumberMap::default(), kept: 0, unlisted: 0 }
    }

    fn take(&mut self, wait: &Wait) {
        let found = self.threads.entry(wait.thread.0).or_insert_with(|| Found {
            name: wait.name,
            priority: wait.priority,
            lengths: LatencyHistogram::new(),
            late: Vec::new(),
        });
        (found.name, found.priority) = (wait.name, wait.priority);
        found.lengths.record(wait.length());
        if wait.length() <= self.threshold {
            return;
        }
        if self.kept == LATE_MAX {
            self.unlisted += 1;
            return;
        }
        self.kept += 1;
        found.late.push(Sample { due: wait.from - self.started, came: wait.to - self.started });
    }

    fn finish(self, names: &Dictionary) -> Waits {
        let mut threads: Vec<ThreadWaits> = self
            .threads
            .into_iter()
            .map(|(thread, found)| ThreadWaits {
                thread: ThreadId(thread),
                name: names.name(found.name).to_owned(),
                priority: found.priority,
                lengths: found.lengths,
                late: found.late,
            })
            .collect();
        threads.sort_by_key(|waits| waits.thread);
        Waits { threads, unlisted: self.unlisted }
    }
}

impl Waits {
    /// Only the threads for which `wanted` says so.
    pub fn retain(&mut self, wanted: impl FnMut(&ThreadWaits) -> bool) {
        self.threads.retain(wanted);
    }

    /// The threads of each name together; those that waited longest over the
    /// threshold, all such waits together, first.
    pub fn by_name(&self) -> Vec<Vec<&ThreadWaits>> {
        let mut names: BTreeMap<&str, Vec<&ThreadWaits>> = BTreeMap::new();
        for thread in &self.threads {
            names.entry(&thread.name).or_default().push(thread);
        }
        let mut groups: Vec<Vec<&ThreadWaits>> = names.into_values().collect();
        // The sort is stable, so that equal ones stay in the order of names.
        groups.sort_by_key(|group| {
            std::cmp::Reverse(group.iter().map(|thread| thread.late_time()).sum::<Nanos>())
        });
        groups
    }
}

impl ThreadWaits {
    /// Its waits over the threshold, together.
    pub fn late_time(&self) -> Nanos {
        self.late.iter().map(|wait| wait.latency()).sum()
    }
}

/// Explains the waits of some `groups` of threads, each of one name, from the
/// recording in which [`waits`] found them.
///
/// # Errors
/// Those of the source.
pub fn explain_waits(
    source: &mut dyn EventSource,
    groups: &[Vec<&ThreadWaits>],
    options: Options,
) -> Result<Vec<WaitExplanation>, SourceError> {
    let about = source.about().clone();
    let mut explainers: Vec<Explainer> = groups
        .iter()
        .map(|group| Explainer::new(&about, tasks(group, about.started), options))
        .collect();
    while let Some(item) = source.next_item()? {
        for explainer in &mut explainers {
            match item {
                Item::Event(event) => explainer.event(&event, source.dictionary()),
                Item::Lost(lost) => explainer.lost(&lost),
            }
        }
    }
    let explained = groups.iter().zip(explainers).filter_map(|(group, explainer)| {
        let first = group.first()?;
        let mut lengths = LatencyHistogram::new();
        group.iter().for_each(|thread| lengths.merge(&thread.lengths));
        Some(WaitExplanation {
            name: first.name.clone(),
            threads: group.iter().map(|thread| thread.thread).collect(),
            priority: group.iter().map(|thread| thread.priority).min().unwrap_or(first.priority),
            lengths: lengths.to_record(),
            explanation: explainer.finish(source.dictionary()),
        })
    });
    Ok(explained.collect())
}

fn tasks(group: &[&ThreadWaits], started: Instant<Monotonic>) -> Vec<ProbeTask> {
    (0..)
        .zip(group)
        .map(|(task, thread)| ProbeTask {
            task,
            thread: thread.thread,
            origin: Origin::Ready,
            opened: started,
            samples: thread.late.clone(),
        })
        .collect()
}
