//! What else went on while a sample was open.
//!
//! After Faller, *Measuring the latency time of real-time Unix-like operating
//! systems* (ICSI TR-92-037, 1992), section 5: with each sample it is kept
//! whether a block device moved data meanwhile, so that results can be given
//! with and without such samples, and which interrupt was being served when the
//! event came.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{About, Event, EventKind, InterruptVector, Lost, Softirq};
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic};

use crate::machine::{Activity, Processor};
use crate::outcome::MatchOutcome;
use crate::segments::Segments;

/// A sample with what went on while it was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessedSample {
    /// The task's number.
    pub task: u32,
    /// The sample's number among those of its task, counted from 0.
    pub index: u64,
    /// The sample.
    pub sample: Sample,
    /// How it was matched.
    pub outcome: MatchOutcome,
    /// Its segments, where its timer was found. They add up to its latency.
    pub segments: Option<Segments>,
    /// What else went on.
    pub circumstance: Circumstance,
}

/// What went on while a sample was open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstance {
    /// Whether any block device had a request in flight at any time from the due
    /// time to the arrival, both included; none where such events were not recorded.
    ///
    /// The request stands for the paper's transfer by direct memory access: when
    /// in it the device moves the data is not told to the kernel.
    pub transfer: Option<bool>,
    /// What was being served at the due time on the processor that then served
    /// the timer; none when nothing was.
    pub serving: Option<Serving>,
}

/// What a processor serves on behalf of nobody who runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Serving {
    /// An interrupt of the processor itself.
    Vector(InterruptVector),
    /// The device interrupt of this number.
    Irq(i32),
    /// A softirq.
    Softirq(Softirq),
}

impl Serving {
    /// The serving that an activity is, unless it is none or only a part of one.
    pub(crate) const fn of(activity: Activity) -> Option<Self> {
        match activity {
            Activity::Vector(vector) => Some(Self::Vector(vector)),
            Activity::Irq { irq, .. } => Some(Self::Irq(irq)),
            Activity::Softirq(softirq) => Some(Self::Softirq(softirq)),
            Activity::Idle { .. }
            | Activity::Thread
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

/// The most requests in flight that are told apart. Block devices have queues of
/// some thousands at most; beyond it the oldest is taken to be over.
const IN_FLIGHT_MAX: usize = 1 << 16;

/// When block devices had requests in flight.
#[derive(Clone, Debug)]
pub(crate) struct Transfers {
    recorded: bool,
    /// Requests that were issued and are not over: how many sectors are left of
    /// each, by device and first sector left.
    in_flight: BTreeMap<(u32, u64), u32>,
    /// Since when something is in flight.
    busy_since: Option<Instant<Monotonic>>,
    /// Stretches in which something was in flight, in the order of time, apart.
    busy: Vec<(Instant<Monotonic>, Instant<Monotonic>)>,
    /// Since when every request was seen to be issued: the beginning, or the last loss.
    known_since: Instant<Monotonic>,
    last_at: Instant<Monotonic>,
}

impl Transfers {
    pub(crate) fn new(about: &About) -> Self {
        let recorded = ["block/block_rq_issue", "block/block_rq_complete"];
        Self {
            recorded: recorded.iter().all(|name| about.has(name)),
            in_flight: BTreeMap::new(),
            busy_since: None,
            busy: Vec::new(),
            known_since: about.started,
            last_at: about.started,
        }
    }

    /// Takes the next event, in the order of time.
    pub(crate) fn step(&mut self, event: &Event) {
        self.last_at = self.last_at.max(event.at);
        match event.kind {
            // A flush moves no data; its two events do not even name the same sector.
            EventKind::BlockIssue { sectors: 0, .. }
            | EventKind::BlockComplete { sectors: 0, .. } => {}
            EventKind::BlockIssue { device, sector, sectors } => {
                if self.in_flight.len() >= IN_FLIGHT_MAX {
                    self.in_flight.pop_first();
                }
                self.in_flight.insert((device, sector), sectors);
                self.busy_since.get_or_insert(event.at);
            }
            EventKind::BlockComplete { device, sector, sectors, .. } => {
                self.complete(event.at, (device, sector), sectors);
            }
            _ => {}
        }
    }

    fn complete(&mut self, at: Instant<Monotonic>, key: (u32, u64), sectors: u32) {
        match self.in_flight.remove(&key) {
            // A part of a request may be over before the rest of it.
            Some(issued) if sectors < issued => {
                let rest = (key.0, key.1.saturating_add(u64::from(sectors)));
                self.in_flight.insert(rest, issued - sectors);
            }
            Some(_) => {}
            // It was issued before the recording began, so it was in flight ever since.
            None => self.busy_since = Some(self.known_since),
        }
        if self.in_flight.is_empty() {
            self.close(at);
        }
    }

    /// Forgets what is in flight: its end may be among what was lost.
    pub(crate) fn lose(&mut self, lost: &Lost) {
        self.in_flight.clear();
        self.close(lost.to.min(self.last_at));
        self.known_since = self.known_since.max(lost.to);
    }

    fn close(&mut self, to: Instant<Monotonic>) {
        let Some(mut from) = self.busy_since.take() else { return };
        // A request that was in flight from the beginning covers later stretches.
        while let Some((earlier_from, earlier_to)) = self.busy.last().copied()
            && earlier_to >= from
        {
            from = from.min(earlier_from);
            self.busy.pop();
        }
        self.busy.push((from, to.max(from)));
    }

    /// Whether something was in flight at any time from `from` to `to`; none where
    /// that was not recorded. To be asked once every event was taken.
    pub(crate) fn any_between(
        &self,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
    ) -> Option<bool> {
        if !self.recorded {
            return None;
        }
        let later = self.busy.partition_point(|(_, end)| *end < from);
        let closed = self.busy.get(later).is_some_and(|(begin, _)| *begin <= to);
        Some(closed || self.busy_since.is_some_and(|begin| begin <= to))
    }
}

/// What the processors serve when the samples of one task come due.
///
/// It holds what is known of the samples between their due time and their
/// arrival only.
#[derive(Clone, Debug, Default)]
pub(crate) struct AtDue {
    /// How many samples' due times have been passed.
    passed: usize,
    /// For each of those that have not come: who served what, processor by processor.
    waiting: VecDeque<Vec<(u32, Serving)>>,
}

impl AtDue {
    /// The next sample whose due time has not been passed.
    pub(crate) const fn next(&self) -> usize {
        self.passed
    }

    /// Keeps what the processors serve, as the due time of the next sample is passed.
    pub(crate) fn pass(&mut self, processors: &[Processor]) {
        let serving = processors
            .iter()
            .enumerate()
            .filter_map(|(cpu, processor)| Some((cpu as u32, processor.serving()?)));
        self.waiting.push_back(serving.collect());
        self.passed += 1;
    }

    /// What processor `cpu` served at the due time of the sample that comes next.
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
            started: at(0),
            cpus: [0].into_iter().collect(),
            events: events.iter().map(|name| (*name).to_owned()).collect(),
            absent: Vec::new(),
            kernel: None,
            mechanism: None,
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
        for ((from, to), expected) in stretches {
            let found = transfers.any_between(at(*from), at(*to));
            assert_eq!(found, Some(*expected), "from {from} to {to}");
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
    fn what_was_issued_before_the_recording_was_in_flight_since_its_beginning() {
        let events = [issue(100, 64, 8), complete(150, 64, 8), complete(500, 8, 8)];
        check(&events, &[((10, 20), true), ((300, 310), true), ((501, 502), false)]);
    }

    #[test]
    fn a_flush_is_no_transfer() {
        let events = [issue(100, 0, 0), complete(200, u64::MAX, 0)];
        check(&events, &[((0, 150), false), ((300, 310), false)]);
    }

    #[test]
    fn what_never_completes_is_in_flight_to_the_end() {
        check(&[issue(100, 8, 8)], &[((50, 60), false), ((5000, 5001), true)]);
    }

    #[test]
    fn a_loss_leaves_nothing_in_flight_behind() {
        let mut transfers = transfers();
        transfers.step(&issue(100, 8, 8));
        transfers.step(&issue(190, 64, 8));
        transfers.lose(&Lost { cpu: 0, from: at(200), to: at(400), count: 3 });
        assert_eq!(transfers.any_between(at(100), at(150)), Some(true));
        assert_eq!(transfers.any_between(at(450), at(460)), Some(false));
        // Its completion after all tells that it was in flight since the loss.
        transfers.step(&complete(600, 8, 8));
        assert_eq!(transfers.any_between(at(450), at(460)), Some(true));
        assert_eq!(transfers.any_between(at(601), at(602)), Some(false));
    }

    #[test]
    fn without_the_events_nothing_is_said() {
        let mut transfers = Transfers::new(&about(&["block/block_rq_issue"]));
        transfers.step(&issue(100, 8, 8));
        assert_eq!(transfers.any_between(at(100), at(150)), None);
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
                    transfers.lose(&Lost { cpu: 0, from: at(now), to: at(now + 5), count: 1 });
                }
                let event = if issued { issue(now, sector, 1) } else { complete(now, sector, 1) };
                transfers.step(&event);
            }
            prop_assert!(transfers.busy.iter().all(|(from, to)| from <= to));
            prop_assert!(transfers.busy.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
