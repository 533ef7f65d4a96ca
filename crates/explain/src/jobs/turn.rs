//! Where a thread's jobs can begin and end: at the sleeps that its timers and wakers end.

use tactus_model::recording::{Dictionary, Event, EventKind, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::cpu_time::{CpuTime, CpuTimes};
use crate::log::Log;
use crate::machine::{
    Absence, Activity, Machine, Migration, Observer, Overdue, PriorityChange, Reranked, Silence,
    Slice, Steal, TimerFire, Waker,
};
use crate::outcome::MatchOutcome;
use crate::symbol::source_name;

/// What ends the sleeps of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Its timers.
    Timer,
    /// A thread that wakes it.
    Thread(ThreadId),
    /// An interrupt or a softirq that wakes it.
    Interrupt(Activity),
    /// Marks that the thread writes at the beginning of its jobs.
    Mark,
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
            (Source::Mark, _) => MatchOutcome::Marked,
            (_, None) => MatchOutcome::AlreadyPast,
            (Source::Timer, Some(_)) => MatchOutcome::Timer,
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

/// Collects what the replay reports of one event, and the log of all.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) log: Log,
    /// The absence that the last event ended.
    pub(super) ended: Option<Absence>,
    /// The timer that the last event began to serve.
    pub(super) fired: Option<TimerFire>,
    /// What the periodic threads have used.
    pub(super) used: CpuTimes,
}

impl Heard {
    /// What a periodic thread has used up to the last event.
    pub(super) fn used_by(&self, thread: ThreadId, event: &Event, machine: &Machine) -> CpuTime {
        let cpu = machine.cpus().get(event.cpu as usize);
        let open = cpu.and_then(|cpu| cpu.open_slice(event.cpu, machine.now()));
        self.used.of(thread, open.as_ref())
    }

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
        Waker::Timer(fire) => (Source::Timer, fire.soft_expires().unwrap_or(fire.irq_at)),
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
    Some(Turn { thread: armed.by, source: Source::Timer, due, left, sleep: None })
}

impl Observer for Heard {
    fn slice(&mut self, slice: Slice) {
        self.used.slice(&slice);
        self.log.push_slice(slice);
    }

    fn reranked(&mut self, reranked: Reranked) {
        self.log.rerank(reranked);
    }

    fn absence(&mut self, absence: &Absence) {
        self.ended = Some(*absence);
        self.log.push_absence(absence);
    }

    fn fired(&mut self, fire: &TimerFire) {
        self.fired = Some(*fire);
    }

    fn overdue(&mut self, overdue: Overdue) {
        self.log.push_overdue(overdue);
    }

    fn silence(&mut self, silence: Silence) {
        self.log.push_silence(silence);
    }

    fn steal(&mut self, steal: Steal) {
        self.used.steal(&steal);
        self.log.push_steal(steal);
    }

    fn migration(&mut self, migration: Migration) {
        self.log.push_migration(migration);
    }

    fn inheritance(&mut self, change: PriorityChange) {
        self.log.push_inheritance(change);
    }
}
