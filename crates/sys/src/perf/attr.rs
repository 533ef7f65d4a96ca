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

/// `PERF_COUNT_SW_CPU_CLOCK`: the time of a CPU, in nanoseconds.
const CONFIG_CPU_CLOCK: u64 = 0;
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
const SAMPLE_REGISTERS_USER: u64 = 1 << 12;
const SAMPLE_STACK_USER: u64 = 1 << 13;
const SAMPLE_IDENTIFIER: u64 = 1 << 16;

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
const CONTEXT_SWITCH: u64 = 1 << 26;
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

    /// Interrupts a CPU every `period` nanoseconds, which the kernel raises to 10 µs. Without a ring,
    /// it records nothing.
    pub(super) fn cpu_clock(period: u64) -> Self {
        Self {
            kind: TYPE_SOFTWARE,
            config: CONFIG_CPU_CLOCK,
            sample_period: period,
            sample_type: 0,
            read_format: 0,
            flags: DISABLED,
            clockid: 0,
            ..Self::stamped()
        }
    }

    /// Records the switches of a thread; the owner of a ring, which wakes nobody. Every record of
    /// the ring says of which event it is.
    pub(super) fn switches() -> Self {
        let mut attr = Self {
            kind: TYPE_SOFTWARE,
            config: CONFIG_DUMMY,
            sample_type: SAMPLE_IDENTIFIER | SAMPLE_TIME,
            wakeup_watermark: u32::MAX,
            ..Self::stamped()
        };
        attr.flags |= CONTEXT_SWITCH | WATERMARK;
        attr
    }

    /// Records every occurrence of a tracepoint in a ring of [`Self::switches`].
    pub(super) fn identified_tracepoint(id: u32) -> Self {
        Self {
            kind: TYPE_TRACEPOINT,
            config: u64::from(id),
            sample_period: 1,
            sample_type: SAMPLE_IDENTIFIER | SAMPLE_TIME,
            ..Self::stamped()
        }
    }

    /// The same with the tracepoint's own record.
    pub(super) fn with_content(self) -> Self {
        Self { sample_type: self.sample_type | SAMPLE_RAW, ..self }
    }

    /// Records every page fault with its address in a ring of [`Self::switches`].
    pub(super) fn page_faults() -> Self {
        Self {
            kind: TYPE_SOFTWARE,
            config: CONFIG_PAGE_FAULTS,
            sample_period: 1,
            sample_type: SAMPLE_IDENTIFIER | SAMPLE_TIME | SAMPLE_ADDRESS,
            ..Self::stamped()
        }
    }

    /// The same with the registers of user mode whose bits are set, and a copy of the stack of at
    /// most `stack` bytes, a multiple of 8 below 64 KiB.
    pub(super) fn with_stack(self, registers: u64, stack: u16) -> Self {
        Self {
            sample_type: self.sample_type | SAMPLE_REGISTERS_USER | SAMPLE_STACK_USER,
            sample_regs_user: registers,
            sample_stack_user: u32::from(stack),
            ..self
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
