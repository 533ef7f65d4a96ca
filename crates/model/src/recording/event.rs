//! One kernel event.

use serde::{Deserialize, Serialize};

use super::dictionary::{ChainId, FunctionId, NameId};
use super::interrupt::{InterruptVector, Softirq};
use super::syscall::SleepingCall;
use super::thread::{Priority, TaskState, ThreadId};
use crate::time::{Instant, Monotonic, Nanos};

/// One kernel event: when, where, in whose time, and what.
///
/// Of fixed size (56 bytes), so that a vector of millions is one piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When the kernel recorded it.
    pub at: Instant<Monotonic>,
    /// On which processor.
    pub cpu: u32,
    /// The thread that was current (`common_pid`), also in an interrupt that took its time.
    pub thread: ThreadId,
    /// The state of the processor at that moment.
    pub context: Context,
    /// Where in the kernel it was, when call chains were asked for and permitted.
    pub chain: Option<ChainId>,
    /// What happened.
    pub kind: EventKind,
}

/// The state of the processor when an event was recorded.
///
/// `common_flags` and `common_preempt_count` (`enum trace_flag_type` in
/// `include/linux/trace_events.h`), without what recording itself adds: the
/// count of perf has one more, since it disables preemption while it records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Context {
    /// The kernel's `common_flags`.
    pub flags: u8,
    /// The kernel's `common_preempt_count`: the low half counts disabled
    /// preemption, the high half disabled migration; each stays at 15.
    pub preempt_count: u8,
}

impl Context {
    /// The flag of disabled interrupts.
    pub const IRQS_OFF: u8 = 0x01;
    /// The flag that asks the current thread to give way.
    pub const NEED_RESCHED: u8 = 0x04;
    /// The flag of a hardware interrupt in progress.
    pub const HARDIRQ: u8 = 0x08;
    /// The flag of a softirq in progress.
    pub const SOFTIRQ: u8 = 0x10;

    /// Whether interrupts were off.
    pub const fn irqs_off(self) -> bool {
        self.flags & Self::IRQS_OFF != 0
    }

    /// Whether the current thread had been asked to give way at once.
    pub const fn need_resched(self) -> bool {
        self.flags & Self::NEED_RESCHED != 0
    }

    /// Whether a hardware interrupt was being served.
    pub const fn in_hardirq(self) -> bool {
        self.flags & Self::HARDIRQ != 0
    }

    /// Whether a softirq was being served.
    pub const fn in_softirq(self) -> bool {
        self.flags & Self::SOFTIRQ != 0
    }
}

/// What happened. Each kind names the tracepoint it stands for.
///
/// Times of timers are nanoseconds since the origin of the timer's own clock,
/// which the kernel's events do not name; for `CLOCK_MONOTONIC` they compare
/// with [`Event::at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The processor goes from one thread to another.
    #[doc(alias = "sched_switch")]
    Switch {
        /// The thread that leaves; the same as [`Event::thread`].
        prev: ThreadId,
        /// Its name.
        prev_name: NameId,
        /// Its priority.
        prev_priority: Priority,
        /// In what state it leaves.
        prev_state: TaskState,
        /// The thread that comes.
        next: ThreadId,
        /// Its name.
        next_name: NameId,
        /// Its priority.
        next_priority: Priority,
    },
    /// A thread is going to be made runnable, told by the processor that wakes
    /// it. It may come while the thread still runs.
    #[doc(alias = "sched_waking")]
    Waking(Wakeup),
    /// A thread has been made runnable, told by the processor that put it on a queue.
    #[doc(alias = "sched_wakeup")]
    Wakeup(Wakeup),
    /// A new thread has been made runnable for the first time.
    #[doc(alias = "sched_wakeup_new")]
    WakeupNew(Wakeup),
    /// A thread goes to the queue of another processor.
    #[doc(alias = "sched_migrate_task")]
    Migrate {
        /// The thread.
        thread: ThreadId,
        /// Its priority.
        priority: Priority,
        /// From here.
        from_cpu: u32,
        /// To there.
        to_cpu: u32,
    },
    /// Processor time charged to a thread since it was last charged.
    #[doc(alias = "sched_stat_runtime")]
    Runtime {
        /// The thread.
        thread: ThreadId,
        /// The time charged; what the host took is not in it.
        runtime: Nanos,
    },
    /// A thread was made.
    #[doc(alias = "sched_process_fork")]
    Fork {
        /// The new thread; its maker is [`Event::thread`].
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
        /// The timer's address: its identity while it is armed.
        timer: u64,
        /// What it will call.
        function: FunctionId,
        /// When it must have expired: the due time of a real-time thread.
        expires: Nanos,
        /// When it may expire at the earliest: the due time where timer slack applies.
        soft_expires: Nanos,
        /// The kernel's `enum hrtimer_mode`.
        mode: u8,
    },
    /// A high-resolution timer was taken off its queue before it expired.
    #[doc(alias = "hrtimer_cancel")]
    HrtimerCancel {
        /// The timer's address.
        timer: u64,
    },
    /// A high-resolution timer's function begins.
    #[doc(alias = "hrtimer_expire_entry")]
    HrtimerExpireEntry {
        /// The timer's address.
        timer: u64,
        /// What is called.
        function: FunctionId,
        /// The time the interrupt took as its own when it looked for expired timers.
        now: Nanos,
    },
    /// A high-resolution timer's function has returned.
    #[doc(alias = "hrtimer_expire_exit")]
    HrtimerExpireExit {
        /// The timer's address.
        timer: u64,
    },
    /// The function of a timer of jiffies begins.
    #[doc(alias = "timer_expire_entry")]
    TimerExpireEntry {
        /// The timer's address.
        timer: u64,
        /// What is called.
        function: FunctionId,
        /// The jiffy in which it is called.
        now_jiffies: u64,
    },
    /// The function of a timer of jiffies has returned.
    #[doc(alias = "timer_expire_exit")]
    TimerExpireExit {
        /// The timer's address.
        timer: u64,
    },
    /// A processor vector is entered (`irq_vectors/*_entry`).
    VectorEntry(InterruptVector),
    /// A processor vector is left (`irq_vectors/*_exit`).
    VectorExit(InterruptVector),
    /// A device's interrupt handler begins.
    #[doc(alias = "irq_handler_entry")]
    IrqEntry {
        /// The interrupt's number.
        irq: i32,
        /// Who handles it.
        name: NameId,
    },
    /// A device's interrupt handler has returned.
    #[doc(alias = "irq_handler_exit")]
    IrqExit {
        /// The interrupt's number.
        irq: i32,
        /// Whether the handler had something to do.
        handled: bool,
    },
    /// A softirq was asked for.
    #[doc(alias = "softirq_raise")]
    SoftirqRaise(Softirq),
    /// A softirq begins.
    #[doc(alias = "softirq_entry")]
    SoftirqEntry(Softirq),
    /// A softirq has ended.
    #[doc(alias = "softirq_exit")]
    SoftirqExit(Softirq),
    /// A processor goes idle.
    #[doc(alias = "cpu_idle")]
    IdleEntry {
        /// The idle state's number; the deeper, the longer the way out.
        state: u32,
    },
    /// A processor leaves idle.
    #[doc(alias = "cpu_idle")]
    IdleExit,
    /// The current thread enters a system call in which it may sleep (`sys_enter_*`).
    CallEnter(SleepingCall),
    /// The current thread is about to return from such a call (`sys_exit_*`).
    CallExit {
        /// Which call.
        call: SleepingCall,
        /// What it returns; below zero a negative errno(3).
        returned: i64,
    },
    /// A signal is delivered to the current thread.
    #[doc(alias = "signal_deliver")]
    SignalDeliver {
        /// Its number, as in signal(7).
        signal: i32,
    },
    /// A request goes to a block device.
    #[doc(alias = "block_rq_issue")]
    BlockIssue {
        /// The device's number, major above minor (20 bits), as the kernel keeps it.
        device: u32,
        /// The first sector (512 bytes).
        sector: u64,
        /// How many sectors.
        sectors: u32,
    },
    /// A block device has finished a request.
    #[doc(alias = "block_rq_complete")]
    BlockComplete {
        /// The device's number.
        device: u32,
        /// The first sector.
        sector: u64,
        /// How many sectors.
        sectors: u32,
        /// 0 or a negative errno(3).
        error: i32,
    },
    /// A kernel worker begins an item of work.
    #[doc(alias = "workqueue_execute_start")]
    WorkStart {
        /// The item's address.
        work: u64,
        /// What is called.
        function: FunctionId,
    },
    /// A kernel worker has finished an item of work.
    #[doc(alias = "workqueue_execute_end")]
    WorkEnd {
        /// The item's address.
        work: u64,
        /// What was called.
        function: FunctionId,
    },
    /// A page fault of the current thread in user mode begins to be served.
    #[doc(alias = "page_fault_user")]
    PageFaultUser(PageFault),
    /// A page fault in kernel mode begins to be served.
    #[doc(alias = "page_fault_kernel")]
    PageFaultKernel(PageFault),
}

/// Who is woken and where it shall run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// The thread that is woken; its waker is [`Event::thread`], unless an interrupt woke it.
    pub thread: ThreadId,
    /// Its name.
    pub name: NameId,
    /// Its priority.
    pub priority: Priority,
    /// The processor on whose queue it is put.
    pub target_cpu: u32,
}

/// Where a page was missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// The address that was touched.
    pub address: u64,
    /// The instruction that touched it.
    pub instruction: u64,
    /// The processor's error code.
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
