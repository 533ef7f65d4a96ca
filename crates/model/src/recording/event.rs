//! One kernel event.

use serde::{Deserialize, Serialize};

use super::dictionary::{ChainId, FunctionId, NameId};
use super::interrupt::{InterruptVector, Softirq};
use super::kernel_wait::{LockKind, Reclaim};
use super::syscall::SleepingCall;
use super::thread::{Priority, TaskState, ThreadId};
use crate::time::{Instant, Monotonic, Nanos};

/// One kernel event: time, CPU, current thread, and kind.
///
/// The size is fixed (56 bytes), so that a vector of millions is one block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When the kernel recorded it.
    pub at: Instant<Monotonic>,
    /// The CPU that recorded it.
    pub cpu: u32,
    /// The current thread (`common_pid`), also if an interrupt handler was running.
    pub thread: ThreadId,
    /// The state of the CPU at that time.
    pub context: Context,
    /// The call chain in the kernel, if call chains were requested and permitted.
    pub chain: Option<ChainId>,
    /// The kind of event.
    pub kind: EventKind,
}

/// The state of the CPU when an event was recorded.
///
/// `common_flags` and `common_preempt_count` (`enum trace_flag_type` in
/// `include/linux/trace_events.h`), without the effect of recording itself: perf disables
/// preemption while it records, so its raw count is 1 higher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Context {
    /// The kernel's `common_flags`.
    pub flags: u8,
    /// The kernel's `common_preempt_count`: the low half counts disabled preemption, the high
    /// half disabled migration; each saturates at 15.
    pub preempt_count: u8,
}

impl Context {
    /// The flag for disabled interrupts.
    pub const IRQS_OFF: u8 = 0x01;
    /// The flag that asks the current thread to reschedule.
    pub const NEED_RESCHED: u8 = 0x04;
    /// The flag for a hardware interrupt in progress.
    pub const HARDIRQ: u8 = 0x08;
    /// The flag for a softirq in progress.
    pub const SOFTIRQ: u8 = 0x10;

    /// Whether interrupts were off.
    pub const fn irqs_off(self) -> bool {
        self.flags & Self::IRQS_OFF != 0
    }

    /// Whether the current thread had been asked to reschedule at once.
    pub const fn need_resched(self) -> bool {
        self.flags & Self::NEED_RESCHED != 0
    }

    /// Whether a hardware interrupt was in progress.
    pub const fn in_hardirq(self) -> bool {
        self.flags & Self::HARDIRQ != 0
    }

    /// Whether a softirq was in progress.
    pub const fn in_softirq(self) -> bool {
        self.flags & Self::SOFTIRQ != 0
    }
}

/// The kind of event. Each variant names its tracepoint.
///
/// Timer times are nanoseconds since the origin of the timer's own clock, which the kernel's
/// events do not name; for `CLOCK_MONOTONIC` they are comparable with [`Event::at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The CPU switches from one thread to another.
    #[doc(alias = "sched_switch")]
    Switch {
        /// The previous thread; the same as [`Event::thread`].
        prev: ThreadId,
        /// Its name.
        prev_name: NameId,
        /// Its priority.
        prev_priority: Priority,
        /// Its state as it leaves the CPU.
        prev_state: TaskState,
        /// The next thread.
        next: ThreadId,
        /// Its name.
        next_name: NameId,
        /// Its priority.
        next_priority: Priority,
    },
    /// A thread is about to be made runnable; recorded on the waking CPU. It may occur while
    /// the thread still runs.
    #[doc(alias = "sched_waking")]
    Waking(Wakeup),
    /// A thread was made runnable; recorded on the CPU that enqueued it.
    #[doc(alias = "sched_wakeup")]
    Wakeup(Wakeup),
    /// A new thread was made runnable for the first time.
    #[doc(alias = "sched_wakeup_new")]
    WakeupNew(Wakeup),
    /// A thread moves to the runqueue of another CPU.
    #[doc(alias = "sched_migrate_task")]
    Migrate {
        /// The thread.
        thread: ThreadId,
        /// Its priority.
        priority: Priority,
        /// The old CPU.
        from_cpu: u32,
        /// The new CPU.
        to_cpu: u32,
    },
    /// CPU time charged to a thread since the last charge.
    #[doc(alias = "sched_stat_runtime")]
    Runtime {
        /// The thread.
        thread: ThreadId,
        /// The charged time, without steal time.
        runtime: Nanos,
    },
    /// A thread was created.
    #[doc(alias = "sched_process_fork")]
    Fork {
        /// The new thread; its parent is [`Event::thread`].
        child: ThreadId,
        /// The new thread's name.
        child_name: NameId,
    },
    /// A thread ended.
    #[doc(alias = "sched_process_exit")]
    Exit {
        /// The thread.
        thread: ThreadId,
    },
    /// A high-resolution timer was armed.
    #[doc(alias = "hrtimer_start")]
    HrtimerStart {
        /// The timer's address, which identifies it while it is armed.
        timer: u64,
        /// Its callback.
        function: FunctionId,
        /// The latest expiry time: the due time of a real-time thread.
        expires: Nanos,
        /// The earliest expiry time: the due time if timer slack applies.
        soft_expires: Nanos,
        /// The kernel's `enum hrtimer_mode`.
        mode: u8,
    },
    /// A high-resolution timer was removed from its queue before it expired.
    #[doc(alias = "hrtimer_cancel")]
    HrtimerCancel {
        /// The timer's address.
        timer: u64,
    },
    /// The callback of a high-resolution timer begins.
    #[doc(alias = "hrtimer_expire_entry")]
    HrtimerExpireEntry {
        /// The timer's address.
        timer: u64,
        /// The callback.
        function: FunctionId,
        /// The time the interrupt handler read when it looked for expired timers.
        now: Nanos,
    },
    /// The callback of a high-resolution timer has returned.
    #[doc(alias = "hrtimer_expire_exit")]
    HrtimerExpireExit {
        /// The timer's address.
        timer: u64,
    },
    /// The callback of a jiffies timer begins.
    #[doc(alias = "timer_expire_entry")]
    TimerExpireEntry {
        /// The timer's address.
        timer: u64,
        /// The callback.
        function: FunctionId,
        /// The current jiffies value.
        now_jiffies: u64,
    },
    /// The callback of a jiffies timer has returned.
    #[doc(alias = "timer_expire_exit")]
    TimerExpireExit {
        /// The timer's address.
        timer: u64,
    },
    /// The handler of an interrupt vector begins (`irq_vectors/*_entry`).
    VectorEntry(InterruptVector),
    /// The handler of an interrupt vector has returned (`irq_vectors/*_exit`).
    VectorExit(InterruptVector),
    /// A device's interrupt handler begins.
    #[doc(alias = "irq_handler_entry")]
    IrqEntry {
        /// The interrupt's number.
        irq: i32,
        /// The name of the handler.
        name: NameId,
    },
    /// A device's interrupt handler has returned.
    #[doc(alias = "irq_handler_exit")]
    IrqExit {
        /// The interrupt's number.
        irq: i32,
        /// Whether the handler had work to do.
        handled: bool,
    },
    /// A softirq was raised.
    #[doc(alias = "softirq_raise")]
    SoftirqRaise(Softirq),
    /// A softirq begins.
    #[doc(alias = "softirq_entry")]
    SoftirqEntry(Softirq),
    /// A softirq has ended.
    #[doc(alias = "softirq_exit")]
    SoftirqExit(Softirq),
    /// A CPU enters an idle state.
    #[doc(alias = "cpu_idle")]
    IdleEntry {
        /// The idle state's number; deeper states have higher numbers and longer exit
        /// latencies.
        state: u32,
    },
    /// A CPU leaves an idle state.
    #[doc(alias = "cpu_idle")]
    IdleExit,
    /// The current thread enters a system call in which it may sleep (`sys_enter_*`).
    CallEnter(SleepingCall),
    /// The current thread is about to return from such a call (`sys_exit_*`).
    CallExit {
        /// The system call.
        call: SleepingCall,
        /// Its return value; a negative value is a negated errno(3).
        returned: i64,
    },
    /// A signal is delivered to the current thread.
    #[doc(alias = "signal_deliver")]
    SignalDeliver {
        /// Its number, see signal(7).
        signal: i32,
    },
    /// A request is issued to a block device.
    #[doc(alias = "block_rq_issue")]
    BlockIssue {
        /// The device's number, major above minor (20 bits), in the kernel's internal form.
        device: u32,
        /// The first sector (512 bytes).
        sector: u64,
        /// The number of sectors.
        sectors: u32,
    },
    /// A block device has completed a request.
    #[doc(alias = "block_rq_complete")]
    BlockComplete {
        /// The device's number.
        device: u32,
        /// The first sector.
        sector: u64,
        /// The number of sectors.
        sectors: u32,
        /// 0 or a negated errno(3).
        error: i32,
    },
    /// A kernel worker begins a work item.
    #[doc(alias = "workqueue_execute_start")]
    WorkStart {
        /// The item's address.
        work: u64,
        /// Its function.
        function: FunctionId,
    },
    /// A kernel worker has finished a work item.
    #[doc(alias = "workqueue_execute_end")]
    WorkEnd {
        /// The item's address.
        work: u64,
        /// Its function.
        function: FunctionId,
    },
    /// The handling of a page fault in user mode begins.
    #[doc(alias = "page_fault_user")]
    PageFaultUser(PageFault),
    /// The handling of a page fault in kernel mode begins.
    #[doc(alias = "page_fault_kernel")]
    PageFaultKernel(PageFault),
    /// A thread inherits the priority of a thread that waits for its lock, or returns to its own.
    #[doc(alias = "sched_pi_setprio")]
    InheritPriority {
        /// The thread.
        thread: ThreadId,
        /// Its priority until now.
        old: Priority,
        /// Its priority from now on.
        new: Priority,
    },
    /// The current thread finds a lock of the kernel taken.
    #[doc(alias = "contention_begin")]
    ContentionBegin {
        /// The lock's address.
        lock: u64,
        /// The kind of lock.
        kind: LockKind,
    },
    /// The current thread has the lock, or gives up.
    #[doc(alias = "contention_end")]
    ContentionEnd {
        /// The lock's address.
        lock: u64,
        /// 0 or a negated errno(3).
        error: i32,
    },
    /// The current thread begins to reclaim memory, because an allocation found none.
    #[doc(alias = "mm_vmscan_direct_reclaim_begin")]
    #[doc(alias = "mm_vmscan_memcg_reclaim_begin")]
    ReclaimBegin {
        /// The limit that was reached.
        reclaim: Reclaim,
        /// The wanted memory: 2 to this power pages.
        order: u8,
    },
    /// The current thread has finished reclaiming memory.
    #[doc(alias = "mm_vmscan_direct_reclaim_end")]
    #[doc(alias = "mm_vmscan_memcg_reclaim_end")]
    ReclaimEnd {
        /// The limit that was reached.
        reclaim: Reclaim,
        /// The number of reclaimed pages.
        pages: u64,
    },
    /// The current thread begins to move pages, to make adjacent ones free.
    #[doc(alias = "mm_compaction_begin")]
    CompactionBegin {
        /// Whether it also waits for pages that are in use.
        sync: bool,
    },
    /// The current thread has finished moving pages.
    #[doc(alias = "mm_compaction_end")]
    CompactionEnd {
        /// The kernel's `enum compact_result`.
        status: u8,
    },
    /// The current thread makes a request to a block device; the device may get it later and from
    /// another thread ([`Self::BlockIssue`]).
    #[doc(alias = "block_io_start")]
    BlockStart {
        /// The device's number.
        device: u32,
        /// The first sector.
        sector: u64,
        /// The number of sectors.
        sectors: u32,
    },
    /// Why a thread slept that only the kernel could wake; recorded when it is woken.
    #[doc(alias = "sched_blocked_reason")]
    BlockedReason {
        /// The thread.
        thread: ThreadId,
        /// Where it slept.
        place: FunctionId,
        /// Whether it waited for I/O.
        io: bool,
    },
    /// The current thread enters a system call (`raw_syscalls:sys_enter`).
    SystemCallEnter {
        /// The kernel's name of the call.
        call: NameId,
        /// Its first arguments, as many as name what it may wait for; see the man page of
        /// the call.
        arguments: [u64; 3],
    },
    /// The current thread is about to return from a system call (`raw_syscalls:sys_exit`).
    SystemCallExit {
        /// The kernel's name of the call.
        call: NameId,
        /// Its return value; a negative value is a negated errno(3).
        returned: i64,
    },
    /// The current thread wrote a mark: a line to `trace_marker` of tracefs.
    #[doc(alias = "trace_marker")]
    Mark {
        /// The line, at most [`MARK_BYTES`](crate::limits::MARK_BYTES) long.
        text: NameId,
    },
}

/// The thread that is woken and its target CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// The thread that is woken. [`Event::thread`] is its waker, unless an interrupt woke it.
    pub thread: ThreadId,
    /// Its name.
    pub name: NameId,
    /// Its priority.
    pub priority: Priority,
    /// The CPU on whose runqueue it is placed.
    pub target_cpu: u32,
}

/// The address and cause of a page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// The accessed address.
    pub address: u64,
    /// The instruction that accessed it.
    pub instruction: u64,
    /// The CPU's error code.
    pub error_code: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stays_small() {
        assert_eq!(size_of::<Event>(), 56);
    }
}
