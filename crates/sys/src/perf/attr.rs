//! What is asked of an event: `struct perf_event_attr`.

use std::mem::size_of;

/// The most kernel frames that are asked for with a call chain.
pub const MAX_STACK: u16 = 24;

/// What every tracepoint of a recording is asked for besides its own identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// At how many unread bytes of its ring a reader is woken.
    pub watermark: u32,
    /// Whether the kernel's call chain is recorded with each occurrence.
    pub call_chain: bool,
    /// Whether the ring also tells of new threads and of the end of old ones
    /// (`PERF_RECORD_FORK` and `PERF_RECORD_EXIT`).
    pub tasks: bool,
}

/// `struct perf_event_attr` of `include/uapi/linux/perf_event.h`, as far as its
/// fifth version, which every kernel since 4.8 takes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attr {
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
}

const TYPE_TRACEPOINT: u32 = 2;

const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_RAW: u64 = 1 << 10;

/// `PERF_FORMAT_LOST`, since Linux 6.0.
const FORMAT_LOST: u64 = 1 << 4;

const DISABLED: u64 = 1;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
const USE_CLOCKID: u64 = 1 << 25;

impl Attr {
    /// Asks for every occurrence of a tracepoint, stamped by `CLOCK_MONOTONIC`.
    pub(super) fn tracepoint(id: u32, settings: Settings, count_lost: bool) -> Self {
        let mut attr = Self {
            kind: TYPE_TRACEPOINT,
            size: size_of::<Self>() as u32,
            config: u64::from(id),
            sample_period: 1,
            sample_type: SAMPLE_TIME | SAMPLE_RAW,
            read_format: if count_lost { FORMAT_LOST } else { 0 },
            flags: DISABLED | WATERMARK | SAMPLE_ID_ALL | USE_CLOCKID | EXCLUDE_CALLCHAIN_USER,
            wakeup_watermark: settings.watermark,
            clockid: libc::CLOCK_MONOTONIC,
            ..Self::default()
        };
        if settings.tasks {
            attr.flags |= TASK;
        }
        if settings.call_chain {
            attr.sample_type |= SAMPLE_CALLCHAIN;
            attr.sample_max_stack = MAX_STACK;
        }
        attr
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_of_the_fifth_version() {
        // PERF_ATTR_SIZE_VER5 of include/uapi/linux/perf_event.h.
        assert_eq!(size_of::<Attr>(), 112);
    }
}
