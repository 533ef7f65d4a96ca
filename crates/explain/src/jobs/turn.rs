//! Where a thread's jobs can begin and end: at the sleeps that its timers and wakers end.

use tactus_model::recording::{Dictionary, Event, EventKind, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::machine::{Absence, Activity, Armed, Machine, Observer, TimerFire, Waker};
use crate::outcome::MatchOutcome;
use crate::symbol::source_name;

/// What ends the sleeps of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Its timers, each armed for a time.
    Timer,
    /// Its timers, each armed for a duration: sleeps from wherever the thread is.
    RelativeTimer,
    /// A thread that wakes it.
    Thread(ThreadId),
    /// An interrupt or a softirq that wakes it.
    Interrupt(Activity),
    /// Marks that the thread writes at the beginning of its jobs.
    Mark,
    /// Nothing: its program reports its jobs.
    Report,
}

impl Source {
    fn of_timer(armed: Option<Armed>) -> Self {
        match armed.is_some_and(|armed| armed.is_relative) {
            true => Self::RelativeTimer,
            false => Self::Timer,
        }
    }
}

/// The possible end of a job and beginning of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) thread: ThreadId,
    pub(super) source: Source,
    /// When the timer was due, or when the thread was woken.
    pub(super) due: Instant<Monotonic>,
    /// When the thread left its CPU to sleep until then.
    pub(super) left: Instant<Monotonic>,
    /// The sleep; `None` if the due time was past before the thread could sleep.
    pub(super) sleep: Option<Absence>,
}

impl Turn {
    /// How the thread began the job after this turn.
    pub(super) fn outcome(&self) -> MatchOutcome {
        match (self.source, self.sleep) {
            (Source::Mark | Source::Report, _) => MatchOutcome::Marked,
            (_, None) => MatchOutcome::AlreadyPast,
            (Source::Timer | Source::RelativeTimer, Some(_)) => MatchOutcome::Timer,
            (Source::Thread(_), Some(_)) => MatchOutcome::WokenByThread,
            (Source::Interrupt(_), Some(_)) => MatchOutcome::WokenByInterrupt,
        }
    }
}

/// A mark that a thread writes to `trace_marker`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobMark {
    Begin,
    End,
}

impl JobMark {
    /// The mark of an event, if it is one: a line that begins with `tactus: job begin` or
    /// `tactus: job end`.
    pub(super) fn of(event: &Event, names: &Dictionary) -> Option<Self> {
        let EventKind::Mark { text } = event.kind else { return None };
        let words = names.name(text).strip_prefix("tactus: job ")?;
        match words.split_whitespace().next()? {
            "begin" => Some(Self::Begin),
            "end" => Some(Self::End),
            _ => None,
        }
    }
}

/// What the replay reports of one event.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The absence that the last event ended.
    pub(super) ended: Option<Absence>,
    /// The timer that the last event began to serve.
    pub(super) fired: Option<TimerFire>,
    /// The timer that the last event cancelled.
    pub(super) cancelled: Option<Armed>,
}

impl Heard {
    /// The turn that the last event shows.
    pub(super) fn turn(
        &self,
        event: &Event,
        machine: &Machine,
        names: &Dictionary,
    ) -> Option<Turn> {
        if JobMark::of(event, names) == Some(JobMark::Begin) {
            let (thread, source, at) = (event.thread, Source::Mark, event.at);
            return Some(Turn { thread, source, due: at, left: at, sleep: None });
        }
        self.ended.and_then(after_sleep).or_else(|| without_sleep(&self.fired?, machine, names))
    }
}

/// The turn at the end of a sleep.
fn after_sleep(absence: Absence) -> Option<Turn> {
    let waking = absence.waking.filter(|_| absence.slept())?;
    let (source, due) = match waking.by {
        // How a timer was armed is unknown only at the beginning of a recording.
        Waker::Timer(fire) => {
            (Source::of_timer(fire.armed), fire.soft_expires().unwrap_or(fire.irq_at))
        }
        Waker::Interrupt(activity) => (Source::Interrupt(activity), waking.at),
        Waker::Thread(thread) => (Source::Thread(thread), waking.at),
    };
    let (thread, left) = (absence.thread, absence.left_at);
    Some(Turn { thread, source, due, left, sleep: Some(absence) })
}

/// The turn of a thread that went to sleep until a due time that was past, or nearly so: its
/// timer is served before it has left the CPU.
fn without_sleep(fire: &TimerFire, machine: &Machine, names: &Dictionary) -> Option<Turn> {
    let armed = fire.armed?;
    let function = source_name(names.function_name(fire.function));
    // Only the timer of a sleep is armed by the thread that sleeps, at its sleep.
    if function != "hrtimer_wakeup" || machine.absence_of(armed.by).is_some_and(Absence::slept) {
        return None;
    }
    let (due, left) = (fire.on_monotonic(armed.soft_expires.max(Nanos::ZERO)), armed.at);
    let (thread, source) = (armed.by, Source::of_timer(Some(armed)));
    Some(Turn { thread, source, due, left, sleep: None })
}

impl Observer for Heard {
    fn absence(&mut self, absence: &Absence) {
        self.ended = Some(*absence);
    }

    fn fired(&mut self, fire: &TimerFire) {
        self.fired = Some(*fire);
    }

    fn cancelled(&mut self, armed: &Armed) {
        self.cancelled = Some(*armed);
    }
}
