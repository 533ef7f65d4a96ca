//! Which functions of the kernel a thread sleeps in, and what that means.
//!
//! The names are those of Linux 5.10 to 6.18; a function that was renamed has all its names.
//! The compiler may inline any of them, so each class lists the functions around the sleep,
//! the outer ones included. Sources: `kernel/futex/`, `fs/pipe.c`, `fs/select.c`,
//! `fs/eventpoll.c`, `net/core/sock.c`, `mm/filemap.c`, `mm/vmscan.c`, `mm/compaction.c`,
//! `mm/page-writeback.c`, `kernel/locking/`, `kernel/exit.c`, `kernel/signal.c`,
//! `io_uring/io_uring.c`.

use super::sleep::{Backing, KernelLock, SleepReason};

/// What a function in a call chain shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// Nothing: it belongs to the scheduler, or waits for whatever its caller waits for.
    Glue,
    /// Block I/O, unless a page fault is further out.
    Io,
    /// A page fault.
    Fault(Backing),
    /// A lock of the kernel.
    Lock(KernelLock),
    /// The memory of the machine or of a control group is short: says more than what is
    /// further in.
    Reclaim,
    Compaction,
    DirtyThrottling,
    /// A futex that inherits priorities: its lock is one of the kernel's.
    FutexInherits,
    Futex,
    Pipe,
    Socket,
    Poll,
    IoUring,
    Signal,
    Child,
    Terminal,
    FileLock,
    Timer,
    Frozen,
    Idle,
}

/// The functions by what they show.
const TABLE: &[(Shows, &[&str])] = &[
    (
        Shows::Glue,
        &[
            "__schedule",
            "schedule",
            "schedule_idle",
            "schedule_rtlock",
            "schedule_timeout",
            "schedule_timeout_interruptible",
            "schedule_timeout_killable",
            "schedule_timeout_uninterruptible",
            "schedule_timeout_idle",
            "schedule_hrtimeout",
            "schedule_hrtimeout_range",
            "schedule_hrtimeout_range_clock",
            "schedule_preempt_disabled",
            "__wait_for_common",
            "do_wait_for_common",
            "wait_for_common",
            "wait_for_completion",
            "wait_for_completion_interruptible",
            "wait_for_completion_killable",
            "wait_for_completion_state",
            "wait_for_completion_timeout",
            "wait_woken",
            "bit_wait",
            "bit_wait_timeout",
            "__wait_on_bit",
            "__wait_on_bit_lock",
            "out_of_line_wait_on_bit",
            "out_of_line_wait_on_bit_lock",
            "rt_mutex_schedule",
            "do_wait_intr",
            "do_wait_intr_irq",
        ],
    ),
    (
        Shows::Io,
        &[
            "io_schedule",
            "io_schedule_timeout",
            "bit_wait_io",
            "bit_wait_io_timeout",
            "wait_for_common_io",
            "wait_for_completion_io",
            "wait_for_completion_io_timeout",
            "folio_wait_bit",
            "folio_wait_bit_common",
            "folio_wait_bit_killable",
            "folio_wait_writeback",
            "folio_wait_stable",
            "folio_put_wait_locked",
            "wait_on_page_bit",
            "wait_on_page_bit_common",
            "wait_on_page_bit_killable",
            "wait_on_page_writeback",
            "__lock_page",
            "__lock_page_killable",
            "__lock_page_or_retry",
            "__folio_lock",
            "__folio_lock_killable",
            "__folio_lock_or_retry",
            "__wait_on_buffer",
            "blk_mq_get_tag",
            "blk_execute_rq",
            "submit_bio_wait",
            "wbt_wait",
            "rq_qos_wait",
            "__iomap_dio_rw",
            "blkdev_direct_IO",
            "__blkdev_direct_IO_simple",
            "jbd2_log_wait_commit",
            "jbd2_journal_commit_transaction",
            "wait_transaction_locked",
        ],
    ),
    (
        Shows::Fault(Backing::File),
        &["filemap_fault", "filemap_map_pages", "__do_fault", "do_read_fault", "do_shared_fault"],
    ),
    (Shows::Fault(Backing::Swap), &["do_swap_page", "swap_readpage", "swap_read_folio"]),
    (
        Shows::Fault(Backing::Unknown),
        &[
            "handle_mm_fault",
            "__handle_mm_fault",
            "do_user_addr_fault",
            "exc_page_fault",
            "asm_exc_page_fault",
            "do_page_fault",
            "do_mem_abort",
        ],
    ),
    (
        Shows::Lock(KernelLock::Mutex),
        &[
            "__mutex_lock",
            "__mutex_lock_common",
            "__mutex_lock_slowpath",
            "__mutex_lock_interruptible_slowpath",
            "__mutex_lock_killable_slowpath",
            "mutex_lock",
            "mutex_lock_io",
            "mutex_lock_interruptible",
            "mutex_lock_killable",
            "__ww_mutex_lock",
            "__ww_mutex_lock_slowpath",
            "rt_mutex_slowlock",
            "rt_mutex_slowlock_block",
            "__rt_mutex_slowlock",
            "__rt_mutex_slowlock_locked",
            "rt_mutex_lock",
            "rtlock_slowlock_locked",
            "rt_spin_lock",
        ],
    ),
    (
        Shows::Lock(KernelLock::Rwsem),
        &[
            "rwsem_down_read_slowpath",
            "rwsem_down_write_slowpath",
            "down_read",
            "down_read_interruptible",
            "down_read_killable",
            "down_write",
            "down_write_killable",
            "__down_read_common",
            "__down_write_common",
            "percpu_rwsem_wait",
            "__percpu_down_read",
            "percpu_down_write",
            "rwbase_write_lock",
            "__rwbase_read_lock",
        ],
    ),
    (
        Shows::Lock(KernelLock::Semaphore),
        &[
            "__down",
            "__down_common",
            "__down_interruptible",
            "__down_killable",
            "__down_timeout",
            "down",
            "down_interruptible",
            "down_killable",
            "down_timeout",
        ],
    ),
    (
        Shows::Compaction,
        &[
            "compact_zone",
            "compact_zone_order",
            "try_to_compact_pages",
            "__alloc_pages_direct_compact",
        ],
    ),
    (
        Shows::Reclaim,
        &[
            "try_to_free_pages",
            "do_try_to_free_pages",
            "__perform_reclaim",
            "__alloc_pages_direct_reclaim",
            "try_to_free_mem_cgroup_pages",
            "mem_cgroup_handle_over_high",
            "__mem_cgroup_handle_over_high",
            "try_charge_memcg",
            "shrink_node",
            "shrink_lruvec",
            "shrink_inactive_list",
            "shrink_folio_list",
            "shrink_page_list",
            "shrink_slab",
            "reclaim_throttle",
            "throttle_direct_reclaim",
            "wait_iff_congested",
            "congestion_wait",
            "mem_cgroup_oom_synchronize",
            "mem_cgroup_out_of_memory",
        ],
    ),
    (
        Shows::DirtyThrottling,
        &[
            "balance_dirty_pages",
            "balance_dirty_pages_ratelimited",
            "balance_dirty_pages_ratelimited_flags",
        ],
    ),
    (
        Shows::FutexInherits,
        &[
            "futex_lock_pi",
            "futex_lock_pi_atomic",
            "futex_wait_requeue_pi",
            "rt_mutex_wait_proxy_lock",
            "__fixup_pi_state_owner",
        ],
    ),
    (
        Shows::Futex,
        &[
            "futex_wait_queue_me",
            "futex_wait_queue",
            "futex_wait",
            "__futex_wait",
            "futex_do_wait",
            "futex_wait_multiple",
            "futex_wait_multiple_setup",
            "futex_wait_restart",
            "__do_sys_futex_waitv",
        ],
    ),
    (
        Shows::Pipe,
        &[
            "pipe_read",
            "pipe_write",
            "anon_pipe_read",
            "anon_pipe_write",
            "fifo_pipe_read",
            "fifo_pipe_write",
            "pipe_wait_readable",
            "pipe_wait_writable",
            "wait_for_partner",
            "fifo_open",
            "splice_from_pipe_next",
            "ipipe_prep",
            "opipe_prep",
            "wait_for_space",
        ],
    ),
    (
        Shows::Socket,
        &[
            "sk_wait_data",
            "sk_stream_wait_memory",
            "sk_stream_wait_connect",
            "sk_stream_wait_close",
            "sock_alloc_send_pskb",
            "sock_wait_for_wmem",
            "__skb_wait_for_more_packets",
            "__lock_sock",
            "lock_sock_nested",
            "inet_csk_accept",
            "inet_csk_wait_for_connect",
            "inet_wait_for_connect",
            "__inet_stream_connect",
            "unix_stream_read_generic",
            "unix_stream_data_wait",
            "unix_wait_for_peer",
            "unix_accept",
            "unix_stream_connect",
            "vsock_accept",
            "vsock_connectible_recvmsg",
            "vsock_connectible_wait_data",
            "netlink_recvmsg",
            "packet_recvmsg",
            "sock_recvmsg",
            "sock_sendmsg",
            "__sys_accept4",
            "__sys_connect",
        ],
    ),
    (
        Shows::Poll,
        &[
            "poll_schedule_timeout",
            "do_sys_poll",
            "do_poll",
            "do_select",
            "core_sys_select",
            "ep_poll",
            "do_epoll_wait",
            "do_epoll_pwait",
            "ep_send_events",
            "eventfd_read",
            "eventfd_write",
            "signalfd_read_iter",
            "signalfd_read",
            "inotify_read",
            "fanotify_read",
        ],
    ),
    (
        Shows::IoUring,
        &[
            "io_cqring_wait",
            "io_cqring_wait_schedule",
            "__io_cqring_wait_schedule",
            "io_uring_cancel_generic",
        ],
    ),
    (
        Shows::Signal,
        &[
            "do_sigtimedwait",
            "sigsuspend",
            "__do_sys_pause",
            "__x64_sys_pause",
            "__ia32_sys_pause",
            "sys_pause",
        ],
    ),
    (
        Shows::Child,
        &[
            "do_wait",
            "kernel_wait4",
            "kernel_waitid",
            "wait_for_vfork_done",
            "kernel_clone",
            "_do_fork",
        ],
    ),
    (
        Shows::Terminal,
        &["n_tty_read", "n_tty_write", "tty_read", "tty_write", "tty_wait_until_sent"],
    ),
    (
        Shows::FileLock,
        &[
            "flock_lock_inode_wait",
            "posix_lock_inode_wait",
            "locks_lock_inode_wait",
            "do_lock_file_wait",
            "fcntl_setlk",
        ],
    ),
    (
        Shows::Timer,
        &[
            "do_nanosleep",
            "hrtimer_nanosleep",
            "common_nsleep",
            "common_nsleep_timens",
            "alarm_timer_nsleep",
            "alarmtimer_do_nsleep",
            "timerfd_read",
            "timerfd_read_iter",
            "msleep",
            "msleep_interruptible",
            "usleep_range",
            "usleep_range_state",
        ],
    ),
    (
        Shows::Frozen,
        &["__refrigerator", "do_freezer_trap", "cgroup_enter_frozen", "get_signal_frozen"],
    ),
    (
        Shows::Idle,
        &[
            "worker_thread",
            "rescuer_thread",
            "kthread_worker_fn",
            "smpboot_thread_fn",
            "kthreadd",
            "kthread_park",
            "__kthread_parkme",
            "kswapd_try_to_sleep",
            "kcompactd",
            "khugepaged",
            "khugepaged_wait_work",
            "ksm_scan_thread",
            "kjournald2",
            "kauditd_thread",
            "oom_reaper",
            "irq_thread",
            "irq_wait_for_interrupt",
            "io_wq_worker",
            "io_sq_thread",
            "rcu_gp_kthread",
            "rcu_gp_fqs_loop",
            "rcu_tasks_kthread",
            "rcu_tasks_one_gp",
            "rcu_nocb_gp_kthread",
            "rcu_nocb_cb_kthread",
            "nocb_cb_wait",
            "nocb_gp_wait",
            "rcu_boost_kthread",
            "ext4_lazyinit_thread",
            "watchdog",
            "kdamond_fn",
            "mmc_blk_cqe_complete_rq",
            "scsi_error_handler",
            "hwrng_fillfn",
            "psi_rtpoll_worker",
            "psi_poll_worker",
            "vhost_task_fn",
            "vhost_worker",
        ],
    ),
];

/// The function that calls the main function of every kernel thread.
pub(super) const KERNEL_THREAD: &str = "kthread";

/// What the function with this source name shows; `None` if it is not in the table.
pub(super) fn shows(function: &str) -> Option<Shows> {
    TABLE.iter().find(|(_, names)| names.contains(&function)).map(|(shows, _)| *shows)
}

impl Shows {
    /// Whether this decides wherever it is in a chain: it says why the thread came to do what
    /// it does further in.
    pub(super) const fn decides(self) -> bool {
        matches!(
            self,
            Self::Reclaim | Self::Compaction | Self::DirtyThrottling | Self::FutexInherits
        )
    }

    /// The reason for a sleep that this shows; `None` for glue. A lock has no site yet.
    pub(super) const fn reason(self) -> Option<SleepReason> {
        Some(match self {
            Self::Glue => return None,
            Self::Io => SleepReason::BlockIo,
            Self::Fault(backing) => SleepReason::PageFault { backing },
            Self::Lock(lock) => SleepReason::KernelLock { lock, site: None },
            Self::Reclaim => SleepReason::Reclaim,
            Self::Compaction => SleepReason::Compaction,
            Self::DirtyThrottling => SleepReason::DirtyThrottling,
            Self::FutexInherits => SleepReason::Futex { inherits: true },
            Self::Futex => SleepReason::Futex { inherits: false },
            Self::Pipe => SleepReason::Pipe,
            Self::Socket => SleepReason::Socket,
            Self::Poll => SleepReason::Poll,
            Self::IoUring => SleepReason::IoUring,
            Self::Signal => SleepReason::Signal,
            Self::Child => SleepReason::Child,
            Self::Terminal => SleepReason::Terminal,
            Self::FileLock => SleepReason::FileLock,
            Self::Timer => SleepReason::Timer,
            Self::Frozen => SleepReason::Frozen,
            Self::Idle => SleepReason::IdleKernelThread,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_function_has_two_meanings() {
        let mut seen = BTreeSet::new();
        for name in TABLE.iter().flat_map(|(_, names)| names.iter()) {
            assert!(seen.insert(name), "{name} is in the table twice");
        }
    }
}
