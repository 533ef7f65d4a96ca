//! Detects idle threads for which the kernel writes no events.
//!
//! In some guests the kernel writes no events while an idle thread is current, with
//! either mechanism: there are switches to the idle thread but none away from it, and no
//! idle states; interrupts in its time do have events. The kernel does not count the
//! missing events as lost.

use tactus_model::recording::EventKind;
use tactus_model::result::Shortfall;

/// This many switches to the idle thread and none away from it are not a coincidence: a
/// recording starts and ends within at most one stay.
const SWITCHES_MIN: u64 = 20;

/// The switches to and from one CPU's idle thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdleThread {
    into: u64,
    out_of: u64,
}

impl IdleThread {
    /// Takes an event of the CPU.
    #[inline]
    pub(super) fn take(&mut self, event: &EventKind) {
        if let EventKind::Switch { prev, next, .. } = event {
            self.out_of += u64::from(prev.is_idle());
            self.into += u64::from(next.is_idle());
        }
    }

    /// The shortfall to report if the idle thread of `cpu` has no events.
    pub(super) fn shortfall(self, cpu: u32) -> Option<Shortfall> {
        let is_mute = self.out_of == 0 && self.into >= SWITCHES_MIN;
        is_mute.then(|| Shortfall {
            asked: format!("all events of CPU {cpu}"),
            granted: "all but its switches from idle, which are inferred from later events"
                .to_owned(),
            reason: format!("the kernel writes no events while CPU {cpu} is idle"),
            fix: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::recording::{NameId, Priority, TaskState, ThreadId};

    use super::*;

    fn switch(prev: i32, next: i32) -> EventKind {
        EventKind::Switch {
            prev: ThreadId(prev),
            prev_name: NameId::UNKNOWN,
            prev_priority: Priority(120),
            prev_state: TaskState::SLEEPING,
            next: ThreadId(next),
            next_name: NameId::UNKNOWN,
            next_priority: Priority(120),
        }
    }

    fn check(switches: &[(i32, i32)], times: usize, is_mute: bool) {
        let mut idle = IdleThread::default();
        for (prev, next) in switches.repeat(times) {
            idle.take(&switch(prev, next));
        }
        assert_eq!(idle.shortfall(1).is_some(), is_mute, "{switches:?} {times} times");
    }

    #[test]
    fn an_idle_thread_without_switches_from_it_is_mute() {
        check(&[(7, 0)], 20, true);
        check(&[(7, 0)], 19, false);
        check(&[(7, 0), (0, 7)], 20, false);
        check(&[(7, 8), (8, 7)], 200, false);
    }

    #[test]
    fn the_shortfall_names_the_cpu() {
        let shortfall = IdleThread { into: 31, out_of: 0 }.shortfall(3).unwrap();
        assert_eq!(shortfall.reason, "the kernel writes no events while CPU 3 is idle");
    }
}
