//! What else happened while a sample was open.
//!
//! After Faller, *Measuring the latency time of real-time Unix-like operating systems*
//! (ICSI TR-92-037, 1992), section 5. Each sample records whether a block device had a
//! transfer in flight, so that results can be given with and without such samples, and
//! which interrupt was being served when the event came.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{About, Event, EventKind, InterruptVector, Softirq};
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic};

use crate::machine::{Activity, Cpu};
use crate::outcome::MatchOutcome;
use crate::segments::Segments;

/// A sample with the circumstances while it was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessedSample {
    /// The task's number.
    pub task: u32,
    /// The sample's index among the samples of its task, from 0.
    pub index: u64,
    /// The sample.
    pub sample: Sample,
    /// How the sample was matched.
    pub outcome: MatchOutcome,
    /// The sample's segments, if its timer was found. They add up to the sample's
    /// latency.
    pub segments: Option<Segments>,
    /// The circumstances.
    pub circumstance: Circumstance,
}

/// What happened while a sample was open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstance {
    /// Whether a block device had a request in flight at any time from the due time to
    /// the arrival, both included; `None` if such events were not recorded.
    ///
    /// The request stands for the DMA transfer of the paper: the kernel does not know
    /// when within the request the device moves the data.
    pub transfer: Option<bool>,
    /// What was being served at the due time on the CPU that later served the timer;
    /// `None` if nothing was.
    pub serving: Option<Serving>,
}

/// What happened while the samples of a cell were open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances {
    /// The number of samples with a recorded due time.
    pub samples: u64,
    /// How many of them saw a transfer, see [`Circumstance::transfer`]; `None` if such
    /// events were not recorded.
    pub transfers: Option<u64>,
    /// What was being served at the due times, the most frequent first. Samples that
    /// came due while nothing was being served are in no row.
    pub serving: Vec<ServingCount>,
}

/// How many samples came due while something was being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingCount {
    /// What was being served.
    pub serving: Serving,
    /// The number of samples.
    pub count: u64,
}

impl Circumstances {
    pub(crate) fn new(
        samples: u64,
        transfers: Option<u64>,
        mut serving: Vec<ServingCount>,
    ) -> Self {
        serving.sort_by_key(|row| (Reverse(row.count), row.serving));
        Self { samples, transfers, serving }
    }

    /// Combines the circumstances of two stretches of one cell.
    pub(crate) fn and(self, other: Self) -> Self {
        let mut serving: BTreeMap<Serving, u64> = BTreeMap::new();
        for row in self.serving.into_iter().chain(other.serving) {
            *serving.entry(row.serving).or_default() += row.count;
        }
        let serving = serving.into_iter().map(|(serving, count)| ServingCount { serving, count });
        // A count from one stretch alone would be taken for the count of both.
        let transfers = match (self.transfers, other.transfers) {
            (Some(here), Some(there)) => Some(here + there),
            (here, _) if other.samples == 0 => here,
            (_, there) if self.samples == 0 => there,
            _ => None,
        };
        Self::new(self.samples + other.samples, transfers, serving.collect())
    }
}

/// What a CPU serves that belongs to no thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Serving {
    /// An interrupt of the CPU itself.
    Vector(InterruptVector),
    /// The device interrupt of this number.
    Irq(i32),
    /// A softirq.
    Softirq(Softirq),
}

impl Serving {
    /// The serving of an activity; `None` if the activity is not an interrupt or
    /// softirq, or only part of one.
    pub(crate) const fn of(activity: Activity) -> Option<Self> {
        match activity {
            Activity::Vector(vector) => Some(Self::Vector(vector)),
            Activity::Irq { irq, .. } => Some(Self::Irq(irq)),
            Activity::Softirq(softirq) => Some(Self::Softirq(softirq)),
            Activity::Idle { .. }
            | Activity::Thread
            | Activity::Reclaim
            | Activity::Timer { .. }
            | Activity::JiffyTimer { .. } => None,
        }
    }
}

impl fmt::Display for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vector(vector) => write!(f, "interrupt {}", vector.word()),
            Self::Irq(irq) => write!(f, "interrupt {irq}"),
            Self::Softirq(softirq) => write!(f, "softirq {softirq}"),
        }
    }
}

/// The maximum number of requests in flight that are kept apart. The queues of block
/// devices hold a few thousand at most; beyond the maximum the oldest request counts as
/// complete.
const IN_FLIGHT_MAX: usize = 1 << 16;

/// When block devices had requests in flight.
///
/// A request is in flight from its issue to its completion if both were recorded. Now
/// and then (a few events per thousand) the kernel drops an event because it interrupts
/// the writing of another event. A request without its completion would seem to be in
/// flight forever, so it does not count. A request without its issue counts only at its
/// completion.
#[derive(Clone, Debug)]
pub(crate) struct Transfers {
    recorded: bool,
    /// Issued requests that are not complete: when each was issued and how many sectors
    /// are left, by device and first sector left.
    in_flight: BTreeMap<(u32, u64), Issued>,
    /// When each request was in flight, in the order of completions.
    over: Vec<(Instant<Monotonic>, Instant<Monotonic>)>,
}

/// A request that was issued.
#[derive(Clone, Copy, Debug)]
struct Issued {
    at: Instant<Monotonic>,
    sectors: u32,
}

impl Transfers {
    pub(crate) fn new(about: &About) -> Self {
        let recorded = ["block/block_rq_issue", "block/block_rq_complete"];
        Self {
            recorded: recorded.iter().all(|name| about.has(name)),
            in_flight: BTreeMap::new(),
            over: Vec::new(),
        }
    }

    /// Takes the next event, in the order of time.
    pub(crate) fn step(&mut self, event: &Event) {
        match event.kind {
            // A flush moves no data, and its two events do not even name the same
            // sector.
            EventKind::BlockIssue { sectors: 0, .. }
            | EventKind::BlockComplete { sectors: 0, .. } => {}
            EventKind::BlockIssue { device, sector, sectors } => {
                if self.in_flight.len() >= IN_FLIGHT_MAX {
                    self.in_flight.pop_first();
                }
                // If a busy device returned the request and it was issued again, it
                // counts from then.
                self.in_flight.insert((device, sector), Issued { at: event.at, sectors });
            }
            EventKind::BlockComplete { device, sector, sectors, .. } => {
                let issued = self.in_flight.remove(&(device, sector));
                self.over.push((issued.map_or(event.at, |issued| issued.at), event.at));
                // Part of a request may complete before the rest.
                if let Some(Issued { at, sectors: all }) =
                    issued.filter(|all| all.sectors > sectors)
                {
                    let rest = sector.saturating_add(u64::from(sectors));
                    let issued = Issued { at, sectors: all - sectors };
                    self.in_flight.insert((device, rest), issued);
                }
            }
            _ => {}
        }
    }

    /// Forgets the requests in flight, because their completions may be among the lost
    /// events.
    pub(crate) fn lose(&mut self) {
        self.in_flight.clear();
    }

    /// The stretches in which a request was in flight, disjoint and in the order of
    /// time; `None` if such events were not recorded.
    pub(crate) fn finish(self) -> Option<Busy> {
        let mut over = self.over;
        over.sort_unstable();
        let mut busy: Vec<(Instant<Monotonic>, Instant<Monotonic>)> = Vec::new();
        for (from, to) in over {
            match busy.last_mut() {
                Some((_, end)) if from <= *end => *end = to.max(*end),
                _ => busy.push((from, to)),
            }
        }
        self.recorded.then_some(Busy(busy))
    }
}

/// Stretches in which a request was in flight, disjoint and in the order of time.
#[derive(Clone, Debug)]
pub(crate) struct Busy(Vec<(Instant<Monotonic>, Instant<Monotonic>)>);

impl Busy {
    /// Whether a request was in flight at any time from `from` to `to`, both included.
    pub(crate) fn any_between(&self, from: Instant<Monotonic>, to: Instant<Monotonic>) -> bool {
        let later = self.0.partition_point(|(_, end)| *end < from);
        self.0.get(later).is_some_and(|(begin, _)| *begin <= to)
    }
}

/// What the CPUs serve when the samples of one task come due.
///
/// It keeps data only for samples between their due time and their arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct AtDue {
    /// The number of samples whose due time has passed.
    passed: usize,
    /// For each such sample that has not arrived: what each CPU served.
    waiting: VecDeque<Vec<(u32, Serving)>>,
}

impl AtDue {
    /// The next sample whose due time has not passed.
    pub(crate) const fn next(&self) -> usize {
        self.passed
    }

    /// Notes what the CPUs serve at the due time of the next sample.
    pub(crate) fn pass(&mut self, cpus: &[Cpu]) {
        let serving = cpus
            .iter()
            .enumerate()
            .filter_map(|(number, cpu)| Some((number as u32, cpu.serving()?)));
        self.waiting.push_back(serving.collect());
        self.passed += 1;
    }

    /// What CPU `cpu` served at the due time of the sample that arrives next.
    pub(crate) fn come(&mut self, cpu: Option<u32>) -> Option<Serving> {
        let serving = self.waiting.pop_front()?;
        serving.into_iter().find(|(of, _)| Some(*of) == cpu).map(|(_, serving)| serving)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::recording::{Context, ThreadId};

    use super::*;

    fn at(nanos: u64) -> Instant<Monotonic> {
        Instant::from_nanos(nanos)
    }

    fn about(events: &[&str]) -> About {
        About {
            events: events.iter().map(|name| (*name).to_owned()).collect(),
            ..About::new(at(0), [0].into_iter().collect())
        }
    }

    fn transfers() -> Transfers {
        Transfers::new(&about(&["block/block_rq_issue", "block/block_rq_complete"]))
    }

    fn event(nanos: u64, kind: EventKind) -> Event {
        let context = Context::default();
        Event { at: at(nanos), cpu: 0, thread: ThreadId(0), context, chain: None, kind }
    }

    fn issue(nanos: u64, sector: u64, sectors: u32) -> Event {
        event(nanos, EventKind::BlockIssue { device: 1, sector, sectors })
    }

    fn complete(nanos: u64, sector: u64, sectors: u32) -> Event {
        event(nanos, EventKind::BlockComplete { device: 1, sector, sectors, error: 0 })
    }

    #[track_caller]
    fn check(events: &[Event], stretches: &[((u64, u64), bool)]) {
        let mut transfers = transfers();
        events.iter().for_each(|event| transfers.step(event));
        let busy = transfers.finish().expect("both events are recorded");
        for ((from, to), expected) in stretches {
            assert_eq!(busy.any_between(at(*from), at(*to)), *expected, "from {from} to {to}");
        }
    }

    #[test]
    fn a_request_is_in_flight_from_issue_to_completion() {
        let events = [issue(100, 8, 8), complete(200, 8, 8)];
        let expected = [
            ((0, 99), false),
            ((0, 100), true),
            ((150, 160), true),
            ((200, 300), true),
            ((201, 300), false),
        ];
        check(&events, &expected);
    }

    #[test]
    fn a_request_that_overlaps_another_keeps_the_stretch_open() {
        let events =
            [issue(100, 8, 8), issue(150, 64, 8), complete(200, 8, 8), complete(300, 64, 8)];
        check(&events, &[((250, 260), true), ((301, 302), false)]);
    }

    #[test]
    fn a_part_of_a_request_leaves_the_rest_in_flight() {
        let events = [issue(100, 8, 16), complete(200, 8, 4), complete(300, 12, 12)];
        check(&events, &[((250, 260), true), ((301, 302), false)]);
    }

    #[test]
    fn a_completion_without_its_issue_counts_by_itself() {
        check(&[complete(500, 8, 8)], &[((10, 499), false), ((490, 510), true)]);
    }

    #[test]
    fn a_flush_is_not_a_transfer() {
        let events = [issue(100, 0, 0), complete(200, u64::MAX, 0)];
        check(&events, &[((0, 150), false), ((300, 310), false)]);
    }

    #[test]
    fn a_request_whose_completion_was_left_unwritten_is_not_in_flight_for_good() {
        let events = [issue(100, 8, 8), issue(300, 64, 8), complete(400, 64, 8)];
        check(&events, &[((100, 299), false), ((350, 360), true), ((5000, 5001), false)]);
    }

    #[test]
    fn a_loss_leaves_nothing_in_flight_behind() {
        let mut transfers = transfers();
        transfers.step(&issue(100, 8, 8));
        transfers.lose();
        transfers.step(&complete(600, 8, 8));
        let busy = transfers.finish().unwrap();
        assert!(!busy.any_between(at(100), at(599)));
    }

    #[test]
    fn without_the_events_transfers_are_unknown() {
        let mut transfers = Transfers::new(&about(&["block/block_rq_issue"]));
        transfers.step(&issue(100, 8, 8));
        assert!(transfers.finish().is_none());
    }

    proptest! {
        #[test]
        fn stretches_stay_apart_and_in_order(
            steps in prop::collection::vec((0..50_u64, 0..4_u64, any::<bool>(), 0..20_u32), 0..80)
        ) {
            let (mut transfers, mut now) = (transfers(), 0);
            for (pause, sector, issued, lost) in steps {
                now += pause;
                if lost == 0 {
                    transfers.lose();
                }
                let event = if issued { issue(now, sector, 1) } else { complete(now, sector, 1) };
                transfers.step(&event);
            }
            let Busy(busy) = transfers.finish().unwrap();
            prop_assert!(busy.iter().all(|(from, to)| from <= to));
            prop_assert!(busy.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
