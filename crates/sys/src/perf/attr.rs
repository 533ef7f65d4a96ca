//! The configuration of an event: `struct perf_event_attr`.

use std::mem::size_of;

/// The maximum number of kernel frames in a call chain: enough to reach the system call from
/// below a file system and a block device (about 40), and less than the kernel's own default limit
/// (127, `kernel.perf_event_max_stack`).
pub const MAX_STACK: u16 = 64;

/// Which call chain the records of an event have.
///
/// All events of one ring must agree whether there is a call chain, since a record does
/// not say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallChain {
    /// No call chain field.
    Absent,
    /// An empty call chain, which costs eight bytes and no time.
    Empty,
    /// The kernel's call chain, at most [`MAX_STACK`] frames.
    Kernel,
}

/// `struct perf_event_attr` of `include/uapi/linux/perf_event.h` up to its seventh
/// version. Older kernels accept it while the fields that they do not know are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
    aux_sample_size: u32,
    reserved_2: u32,
    sig_data: u64,
}

const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;

/// `PERF_COUNT_SW_TASK_CLOCK`: the CPU time of a thread, in nanoseconds.
const CONFIG_TASK_CLOCK: u64 = 1;

/// `PERF_COUNT_SW_PAGE_FAULTS`.
const CONFIG_PAGE_FAULTS: u64 = 2;

/// `PERF_COUNT_SW_DUMMY`: an event that never occurs.
const CONFIG_DUMMY: u64 = 9;

const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_ADDRESS: u64 = 1 << 3;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_PERIOD: u64 = 1 << 8;
const SAMPLE_RAW: u64 = 1 << 10;

/// `PERF_FORMAT_LOST`, since Linux 6.0.
const FORMAT_LOST: u64 = 1 << 4;

const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const EXCLUDE_CALLCHAIN_KERNEL: u64 = 1 << 21;
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
const USE_CLOCKID: u64 = 1 << 25;
const REMOVE_ON_EXEC: u64 = 1 << 36;
const SIGTRAP: u64 = 1 << 37;

impl Attr {
    /// Records every occurrence of a tracepoint, stamped by `CLOCK_MONOTONIC`.
    pub(super) fn tracepoint(id: u32, call_chain: CallChain) -> Self {
        let mut attr = Self {
            kind: TYPE_TRACEPOINT,
            config: u64::from(id),
            sample_period: 1,
            // Without a period, the kernel would repeat the record of a weighted
            // occurrence (e.g. sched_stat_runtime with its nanoseconds) as often as its
            // weight.
            sample_type: SAMPLE_TIME | SAMPLE_PERIOD | SAMPLE_RAW,
            ..Self::stamped()
        };
        match call_chain {
            CallChain::Absent => {}
            CallChain::Empty => {
                attr.sample_type |= SAMPLE_CALLCHAIN;
                attr.flags |= EXCLUDE_CALLCHAIN_KERNEL;
            }
            CallChain::Kernel => {
                attr.sample_type |= SAMPLE_CALLCHAIN;
                attr.sample_max_stack = MAX_STACK;
            }
        }
        attr.flags |= EXCLUDE_CALLCHAIN_USER;
        attr
    }

    /// Records the creation and the end of threads; the owner of a ring, which wakes
    /// the reader at `watermark` bytes.
    pub(super) fn tasks(watermark: u32) -> Self {
        let mut attr = Self {
            kind: TYPE_SOFTWARE,
            config: CONFIG_DUMMY,
            wakeup_watermark: watermark,
            ..Self::stamped()
        };
        attr.flags |= TASK | WATERMARK;
        attr
    }

    /// Counts the CPU time of a thread. Each time it has used another `budget` nanoseconds, the
    /// kernel writes a record and wakes the reader; never if the budget is 0.
    pub(super) fn task_clock(budget: u64) -> Self {
        Self {
            kind: TYPE_SOFTWARE,
            config: CONFIG_TASK_CLOCK,
            sample_period: budget,
            // Without the flag for a watermark, the field counts records.
            wakeup_watermark: 1,
            read_format: 0,
            flags: USE_CLOCKID,
            ..Self::stamped()
        }
    }

    /// Sends `SIGTRAP` to the thread after each of its page faults.
    pub(crate) fn page_fault_signals() -> Self {
        Self {
            kind: TYPE_SOFTWARE,
            config: CONFIG_PAGE_FAULTS,
            sample_period: 1,
            sample_type: SAMPLE_TIME | SAMPLE_ADDRESS,
            read_format: 0,
            flags: USE_CLOCKID | REMOVE_ON_EXEC | SIGTRAP,
            ..Self::stamped()
        }
    }

    /// The same without events in the kernel: without privilege, the kernel permits no others. The
    /// count of a task clock contains the time in the kernel nevertheless.
    pub(crate) fn of_user_mode(self) -> Self {
        Self { flags: self.flags | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR, ..self }
    }

    fn stamped() -> Self {
        Self {
            size: size_of::<Self>() as u32,
            sample_type: SAMPLE_TIME,
            read_format: FORMAT_LOST,
            flags: DISABLED | SAMPLE_ID_ALL | USE_CLOCKID,
            clockid: libc::CLOCK_MONOTONIC,
            ..Self::default()
        }
    }

    /// The same for kernels that do not count losses (before 6.0).
    pub(super) fn without_lost_count(self) -> Self {
        Self { read_format: 0, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_of_the_seventh_version() {
        // PERF_ATTR_SIZE_VER7 of include/uapi/linux/perf_event.h.
        assert_eq!(size_of::<Attr>(), 128);
    }
}
