//! Whether the kernel tells anything of a processor's idle thread.
//!
//! In some guests it tells no event that an idle thread meets in its own time, whichever
//! mechanism asks: switches into it are told, switches out of it never, nor its idle
//! states; interrupts in its time are. Nothing counts such events as lost.

use tactus_model::recording::EventKind;
use tactus_model::result::Shortfall;

/// So many switches into the idle thread and none out of it are no chance: a recording
/// begins and ends in the middle of at most one stay.
const SWITCHES_MIN: u64 = 20;

/// The switches into and out of one processor's idle thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdleThread {
    into: u64,
    out_of: u64,
}

impl IdleThread {
    /// Takes an event of its processor.
    #[inline]
    pub(super) fn take(&mut self, event: &EventKind) {
        if let EventKind::Switch { prev, next, .. } = event {
            self.out_of += u64::from(prev.is_idle());
            self.into += u64::from(next.is_idle());
        }
    }

    /// What is to be told when nothing was told of the idle thread of `cpu`.
    pub(super) fn shortfall(self, cpu: u32) -> Option<Shortfall> {
        let is_mute = self.out_of == 0 && self.into >= SWITCHES_MIN;
        is_mute.then(|| Shortfall {
            asked: format!("all events of processor {cpu}"),
            granted: "switches out of idle as they follow from what came after".to_owned(),
            reason: format!(
                "the kernel tells nothing of the idle thread of processor {cpu}, \
                 no switch out of it for one"
            ),
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
    fn an_idle_thread_is_mute_when_nobody_comes_back_from_it() {
        check(&[(7, 0)], 20, true);
        check(&[(7, 0)], 19, false);
        check(&[(7, 0), (0, 7)], 20, false);
        check(&[(7, 8), (8, 7)], 200, false);
    }

    #[test]
    fn it_is_told_by_the_number_of_its_processor() {
        let told = IdleThread { into: 31, out_of: 0 }.shortfall(3).unwrap();
        assert_eq!(
            told.reason,
            "the kernel tells nothing of the idle thread of processor 3, no switch out of it for one"
        );
    }
}
