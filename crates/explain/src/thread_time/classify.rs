//! Decides what a sleeping thread waits for.
//!
//! The best evidence is the call chain at the switch, then the system call that was entered,
//! a page fault, what ended the sleep, and the thread's state. What none of these shows stays
//! unknown.

use std::collections::HashMap;

use tactus_model::recording::{ChainId, Dictionary, FunctionId, Softirq, TaskState};

use super::kernel_functions::{KERNEL_THREAD, Shows, shows};
use super::sleep::{Backing, KernelLock, Sleep, SleepReason};
use crate::machine::{Absence, Activity, Blocked, Call, Errand, Waker};
use crate::symbol::source_name;

/// Everything about a sleep from which its reason follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Clues {
    chain: Option<ChainId>,
    errand: Errand,
    state: TaskState,
    end: End,
}

/// What ended a sleep, as far as its reason depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum End {
    /// A timer that the thread armed itself.
    OwnTimer,
    /// The function of another timer.
    Timer(FunctionId),
    /// The softirq of block devices.
    BlockSoftirq,
    /// Anything else, or nothing yet.
    Other,
}

impl Clues {
    fn of(absence: &Absence) -> Self {
        let end = match absence.waking.map(|waking| waking.by) {
            Some(Waker::Timer(fire)) => {
                match fire.armed.is_some_and(|armed| armed.by == absence.thread) {
                    true => End::OwnTimer,
                    false => End::Timer(fire.function),
                }
            }
            Some(Waker::Interrupt(Activity::JiffyTimer { function })) => End::Timer(function),
            Some(Waker::Interrupt(Activity::Softirq(Softirq::BLOCK))) => End::BlockSoftirq,
            Some(Waker::Interrupt(_) | Waker::Thread(_)) | None => End::Other,
        };
        let Absence { left_chain: chain, errand, left_state: state, .. } = *absence;
        Self { chain, errand, state, end }
    }
}

/// Whether the thread's own timer ended an absence: it armed the timer, or the timer is one
/// that only wakes the thread which sleeps on it.
pub(super) fn ended_by_own_timer(absence: &Absence, names: &Dictionary) -> bool {
    is_own_timer(Clues::of(absence).end, names)
}

/// `hrtimer_wakeup` belongs to the sleeper of an hrtimer (`kernel/time/hrtimer.c`),
/// `process_timeout` to schedule_timeout() (`kernel/time/timer.c`).
fn is_own_timer(end: End, names: &Dictionary) -> bool {
    match end {
        End::OwnTimer => true,
        End::Timer(function) => {
            let function = source_name(names.function_name(function));
            matches!(function, "hrtimer_wakeup" | "process_timeout")
        }
        End::BlockSoftirq | End::Other => false,
    }
}

/// What the thread of an absence slept for.
pub(crate) fn sleep(absence: &Absence, names: &Dictionary) -> Sleep {
    classified(&Clues::of(absence), names)
}

fn classified(clues: &Clues, names: &Dictionary) -> Sleep {
    let frames = frames(clues.chain, names);
    let call = match clues.errand.call {
        Some(Call::Sleeping(call)) => Some(call.word().to_owned()),
        Some(Call::Named(call, _)) => Some(names.name(call).to_owned()),
        None => frames.iter().rev().find_map(|frame| system_call(frame)).map(str::to_owned),
    };
    let reason = match clues.state.is_stopped() {
        true => SleepReason::Stopped,
        false => from_chain(&frames).unwrap_or_else(|| without_chain(clues, names)),
    };
    let timed_out = reason.may_time_out() && is_own_timer(clues.end, names);
    let reason = if timed_out { SleepReason::Timer } else { reason };
    Sleep { reason, call }
}

/// The functions of a chain, from the one that called the scheduler outwards.
fn frames(chain: Option<ChainId>, names: &Dictionary) -> Vec<&str> {
    let frames = chain.map_or(&[][..], |chain| names.chain(chain));
    let frames = frames.iter().map(|frame| source_name(names.function_name(*frame)));
    frames.skip_while(|name| *name != "__schedule").skip(1).collect()
}

fn from_chain(frames: &[&str]) -> Option<SleepReason> {
    let shown: Vec<Option<Shows>> = frames.iter().map(|frame| shows(frame)).collect();
    if let Some(shows) = shown.iter().flatten().find(|shows| shows.decides()) {
        return shows.reason();
    }
    let inner = shown.iter().position(|shows| *shows != Some(Shows::Glue))?;
    let function = frames[inner];
    let is_main = frames.get(inner + 1) == Some(&KERNEL_THREAD);
    let (place, first) = shown
        .iter()
        .enumerate()
        .skip(inner)
        .find_map(|(place, shows)| Some((place, (*shows)?)))
        .unwrap_or((inner, if is_main { Shows::Idle } else { Shows::Glue }));
    Some(match first {
        Shows::Io => {
            let fault = shown[place..].iter().flatten().find(|s| matches!(s, Shows::Fault(_)));
            fault.unwrap_or(&first).reason()?
        }
        Shows::Lock(lock) => {
            let site = frames[place..]
                .iter()
                .find(|frame| !matches!(shows(frame), Some(Shows::Lock(_) | Shows::Glue)));
            SleepReason::KernelLock { lock, site: site.map(|site| (*site).to_owned()) }
        }
        // A worker that waits in its work is not idle.
        Shows::Idle if place == inner => SleepReason::IdleKernelThread,
        Shows::Idle if is_main => SleepReason::IdleKernelThread,
        Shows::Idle | Shows::Glue => SleepReason::KernelFunction { function: function.to_owned() },
        first => first.reason()?,
    })
}

/// The reason without a call chain.
fn without_chain(clues: &Clues, names: &Dictionary) -> SleepReason {
    let Clues { errand, state, end, .. } = *clues;
    if errand.compacts {
        return SleepReason::Compaction;
    }
    if errand.reclaims {
        return SleepReason::Reclaim;
    }
    if let Some(kind) = errand.contends {
        return SleepReason::KernelLock { lock: KernelLock::of(kind), site: None };
    }
    if let Some(Blocked { place, io }) = errand.blocked {
        let place = source_name(names.function_name(place));
        return match shows(place).and_then(Shows::reason) {
            Some(reason) => reason,
            None if errand.faulted => SleepReason::PageFault { backing: Backing::Unknown },
            None if io => SleepReason::BlockIo,
            None => SleepReason::KernelFunction { function: place.to_owned() },
        };
    }
    if state.0 & TaskState::UNINTERRUPTIBLE.0 != 0 {
        // Programs sleep interruptibly in the calls below; a fault never does.
        return match errand.faulted {
            true => SleepReason::PageFault { backing: Backing::Unknown },
            false if end == End::BlockSoftirq => SleepReason::BlockIo,
            false => SleepReason::Unknown,
        };
    }
    match errand.call {
        None => SleepReason::Unknown,
        Some(Call::Sleeping(call)) => in_call(call.word(), None),
        Some(Call::Named(call, operation)) => in_call(names.name(call), Some(operation)),
    }
}

/// What a thread waits for in a system call; the operation is that of futex(2), if it is known.
fn in_call(call: &str, operation: Option<u64>) -> SleepReason {
    match call {
        "clock_nanosleep" | "nanosleep" => SleepReason::Timer,
        "futex" => SleepReason::Futex { inherits: operation.is_some_and(inherits_priority) },
        "futex_wait" | "futex_waitv" => SleepReason::Futex { inherits: false },
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait"
        | "epoll_pwait2" => SleepReason::Poll,
        "accept" | "accept4" | "connect" | "recvfrom" | "recvmsg" | "recvmmsg" | "sendto"
        | "sendmsg" | "sendmmsg" => SleepReason::Socket,
        "rt_sigtimedwait" | "rt_sigsuspend" | "pause" => SleepReason::Signal,
        "wait4" | "waitid" | "vfork" => SleepReason::Child,
        "io_uring_enter" => SleepReason::IoUring,
        "flock" => SleepReason::FileLock,
        _ => SleepReason::SystemCall,
    }
}

/// Whether an operation of futex(2) waits for a lock that inherits priorities
/// (`include/uapi/linux/futex.h`).
const fn inherits_priority(operation: u64) -> bool {
    const LOCK_PI: u64 = 6;
    const WAIT_REQUEUE_PI: u64 = 11;
    const LOCK_PI2: u64 = 13;
    // The other bits say whether the futex is private, and the clock.
    matches!(operation & 0x7f, LOCK_PI | WAIT_REQUEUE_PI | LOCK_PI2)
}

/// How the kernel's functions of system calls begin, before the name of the call
/// (`include/linux/syscalls.h`, `arch/*/include/asm/syscall_wrapper.h`).
const CALL_PREFIXES: [&str; 9] = [
    "__x64_sys_",
    "__ia32_sys_",
    "__arm64_sys_",
    "__riscv_sys_",
    "__s390x_sys_",
    "__se_sys_",
    "__do_sys_",
    "ksys_",
    "__sys_",
];

/// The system call that a kernel function belongs to.
fn system_call(function: &str) -> Option<&str> {
    if function == "kernel_wait4" {
        return Some("wait4");
    }
    CALL_PREFIXES.iter().find_map(|prefix| function.strip_prefix(prefix))
}

/// Classifies sleeps and remembers the result: a recording has few different chains.
#[derive(Clone, Debug, Default)]
pub(super) struct Classifier {
    known: HashMap<Clues, SleepId>,
    sleeps: Vec<Sleep>,
    ids: HashMap<Sleep, SleepId>,
}

/// A sleep in a [`Classifier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SleepId(u32);

impl Classifier {
    /// How many different pieces of evidence are remembered; call chains are limited in
    /// number, but what a damaged file claims is not.
    const KNOWN_MAX: usize = 1 << 20;

    pub(super) fn id(&mut self, absence: &Absence, names: &Dictionary) -> SleepId {
        let clues = Clues::of(absence);
        if let Some(id) = self.known.get(&clues) {
            return *id;
        }
        let sleep = classified(&clues, names);
        let id = match self.ids.get(&sleep) {
            Some(id) => *id,
            None => {
                let id = SleepId(self.sleeps.len() as u32);
                self.sleeps.push(sleep.clone());
                self.ids.insert(sleep, id);
                id
            }
        };
        if self.known.len() >= Self::KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(clues, id);
        id
    }

    pub(super) fn sleep(&self, id: SleepId) -> &Sleep {
        &self.sleeps[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reason that a chain shows, the innermost function first and without the
    /// scheduler's own.
    #[track_caller]
    fn check(chain: &str, expected: &str) {
        let frames: Vec<&str> = chain.split(' ').map(source_name).collect();
        let reason = from_chain(&frames).expect("the chain has functions besides the scheduler's");
        assert_eq!(reason.to_string(), expected, "{chain}");
    }

    #[test]
    fn chains_of_linux_6_18_have_their_class() {
        let call = "do_syscall_64 entry_SYSCALL_64_after_hwframe";
        for (chain, expected) in [
            (
                "schedule do_nanosleep hrtimer_nanosleep common_nsleep_timens __x64_sys_clock_nanosleep",
                "its own timer",
            ),
            ("schedule futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex", "futex"),
            (
                "schedule rt_mutex_slowlock_block.constprop.0 rt_mutex_wait_proxy_lock futex_lock_pi do_futex __x64_sys_futex",
                "futex with priority inheritance",
            ),
            ("schedule anon_pipe_read vfs_read ksys_read", "pipe"),
            (
                "schedule schedule_timeout wait_woken sk_wait_data tcp_recvmsg_locked tcp_recvmsg sock_recvmsg",
                "socket",
            ),
            (
                "schedule schedule_timeout unix_stream_read_generic unix_stream_recvmsg sock_recvmsg",
                "socket",
            ),
            (
                "schedule schedule_timeout inet_csk_accept inet_accept do_accept __sys_accept4",
                "socket",
            ),
            (
                "schedule schedule_hrtimeout_range_clock poll_schedule_timeout.constprop.0 do_sys_poll __x64_sys_poll",
                "poll",
            ),
            ("schedule schedule_hrtimeout_range_clock do_epoll_wait __x64_sys_epoll_wait", "poll"),
            (
                "schedule io_schedule folio_wait_bit_common filemap_fault __do_fault do_fault __handle_mm_fault handle_mm_fault exc_page_fault asm_exc_page_fault",
                "page fault (file)",
            ),
            (
                "schedule io_schedule folio_wait_bit_common filemap_get_pages filemap_read vfs_read ksys_read",
                "block I/O",
            ),
            (
                "schedule io_schedule folio_wait_bit_common do_swap_page __handle_mm_fault handle_mm_fault",
                "page fault (swap)",
            ),
            (
                "schedule schedule_preempt_disabled rwsem_down_read_slowpath down_read_killable lock_mm_and_find_vma exc_page_fault",
                "kernel rwsem in lock_mm_and_find_vma",
            ),
            (
                "schedule schedule_preempt_disabled __mutex_lock.constprop.0 pipe_write vfs_write ksys_write",
                "kernel mutex in pipe_write",
            ),
            (
                "schedule io_schedule folio_wait_bit_common shrink_folio_list shrink_lruvec try_to_free_pages handle_mm_fault",
                "memory reclaim",
            ),
            (
                "schedule io_schedule_timeout balance_dirty_pages balance_dirty_pages_ratelimited_flags generic_perform_write",
                "dirty page throttling",
            ),
            ("schedule do_wait kernel_wait4", "child process"),
            (
                "schedule schedule_timeout __wait_for_common wait_for_completion_state kernel_clone __do_sys_vfork",
                "child process",
            ),
            ("schedule locks_lock_inode_wait __do_sys_flock", "file lock"),
            ("schedule worker_thread kthread ret_from_fork", "work (idle kernel thread)"),
            ("schedule some_main kthread ret_from_fork", "work (idle kernel thread)"),
            (
                "schedule some_wait some_work process_one_work worker_thread kthread",
                "kernel function some_wait",
            ),
            (
                "schedule schedule_timeout some_driver_wait vfs_ioctl",
                "kernel function some_driver_wait",
            ),
        ] {
            check(&format!("{chain} {call}"), expected);
        }
    }

    #[test]
    fn older_kernels_have_other_names() {
        check("schedule futex_wait_queue_me futex_wait do_futex", "futex");
        check("schedule pipe_wait pipe_read new_sync_read vfs_read", "pipe");
        check(
            "io_schedule wait_on_page_bit_common filemap_fault do_user_addr_fault",
            "page fault (file)",
        );
        check("schedule ep_poll do_epoll_wait", "poll");
    }

    #[test]
    fn the_system_call_is_in_the_chain() {
        for (function, call) in [
            ("__x64_sys_futex", Some("futex")),
            ("__sys_recvfrom", Some("recvfrom")),
            ("ksys_read", Some("read")),
            ("kernel_wait4", Some("wait4")),
            ("do_syscall_64", None),
        ] {
            assert_eq!(system_call(function), call, "{function}");
        }
    }
}
