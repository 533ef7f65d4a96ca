//! The recorded tracepoints, the fields that are read from them, and their meaning.

use tactus_model::recording::{
    EventKind, InterruptVector, LockKind, PageFault, Priority, Reclaim, SleepingCall, Softirq,
    TaskState, ThreadId, Wakeup,
};
use tactus_model::time::Nanos;

use super::decoder::Values;
use super::names::Names;

/// A tracepoint that can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is documented at the event that it becomes")]
pub enum Tracepoint {
    Switch,
    Waking,
    Wakeup,
    WakeupNew,
    Migrate,
    Runtime,
    Fork,
    Exit,
    HrtimerStart,
    HrtimerCancel,
    HrtimerExpireEntry,
    HrtimerExpireExit,
    TimerExpireEntry,
    TimerExpireExit,
    VectorEntry(InterruptVector),
    VectorExit(InterruptVector),
    IrqEntry,
    IrqExit,
    SoftirqRaise,
    SoftirqEntry,
    SoftirqExit,
    Idle,
    CallEnter(SleepingCall),
    CallExit(SleepingCall),
    SignalDeliver,
    BlockIssue,
    BlockComplete,
    WorkStart,
    WorkEnd,
    PageFaultUser,
    PageFaultKernel,
    InheritPriority,
    ContentionBegin,
    ContentionEnd,
    ReclaimBegin(Reclaim),
    ReclaimEnd(Reclaim),
    CompactionBegin,
    CompactionEnd,
    BlockStart,
    BlockedReason,
    SystemCallEnter,
    SystemCallExit,
    Mark,
}

/// The tracepoints without parameters, in the order of the documentation.
const SINGLE: [Tracepoint; 37] = [
    Tracepoint::Switch,
    Tracepoint::Waking,
    Tracepoint::Wakeup,
    Tracepoint::WakeupNew,
    Tracepoint::Migrate,
    Tracepoint::Runtime,
    Tracepoint::Fork,
    Tracepoint::Exit,
    Tracepoint::HrtimerStart,
    Tracepoint::HrtimerCancel,
    Tracepoint::HrtimerExpireEntry,
    Tracepoint::HrtimerExpireExit,
    Tracepoint::TimerExpireEntry,
    Tracepoint::TimerExpireExit,
    Tracepoint::IrqEntry,
    Tracepoint::IrqExit,
    Tracepoint::SoftirqRaise,
    Tracepoint::SoftirqEntry,
    Tracepoint::SoftirqExit,
    Tracepoint::Idle,
    Tracepoint::SignalDeliver,
    Tracepoint::BlockIssue,
    Tracepoint::BlockComplete,
    Tracepoint::WorkStart,
    Tracepoint::WorkEnd,
    Tracepoint::PageFaultUser,
    Tracepoint::PageFaultKernel,
    Tracepoint::InheritPriority,
    Tracepoint::ContentionBegin,
    Tracepoint::ContentionEnd,
    Tracepoint::CompactionBegin,
    Tracepoint::CompactionEnd,
    Tracepoint::BlockStart,
    Tracepoint::BlockedReason,
    Tracepoint::SystemCallEnter,
    Tracepoint::SystemCallExit,
    Tracepoint::Mark,
];

/// The state of a C-state exit (`PWR_EVENT_EXIT`).
const IDLE_EXIT: i64 = u32::MAX as i64;

impl Tracepoint {
    /// Every tracepoint that can be recorded.
    pub fn all() -> Vec<Self> {
        let mut all = SINGLE.to_vec();
        for &vector in InterruptVector::ALL {
            all.extend([Self::VectorEntry(vector), Self::VectorExit(vector)]);
        }
        for &call in SleepingCall::ALL {
            all.extend([Self::CallEnter(call), Self::CallExit(call)]);
        }
        for &reclaim in Reclaim::ALL {
            all.extend([Self::ReclaimBegin(reclaim), Self::ReclaimEnd(reclaim)]);
        }
        all
    }

    /// The kernel's name, for example `sched/sched_switch`.
    pub fn name(self) -> String {
        let name = match self {
            Self::Switch => "sched/sched_switch",
            Self::Waking => "sched/sched_waking",
            Self::Wakeup => "sched/sched_wakeup",
            Self::WakeupNew => "sched/sched_wakeup_new",
            Self::Migrate => "sched/sched_migrate_task",
            Self::Runtime => "sched/sched_stat_runtime",
            Self::Fork => "sched/sched_process_fork",
            Self::Exit => "sched/sched_process_exit",
            Self::HrtimerStart => "timer/hrtimer_start",
            Self::HrtimerCancel => "timer/hrtimer_cancel",
            Self::HrtimerExpireEntry => "timer/hrtimer_expire_entry",
            Self::HrtimerExpireExit => "timer/hrtimer_expire_exit",
            Self::TimerExpireEntry => "timer/timer_expire_entry",
            Self::TimerExpireExit => "timer/timer_expire_exit",
            Self::VectorEntry(vector) => return format!("irq_vectors/{vector}_entry"),
            Self::VectorExit(vector) => return format!("irq_vectors/{vector}_exit"),
            Self::IrqEntry => "irq/irq_handler_entry",
            Self::IrqExit => "irq/irq_handler_exit",
            Self::SoftirqRaise => "irq/softirq_raise",
            Self::SoftirqEntry => "irq/softirq_entry",
            Self::SoftirqExit => "irq/softirq_exit",
            Self::Idle => "power/cpu_idle",
            Self::CallEnter(call) => return format!("syscalls/sys_enter_{call}"),
            Self::CallExit(call) => return format!("syscalls/sys_exit_{call}"),
            Self::SignalDeliver => "signal/signal_deliver",
            Self::BlockIssue => "block/block_rq_issue",
            Self::BlockComplete => "block/block_rq_complete",
            Self::WorkStart => "workqueue/workqueue_execute_start",
            Self::WorkEnd => "workqueue/workqueue_execute_end",
            Self::PageFaultUser => "exceptions/page_fault_user",
            Self::PageFaultKernel => "exceptions/page_fault_kernel",
            Self::InheritPriority => "sched/sched_pi_setprio",
            Self::ContentionBegin => "lock/contention_begin",
            Self::ContentionEnd => "lock/contention_end",
            Self::ReclaimBegin(reclaim) => {
                return format!("vmscan/mm_vmscan_{reclaim}_reclaim_begin");
            }
            Self::ReclaimEnd(reclaim) => return format!("vmscan/mm_vmscan_{reclaim}_reclaim_end"),
            Self::CompactionBegin => "compaction/mm_compaction_begin",
            Self::CompactionEnd => "compaction/mm_compaction_end",
            Self::BlockStart => "block/block_io_start",
            Self::BlockedReason => "sched/sched_blocked_reason",
            Self::SystemCallEnter => "raw_syscalls/sys_enter",
            Self::SystemCallExit => "raw_syscalls/sys_exit",
            Self::Mark => "ftrace/print",
        };
        name.to_owned()
    }

    /// What a recording does not show if the kernel lacks the event; `None` if the event's name
    /// says so.
    pub const fn unknown_without(self) -> Option<&'static str> {
        Some(match self {
            Self::InheritPriority => "an inherited priority shows only at switches",
            Self::ContentionBegin | Self::ContentionEnd => {
                "only call chains show waits for a lock of the kernel"
            }
            Self::ReclaimBegin(_)
            | Self::ReclaimEnd(_)
            | Self::CompactionBegin
            | Self::CompactionEnd => "only call chains show waits for memory",
            Self::BlockStart => "the thread that made a block request is unknown",
            Self::BlockedReason => "only call chains show where a thread was blocked",
            Self::SystemCallEnter | Self::SystemCallExit => {
                "the arguments of system calls are unknown"
            }
            _ => return None,
        })
    }

    /// The fields to read, in the order in which [`Self::event`] takes them.
    pub(super) const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Switch => &[
                "prev_comm",
                "prev_pid",
                "prev_prio",
                "prev_state",
                "next_comm",
                "next_pid",
                "next_prio",
            ],
            Self::Waking | Self::Wakeup | Self::WakeupNew => &["comm", "pid", "prio", "target_cpu"],
            Self::Migrate => &["pid", "prio", "orig_cpu", "dest_cpu"],
            Self::Runtime => &["pid", "runtime"],
            Self::Fork => &["child_comm", "child_pid"],
            Self::Exit => &["pid"],
            Self::HrtimerStart => &["hrtimer", "function", "expires", "softexpires", "mode"],
            Self::HrtimerCancel | Self::HrtimerExpireExit => &["hrtimer"],
            Self::HrtimerExpireEntry => &["hrtimer", "function", "now"],
            Self::TimerExpireEntry => &["timer", "function", "now"],
            Self::TimerExpireExit => &["timer"],
            Self::VectorEntry(_) | Self::VectorExit(_) | Self::CallEnter(_) => &[],
            Self::IrqEntry => &["irq", "name"],
            Self::IrqExit => &["irq", "ret"],
            Self::SoftirqRaise | Self::SoftirqEntry | Self::SoftirqExit => &["vec"],
            Self::Idle => &["state"],
            Self::CallExit(_) => &["ret"],
            Self::SignalDeliver => &["sig"],
            Self::BlockIssue | Self::BlockStart => &["dev", "sector", "nr_sector"],
            Self::BlockComplete => &["dev", "sector", "nr_sector", "error"],
            Self::WorkStart | Self::WorkEnd => &["work", "function"],
            Self::PageFaultUser | Self::PageFaultKernel => &["address", "ip", "error_code"],
            Self::InheritPriority => &["pid", "oldprio", "newprio"],
            Self::ContentionBegin => &["lock_addr", "flags"],
            Self::ContentionEnd => &["lock_addr", "ret"],
            Self::ReclaimBegin(_) => &["order"],
            Self::ReclaimEnd(_) => &["nr_reclaimed"],
            Self::CompactionBegin => &["sync"],
            Self::CompactionEnd => &["status"],
            Self::BlockedReason => &["pid", "caller", "io_wait"],
            Self::SystemCallEnter => &["id", "args"],
            Self::SystemCallExit => &["id", "ret"],
            Self::Mark => &["buf"],
        }
    }

    /// The event of a record with these values of [`Self::fields`].
    pub(super) fn event(self, values: &Values<'_>, names: &mut Names) -> EventKind {
        let int = |index| values.int(index);
        let address = |index| values.int(index) as u64;
        let thread = |index| ThreadId(values.int(index) as i32);
        let priority = |index| Priority::from_kernel(values.int(index));
        // A timer that never expires has the maximum; no timer is negative.
        let timer_time = |index| Nanos::from_nanos(values.int(index).max(0) as u64);
        let wakeup = |names: &mut Names| Wakeup {
            thread: thread(1),
            name: names.thread_name(values.bytes(0)),
            priority: priority(2),
            target_cpu: int(3) as u32,
        };
        let fault = || PageFault {
            address: address(0),
            instruction: address(1),
            error_code: int(2) as u32,
        };
        match self {
            Self::Switch => EventKind::Switch {
                prev_name: names.thread_name(values.bytes(0)),
                prev: thread(1),
                prev_priority: priority(2),
                prev_state: TaskState::from_kernel(int(3)),
                next_name: names.thread_name(values.bytes(4)),
                next: thread(5),
                next_priority: priority(6),
            },
            Self::Waking => EventKind::Waking(wakeup(names)),
            Self::Wakeup => EventKind::Wakeup(wakeup(names)),
            Self::WakeupNew => EventKind::WakeupNew(wakeup(names)),
            Self::Migrate => EventKind::Migrate {
                thread: thread(0),
                priority: priority(1),
                from_cpu: int(2) as u32,
                to_cpu: int(3) as u32,
            },
            Self::Runtime => {
                EventKind::Runtime { thread: thread(0), runtime: Nanos::from_nanos(int(1) as u64) }
            }
            Self::Fork => {
                EventKind::Fork { child_name: names.thread_name(values.bytes(0)), child: thread(1) }
            }
            Self::Exit => EventKind::Exit { thread: thread(0) },
            Self::HrtimerStart => EventKind::HrtimerStart {
                timer: address(0),
                function: names.function(address(1)),
                expires: timer_time(2),
                soft_expires: timer_time(3),
                mode: int(4) as u8,
            },
            Self::HrtimerCancel => EventKind::HrtimerCancel { timer: address(0) },
            Self::HrtimerExpireEntry => EventKind::HrtimerExpireEntry {
                timer: address(0),
                function: names.function(address(1)),
                now: timer_time(2),
            },
            Self::HrtimerExpireExit => EventKind::HrtimerExpireExit { timer: address(0) },
            Self::TimerExpireEntry => EventKind::TimerExpireEntry {
                timer: address(0),
                function: names.function(address(1)),
                now_jiffies: address(2),
            },
            Self::TimerExpireExit => EventKind::TimerExpireExit { timer: address(0) },
            Self::VectorEntry(vector) => EventKind::VectorEntry(vector),
            Self::VectorExit(vector) => EventKind::VectorExit(vector),
            Self::IrqEntry => {
                EventKind::IrqEntry { irq: int(0) as i32, name: names.text(values.bytes(1)) }
            }
            Self::IrqExit => EventKind::IrqExit { irq: int(0) as i32, handled: int(1) != 0 },
            Self::SoftirqRaise => EventKind::SoftirqRaise(Softirq(int(0) as u8)),
            Self::SoftirqEntry => EventKind::SoftirqEntry(Softirq(int(0) as u8)),
            Self::SoftirqExit => EventKind::SoftirqExit(Softirq(int(0) as u8)),
            Self::Idle if int(0) == IDLE_EXIT => EventKind::IdleExit,
            Self::Idle => EventKind::IdleEntry { state: int(0) as u32 },
            Self::CallEnter(call) => EventKind::CallEnter(call),
            Self::CallExit(call) => EventKind::CallExit { call, returned: int(0) },
            Self::SignalDeliver => EventKind::SignalDeliver { signal: int(0) as i32 },
            Self::BlockIssue => EventKind::BlockIssue {
                device: int(0) as u32,
                sector: address(1),
                sectors: int(2) as u32,
            },
            Self::BlockComplete => EventKind::BlockComplete {
                device: int(0) as u32,
                sector: address(1),
                sectors: int(2) as u32,
                error: int(3) as i32,
            },
            Self::WorkStart => {
                EventKind::WorkStart { work: address(0), function: names.function(address(1)) }
            }
            Self::WorkEnd => {
                EventKind::WorkEnd { work: address(0), function: names.function(address(1)) }
            }
            Self::PageFaultUser => EventKind::PageFaultUser(fault()),
            Self::PageFaultKernel => EventKind::PageFaultKernel(fault()),
            Self::InheritPriority => {
                EventKind::InheritPriority { thread: thread(0), old: priority(1), new: priority(2) }
            }
            Self::ContentionBegin => {
                EventKind::ContentionBegin { lock: address(0), kind: LockKind(int(1) as u8) }
            }
            Self::ContentionEnd => {
                EventKind::ContentionEnd { lock: address(0), error: int(1) as i32 }
            }
            Self::ReclaimBegin(reclaim) => EventKind::ReclaimBegin { reclaim, order: int(0) as u8 },
            Self::ReclaimEnd(reclaim) => EventKind::ReclaimEnd { reclaim, pages: address(0) },
            Self::CompactionBegin => EventKind::CompactionBegin { sync: int(0) != 0 },
            Self::CompactionEnd => EventKind::CompactionEnd { status: int(0) as u8 },
            Self::BlockStart => EventKind::BlockStart {
                device: int(0) as u32,
                sector: address(1),
                sectors: int(2) as u32,
            },
            Self::BlockedReason => EventKind::BlockedReason {
                thread: thread(0),
                place: names.function(address(1)),
                io: int(2) != 0,
            },
            Self::SystemCallEnter => EventKind::SystemCallEnter {
                call: names.system_call(int(0)),
                arguments: [0, 1, 2].map(|index| values.word(1, index)),
            },
            Self::SystemCallExit => {
                EventKind::SystemCallExit { call: names.system_call(int(0)), returned: int(1) }
            }
            Self::Mark => EventKind::Mark { text: names.mark(values.bytes(0)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_tracepoint_is_there_once() {
        let all = Tracepoint::all();
        let names: BTreeSet<String> = all.iter().map(|tracepoint| tracepoint.name()).collect();
        assert_eq!(names.len(), all.len());
        assert!(names.contains("irq_vectors/local_timer_entry"));
        assert!(names.contains("syscalls/sys_exit_clock_nanosleep"));
    }
}
