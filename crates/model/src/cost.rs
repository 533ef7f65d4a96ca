//! What an operation costs: the operations, and the settings of the probe that measures them.
//!
//! [`Operation`] is the table: an operation is a word, a row of [`Operation::traits`], and its code
//! in `tactus_probe`. Everything else (plans, options, tables, pages) follows from the row.

use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::probe::TimerProbe;
use crate::text::keywords;

keywords! {
    /// What a group of operations shows.
    pub enum Family: "family" {
        /// Entering the kernel and returning.
        Trap = "trap",
        /// Handing a CPU, or a signal, to another thread.
        Switch = "switch",
        /// Moving data within memory.
        Memory = "memory",
        /// Reading clocks, and sleeping by them.
        Clock = "clock",
    }
}

keywords! {
    /// A measured operation.
    pub enum Operation: "operation" {
        /// getppid(2), the cheapest system call that no library caches.
        Getppid = "getppid",
        /// read(2) of a byte from `/dev/zero`.
        ReadByte = "read-byte",
        /// clock_gettime(2) by the vDSO, without a system call.
        Gettime = "gettime",
        /// clock_gettime(2) as a system call.
        GettimeSyscall = "gettime-syscall",
        /// The first write to a page of private memory: a page fault without I/O.
        Fault = "fault",
        /// A byte through a pipe and a byte back through another.
        Pipe = "pipe",
        /// A futex(2) wake and a wait, there and back.
        Futex = "futex",
        /// A write to an eventfd(2) and a read, there and back.
        Eventfd = "eventfd",
        /// sched_yield(2) until the partner has run, there and back.
        Yield = "yield",
        /// Reading a block in words of eight bytes.
        MemoryRead = "memory-read",
        /// Filling a block: memset(3).
        MemoryWrite = "memory-write",
        /// Copying a block: memcpy(3).
        MemoryCopy = "memory-copy",
        /// Copying a block of an odd length from an odd address.
        MemoryCopyUnaligned = "memory-copy-unaligned",
        /// Copying a block by stores that bypass the caches.
        MemoryCopyStreaming = "memory-copy-streaming",
        /// Mapping fresh memory, writing to each of its pages, and unmapping it.
        FirstTouch = "first-touch",
        /// Writing to each page of memory that is used again.
        Recycled = "recycled",
        /// Reading a clock.
        ClockRead = "clock-read",
        /// The shortest sleep: until a microsecond from now.
        ClockSleep = "clock-sleep",
    }
}

keywords! {
    /// A setting that some operations have, by the name of the setting.
    pub enum Parameter: "parameter" {
        /// The size of a block.
        Size = "size",
        /// The size of pages.
        Pages = "pages",
        /// What the partner is.
        Partner = "partner",
        /// Where the partner runs.
        PartnerCpu = "partner-cpu",
        /// How much memory each side reads between two switches.
        WorkingSet = "working-set",
        /// The clock that is read.
        ReadClock = "read-clock",
        /// How a task sleeps; a setting of other probes too.
        Sleep = "sleep",
    }
}

keywords! {
    /// A clock that can be read: those of clock_gettime(2), and the counter of the CPU.
    pub enum ReadClock: "clock" {
        /// Since boot, without suspended time, adjusted by NTP.
        Monotonic = "monotonic",
        /// The same, not adjusted.
        MonotonicRaw = "monotonic-raw",
        /// The same as monotonic, as of the last tick.
        MonotonicCoarse = "monotonic-coarse",
        /// Since 1970, which can be set.
        Realtime = "realtime",
        /// The same as of the last tick.
        RealtimeCoarse = "realtime-coarse",
        /// Since boot, with suspended time.
        Boottime = "boottime",
        /// Since 1970, with leap seconds.
        Tai = "tai",
        /// Realtime of timers that wake a suspended machine.
        RealtimeAlarm = "realtime-alarm",
        /// Boottime of timers that wake a suspended machine.
        BoottimeAlarm = "boottime-alarm",
        /// The CPU time of the reading thread.
        ThreadCpu = "thread-cpu",
        /// The CPU time of its process.
        ProcessCpu = "process-cpu",
        /// The CPU time of another thread of its process, which sleeps.
        OtherThreadCpu = "other-thread-cpu",
        /// The CPU time of another process: the parent.
        OtherProcessCpu = "other-process-cpu",
        /// The time stamp counter of x86 (RDTSC), where it neither stops nor changes its rate.
        #[doc(alias = "rdtsc")]
        Tsc = "tsc",
    }
}

impl ReadClock {
    /// Whether it shows the same on every CPU; the CPU time of a thread is its own.
    pub const fn is_shared(self) -> bool {
        !matches!(self, Self::ThreadCpu)
    }
}

keywords! {
    /// The pages of the measured memory.
    pub enum Pages: "page size" {
        /// The architecture's normal pages.
        Normal = "normal",
        /// Transparent huge pages.
        Huge = "huge",
    }
}

keywords! {
    /// What the other side of a switch is.
    pub enum Partner: "partner" {
        /// A thread of the same process: the address space stays.
        Thread = "thread",
        /// Another process: the address space changes.
        Process = "process",
    }
}

keywords! {
    /// Where the other side of a switch runs.
    pub enum PartnerCpu: "CPU of the partner" {
        /// On the CPU of the task.
        Same = "same",
        /// On the next of the cell's CPUs.
        Other = "other",
    }
}

impl Pages {
    /// The size of such a page on most architectures.
    pub const fn size(self) -> Bytes {
        match self {
            Self::Normal => Bytes::new(4 << 10),
            Self::Huge => Bytes::new(2 << 20),
        }
    }
}

/// What is known of an operation besides its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Its group.
    pub family: Family,
    /// What is counted as one operation.
    pub unit: &'static str,
    /// The settings it has.
    pub takes: &'static [Parameter],
    /// How much of it a sample has.
    pub amount: Amount,
}

/// How many operations a sample has. It is the same in every process, so that samples can be
/// pooled; a sample of a cheap operation lasts some microseconds, so that the clock, which is read
/// before and after, is a small part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This number.
    Times(u32),
    /// As many as move this number of bytes, but at least one.
    Bytes(u64),
    /// As many as touch this number of pages, but at least one.
    Pages(u64),
}

/// The bytes that a sample of a memory operation moves, if its block is smaller.
const MOVED: Amount = Amount::Bytes(1 << 20);

impl Operation {
    /// The operation's row of the table.
    pub const fn traits(self) -> Traits {
        use Parameter::{Pages, Partner, PartnerCpu, ReadClock, Size, Sleep, WorkingSet};
        let (family, unit, takes, amount): (_, _, &'static [Parameter], _) = match self {
            Self::Getppid | Self::ReadByte | Self::GettimeSyscall => {
                (Family::Trap, "call", &[], Amount::Times(128))
            }
            Self::Gettime => (Family::Trap, "call", &[], Amount::Times(512)),
            Self::Fault => (Family::Trap, "page", &[Pages], Amount::Times(8)),
            Self::Pipe | Self::Futex | Self::Eventfd => {
                let takes = &[Partner, PartnerCpu, WorkingSet];
                (Family::Switch, "round trip", takes, Amount::Times(1))
            }
            Self::Yield => (Family::Switch, "round trip", &[Partner, WorkingSet], Amount::Times(1)),
            Self::MemoryRead
            | Self::MemoryWrite
            | Self::MemoryCopy
            | Self::MemoryCopyUnaligned
            | Self::MemoryCopyStreaming => (Family::Memory, "block", &[Size, Pages], MOVED),
            Self::FirstTouch => (Family::Memory, "block", &[Size, Pages], Amount::Times(1)),
            Self::Recycled => (Family::Memory, "block", &[Size, Pages], Amount::Pages(1024)),
            Self::ClockRead => (Family::Clock, "reading", &[ReadClock], Amount::Times(512)),
            Self::ClockSleep => (Family::Clock, "sleep", &[Sleep], Amount::Times(1)),
        };
        Traits { family, unit, takes, amount }
    }

    /// Whether the setting of this name applies to it; true for settings that are no
    /// [`Parameter`].
    pub fn takes(self, setting: &str) -> bool {
        let known = Parameter::ALL.iter().find(|parameter| parameter.word() == setting);
        known.is_none_or(|parameter| self.traits().takes.contains(parameter))
    }

    /// Whether it has a partner.
    pub fn has_partner(self) -> bool {
        self.traits().family == Family::Switch
    }
}

/// The settings of the cost probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostProbe {
    /// Its clock. It does not sleep within its window.
    #[serde(flatten)]
    pub timer: TimerProbe,
    /// What it does.
    pub operation: Operation,
    /// The size of a block.
    pub size: Bytes,
    /// The size of pages.
    pub pages: Pages,
    /// What the partner is.
    pub partner: Partner,
    /// Where the partner runs.
    pub partner_cpu: PartnerCpu,
    /// How much memory each side reads before it hands over.
    pub working_set: Bytes,
    /// The clock that is read.
    #[serde(default = "monotonic")]
    pub read_clock: ReadClock,
}

/// The value for plans stored before this setting existed.
const fn monotonic() -> ReadClock {
    ReadClock::Monotonic
}

impl CostProbe {
    /// The smallest block.
    pub const SIZE_MIN: Bytes = Bytes::new(16);

    /// Placeholder settings; all of them are set before a measurement.
    pub(crate) const fn blank(timer: TimerProbe) -> Self {
        Self {
            timer,
            operation: Operation::Getppid,
            size: Bytes::new(64 << 10),
            pages: Pages::Normal,
            partner: Partner::Process,
            partner_cpu: PartnerCpu::Same,
            working_set: Bytes::ZERO,
            read_clock: ReadClock::Monotonic,
        }
    }

    /// How many operations a sample has.
    pub fn per_sample(&self) -> u32 {
        let bytes = match self.operation.traits().amount {
            Amount::Times(times) => return times,
            Amount::Bytes(bytes) => bytes,
            Amount::Pages(pages) => pages * self.pages.size().get(),
        };
        let times = (bytes / self.size.get().max(self.unit_size())).max(1);
        u32::try_from(times).unwrap_or(u32::MAX)
    }

    /// The least memory that an operation has an effect on.
    fn unit_size(&self) -> u64 {
        match self.operation {
            Operation::Recycled => self.pages.size().get(),
            _ => 1,
        }
    }

    /// The bytes that one operation moves; `None` if it moves none.
    pub fn moved(&self) -> Option<Bytes> {
        use Operation as Op;
        let moves = matches!(
            self.operation,
            Op::MemoryRead
                | Op::MemoryWrite
                | Op::MemoryCopy
                | Op::MemoryCopyUnaligned
                | Op::MemoryCopyStreaming
        );
        moves.then_some(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_blocks_are_moved_several_times_in_a_sample_and_large_ones_once() {
        let times = |operation, size| {
            let blank = CostProbe::blank(TimerProbe::blank());
            CostProbe { operation, size: Bytes::new(size), ..blank }.per_sample()
        };
        assert_eq!(times(Operation::MemoryCopy, 16), 65_536);
        assert_eq!(times(Operation::MemoryCopy, 64 << 10), 16);
        assert_eq!(times(Operation::MemoryCopy, 64 << 20), 1);
        assert_eq!(times(Operation::Recycled, 16), 1024, "at least a page is touched");
        assert_eq!(times(Operation::Recycled, 4 << 20), 1);
        assert_eq!(times(Operation::Getppid, 16), 128, "its size is not used");
    }

    #[test]
    fn an_operation_takes_its_own_parameters_and_all_other_settings() {
        assert!(Operation::MemoryCopy.takes("size") && !Operation::Getppid.takes("size"));
        assert!(Operation::Getppid.takes("policy"));
        assert!(!Operation::Yield.takes("partner-cpu"), "a yield stays on its CPU");
        assert!(Operation::ClockSleep.takes("sleep") && !Operation::Pipe.takes("sleep"));
    }
}
