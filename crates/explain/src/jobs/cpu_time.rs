//! The CPU time that the jobs of a thread use.

use serde::{Deserialize, Serialize};
use tactus_model::recording::{Event, ThreadId};
use tactus_model::time::Nanos;

use crate::machine::{Activity, Machine, Observer, Slice, Steal};
use crate::number_map::NumberMap;

/// CPU time of a thread. Steal time that charges show is not a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// The time in which it ran itself.
    pub own: Nanos,
    /// The time that interrupts and softirqs took while it was current. A kernel without
    /// `CONFIG_IRQ_TIME_ACCOUNTING` charges the thread for them.
    pub interrupted: Nanos,
}

impl CpuTime {
    /// Both together.
    pub fn total(&self) -> Nanos {
        self.own + self.interrupted
    }

    /// What was used since `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self { own: self.own - earlier.own, interrupted: self.interrupted - earlier.interrupted }
    }

    fn add(&mut self, slice: &Slice) {
        match slice.activity {
            Activity::Thread | Activity::Reclaim => self.own = self.own + slice.length(),
            Activity::Idle { .. } => {}
            _ => self.interrupted = self.interrupted + slice.length(),
        }
    }
}

/// What some threads have used so far.
#[derive(Debug, Default)]
pub(super) struct CpuTimes {
    of: NumberMap<i32, Counter>,
}

/// Time used and time stolen are counted apart: steal time shows only when the kernel charges the
/// thread, and sums must not shrink.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    used: CpuTime,
    stolen: Nanos,
}

impl CpuTimes {
    /// Counts for a thread from now on.
    pub(super) fn count(&mut self, thread: ThreadId) {
        self.of.entry(thread.0).or_default();
    }

    /// What a thread has used up to this event, the last one of `machine`.
    pub(super) fn up_to(&self, thread: ThreadId, event: &Event, machine: &Machine) -> CpuTime {
        let cpu = machine.cpus().get(event.cpu as usize);
        let open = cpu.and_then(|cpu| cpu.open_slice(event.cpu, machine.now()));
        let Counter { mut used, stolen } = self.of.get(&thread.0).copied().unwrap_or_default();
        if let Some(open) = open.filter(|slice| slice.thread == thread) {
            used.add(&open);
        }
        CpuTime { own: used.own - stolen, ..used }
    }
}

impl Observer for CpuTimes {
    fn slice(&mut self, slice: Slice) {
        if let Some(counter) = self.of.get_mut(&slice.thread.0) {
            counter.used.add(&slice);
        }
    }

    fn steal(&mut self, steal: Steal) {
        if let Some(counter) = self.of.get_mut(&steal.thread.0) {
            counter.stolen = counter.stolen + steal.amount;
        }
    }
}
