//! Finds a sample among the events of its thread.

use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::machine::{Absence, TimerFire, Waker, Waking};
use crate::outcome::{MatchOutcome, Unmatched};
use crate::segments::{Segments, Stages};
use crate::task::{Origin, ProbeTask};

/// The maximum number of items of each kind between two samples of a task; beyond it,
/// the oldest item is dropped. A thread that sleeps more often than this between two
/// samples is not a probe's thread.
const KEPT_MAX: usize = 64;

/// What happened to a watched thread since its last sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matcher {
    /// Whether the thread had any event.
    pub(crate) seen: bool,
    /// Whether the thread was found running after it was seen to leave.
    pub(crate) unaccounted: bool,
    /// Its completed absences.
    pub(crate) absences: Vec<Absence>,
    /// Its wakings that came while it ran.
    pub(crate) awake: Vec<Waking>,
    /// Timers that the thread armed and that were served.
    pub(crate) fires: Vec<TimerFire>,
    /// Its page faults.
    pub(crate) faults: Vec<Instant<Monotonic>>,
    /// The CPU on which it was last seen.
    pub(crate) cpu: Option<u32>,
}

/// The result of matching a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) outcome: MatchOutcome,
    pub(crate) segments: Option<Segments>,
    /// The CPU that served its timer, if the timer was found.
    pub(crate) cpu: Option<u32>,
}

impl Match {
    pub(crate) const fn without_segments(outcome: MatchOutcome) -> Self {
        Self { outcome, segments: None, cpu: None }
    }
}

/// A timer that the sample may have waited for.
struct Candidate {
    fire: TimerFire,
    waking: Option<Waking>,
    absence: Option<Absence>,
}

/// Appends `item`; drops the oldest if there are too many.
pub(crate) fn keep<T>(list: &mut Vec<T>, item: T) {
    if list.len() >= KEPT_MAX {
        list.remove(0);
    }
    list.push(item);
}

impl Matcher {
    /// Drops the data of completed samples.
    pub(crate) fn clear(&mut self) {
        if let Some(absence) = self.absences.last() {
            self.cpu = Some(absence.back_cpu);
        }
        self.unaccounted = false;
        self.absences.clear();
        self.awake.clear();
        self.fires.clear();
        self.faults.clear();
    }

    /// Matches the sample `index` of `task`, with which its thread was done just before the
    /// present event.
    pub(crate) fn find(&self, task: &ProbeTask, index: usize) -> Match {
        let (due, came) = (task.due(index), task.done(index));
        if self.unaccounted {
            return Match::without_segments(MatchOutcome::Unmatched(Unmatched::EventsMissing));
        }
        if !self.seen {
            return Match::without_segments(MatchOutcome::Unmatched(Unmatched::ThreadUnseen));
        }
        match task.origin {
            Origin::Ready => return Match::without_segments(self.wait(due, came)),
            Origin::Received => return Match::without_segments(MatchOutcome::Received),
            Origin::Due(_) => {}
        }
        let nearest = self
            .candidates(came)
            .filter_map(|candidate| Some((distance(&candidate.fire, due)?, candidate)))
            .filter(|(distance, _)| *distance <= task.tolerance())
            .min_by_key(|(distance, _)| *distance);
        if let Some((_, candidate)) = nearest {
            return matched(due, came, &candidate);
        }
        let across = self
            .absences
            .iter()
            .find(|absence| absence.slept() && absence.left_at <= due && due < absence.back_at);
        let Some(absence) = across else {
            return Match::without_segments(MatchOutcome::AlreadyPast);
        };
        Match::without_segments(match absence.waking.map(|waking| waking.by) {
            Some(Waker::Thread(_)) => MatchOutcome::WokenByThread,
            Some(Waker::Interrupt(_)) => MatchOutcome::WokenByInterrupt,
            Some(Waker::Timer(_)) => MatchOutcome::Unmatched(Unmatched::OtherTimer),
            None => MatchOutcome::Unmatched(Unmatched::NoWakeup),
        })
    }

    /// How the wait from `from` to `to` began.
    fn wait(&self, from: Instant<Monotonic>, to: Instant<Monotonic>) -> MatchOutcome {
        let absence = self
            .absences
            .iter()
            .find(|absence| absence.back_at == to && absence.ready_at() == Some(from));
        match absence {
            None => MatchOutcome::Unmatched(Unmatched::NoWakeup),
            Some(absence) if !absence.slept() => MatchOutcome::HadToLeave,
            Some(absence) => match absence.waking.map(|waking| waking.by) {
                Some(Waker::Thread(_)) => MatchOutcome::WokenByThread,
                Some(Waker::Interrupt(_)) => MatchOutcome::WokenByInterrupt,
                Some(Waker::Timer(_)) => MatchOutcome::WokenByTimer,
                None => MatchOutcome::Unmatched(Unmatched::NoWakeup),
            },
        }
    }

    fn candidates(&self, came: Instant<Monotonic>) -> impl Iterator<Item = Candidate> + '_ {
        let absent = self.absences.iter().filter_map(|absence| {
            let waking = absence.waking?;
            let Waker::Timer(fire) = waking.by else { return None };
            Some(Candidate { fire, waking: Some(waking), absence: Some(*absence) })
        });
        let awake = self.awake.iter().filter_map(|waking| {
            let Waker::Timer(fire) = waking.by else { return None };
            Some(Candidate { fire, waking: Some(*waking), absence: None })
        });
        let fired =
            self.fires.iter().map(|fire| Candidate { fire: *fire, waking: None, absence: None });
        absent.chain(awake).chain(fired).filter(move |candidate| candidate.fire.entered_at <= came)
    }
}

/// The distance between the time for which a timer was armed and the due time.
///
/// The kernel stores the due time as `softexpires` if timer slack applies, and also as
/// `expires` if not (hrtimer_set_expires_range_ns in `include/linux/hrtimer.h`), so the
/// nearer one counts. If the arming was not seen, a timer matches if it was served
/// after the due time, as the last choice.
fn distance(fire: &TimerFire, due: Instant<Monotonic>) -> Option<Nanos> {
    let apart = |instant: Instant<Monotonic>| {
        Nanos::from_nanos(instant.as_nanos().abs_diff(due.as_nanos()))
    };
    match (fire.soft_expires(), fire.expires()) {
        (Some(soft), Some(hard)) => Some(apart(soft).min(apart(hard))),
        _ => (fire.entered_at >= due).then_some(Nanos::from_micros(20)),
    }
}

fn matched(due: Instant<Monotonic>, came: Instant<Monotonic>, found: &Candidate) -> Match {
    let fire = &found.fire;
    if fire.armed.is_some_and(|armed| armed.at > due) {
        return Match::without_segments(MatchOutcome::AlreadyPast);
    }
    let stages = Stages {
        irq: Some(fire.irq_at),
        timer: Some(fire.entered_at),
        wakeup: found.waking.map(|waking| waking.at),
        switch: found
            .absence
            .filter(|absence| absence.back_at_min.is_none())
            .map(|absence| absence.back_at),
    };
    let outcome = match found.absence {
        None => MatchOutcome::TimerWhileRunning,
        Some(absence) if absence.back_at_min.is_some() => MatchOutcome::TimerSwitchMissing,
        Some(absence) if absence.back_cpu != fire.cpu => MatchOutcome::TimerElsewhere,
        Some(_) => MatchOutcome::Timer,
    };
    match Segments::between(due, came, &stages) {
        Some(segments) => Match { outcome, segments: Some(segments), cpu: Some(fire.cpu) },
        None => Match::without_segments(MatchOutcome::Unmatched(Unmatched::OutOfOrder)),
    }
}
