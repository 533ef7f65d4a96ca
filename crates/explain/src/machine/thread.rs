//! The state of one thread during the replay.

use tactus_model::recording::{ChainId, NameId, TaskState, ThreadId, Wakeup};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::cpu::{Known, UNKNOWN_PRIORITY};
use super::errand::Errand;
use super::observer::Absence;
use super::span::Activity;
use super::timer::TimerFire;

/// How long before a thread leaves asleep it may already have been woken.
///
/// Another CPU writes `sched_waking` before it takes the thread's lock, so this event
/// may come before the `sched_switch` event of a thread that is leaving.
const WOKEN_WHILE_LEAVING: Nanos = Nanos::from_micros(200);

/// Who woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// The function of a high-resolution timer.
    Timer(TimerFire),
    /// An interrupt or softirq, in this activity.
    Interrupt(Activity),
    /// Another thread, or the thread's own CPU if nothing more is known.
    Thread(ThreadId),
}

/// The moment at which a thread was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waking {
    /// When.
    pub at: Instant<Monotonic>,
    /// The CPU that woke it.
    pub cpu: u32,
    /// The waker.
    pub by: Waker,
}

/// A missing sched_switch event of a thread that is on a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct MissingSwitch {
    /// The latest time at which another thread is known to have been on the CPU.
    pub(super) since: Instant<Monotonic>,
    /// The time of the thread's first event on the CPU.
    pub(super) at: Instant<Monotonic>,
    /// The CPU.
    pub(super) cpu: u32,
}

/// What the replay knows about a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadState {
    pub(super) known: Known,
    pub(super) watched: Option<u16>,
    /// Whether it was seen on a CPU and has not left since.
    present: bool,
    pub(super) absence: Option<Absence>,
    /// A waking that came while it was present.
    early: Option<Waking>,
    /// What it does in the kernel.
    pub(super) errand: Errand,
}

impl ThreadState {
    pub(super) const fn unknown(thread: ThreadId) -> Self {
        let known = Known { thread, name: NameId::UNKNOWN, priority: UNKNOWN_PRIORITY, own: None };
        Self {
            known,
            watched: None,
            present: false,
            absence: None,
            early: None,
            errand: Errand::NONE,
        }
    }

    /// The thread leaves the CPU.
    pub(super) fn leave(
        &mut self,
        at: Instant<Monotonic>,
        cpu: u32,
        state: TaskState,
        known: Known,
        chain: Option<ChainId>,
    ) {
        self.known = known;
        let early = self
            .early
            .take()
            .filter(|waking| !state.is_runnable() && at - waking.at <= WOKEN_WHILE_LEAVING);
        self.present = false;
        self.absence = Some(Absence {
            thread: self.known.thread,
            priority: known.priority,
            watched: self.watched,
            left_at: at,
            left_cpu: cpu,
            left_state: state,
            left_chain: chain,
            errand: self.errand,
            waking: early,
            queued: None,
            back_at: Instant::from_nanos(u64::MAX),
            back_cpu: cpu,
            back_at_min: None,
        });
    }

    /// The thread comes to a CPU; returns the absence that ends, if its start was seen.
    pub(super) fn come(
        &mut self,
        at: Instant<Monotonic>,
        cpu: u32,
        known: Known,
    ) -> Option<Absence> {
        self.known = known;
        self.present = true;
        self.early = None;
        let mut absence = self.absence.take()?;
        absence.back_at = at;
        absence.back_cpu = cpu;
        Some(absence)
    }

    /// The thread has an event although its sched_switch event is missing; returns the
    /// absence that ends, if everything else about it was recorded and nothing was lost
    /// since `lost_until`.
    ///
    /// Some kernels write no events while certain threads are current, mostly the idle
    /// thread of some CPUs, and so no switch away from them. Only that switch can be
    /// missing here: if another thread with events had run in between, the next switch
    /// would have shown it.
    pub(super) fn come_without_switch(
        &mut self,
        missing: MissingSwitch,
        lost_until: Instant<Monotonic>,
    ) -> Option<Absence> {
        let could_run = match &self.absence {
            Some(absence) if absence.left_at < lost_until => return None,
            Some(absence) if absence.slept() => absence.waking?.at,
            Some(absence) => absence.left_at,
            None => return None,
        };
        let MissingSwitch { since, at, cpu } = missing;
        let mut absence = self.come(at, cpu, self.known)?;
        absence.back_at_min = Some(since.max(could_run).min(at));
        Some(absence)
    }

    /// The thread is on a CPU although its sched_switch event is missing; returns
    /// whether it was known to be absent.
    pub(super) fn appear(&mut self) -> bool {
        self.present = true;
        self.early = None;
        self.absence.take().is_some()
    }

    /// The thread is woken; returns whether it was present, as far as is known.
    pub(super) fn wake(&mut self, waking: Waking) -> bool {
        match &mut self.absence {
            Some(absence) => {
                absence.waking = Some(waking);
                false
            }
            None => {
                self.early = Some(waking);
                self.present
            }
        }
    }

    /// The thread was just made and waits for its first turn.
    pub(super) fn begin(&mut self, at: Instant<Monotonic>, waking: Waking, wakeup: Wakeup) {
        let Wakeup { thread, name, priority, .. } = wakeup;
        self.known = Known { thread, name, priority, own: None };
        self.present = false;
        self.absence = Some(Absence {
            thread: self.known.thread,
            priority: wakeup.priority,
            watched: self.watched,
            left_at: at,
            left_cpu: wakeup.target_cpu,
            left_state: TaskState::SLEEPING,
            left_chain: None,
            errand: Errand::NONE,
            waking: Some(waking),
            queued: Some((at, wakeup.target_cpu)),
            back_at: Instant::from_nanos(u64::MAX),
            back_cpu: wakeup.target_cpu,
            back_at_min: None,
        });
    }
}
