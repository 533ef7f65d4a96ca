//! What an operation costs: the operations, and the settings of the probe that measures them.
//!
//! [`Operation`] is the table: an operation is a word, a row of [`Operation::traits`], and its code
//! in `tactus_probe`. Everything else (plans, options, tables, pages) follows from the row.

mod file;
mod image;
mod operation;
mod parameter;
mod sampling;

use serde::{Deserialize, Serialize};

pub use self::file::{Advice, Cache, Directory, FileReads, QueueDepth};
pub use self::image::Image;
pub use self::operation::{Amount, Family, Operation, Traits};
pub use self::parameter::{Buffers, Pages, Parameter, Partner, PartnerCpu, ReadClock, Touch, Wait};
pub use self::sampling::{NotTimes, Sampling, Times, Way};
use crate::bytes::Bytes;
use crate::probe::TimerProbe;

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
    /// Who touches the bytes of a message.
    pub touch: Touch,
    /// The memory of messages.
    pub buffers: Buffers,
    /// How a side waits for a message.
    pub wait: Wait,
    /// The file that it reads.
    #[serde(default)]
    pub file: FileReads,
    /// The image that it draws.
    #[serde(default)]
    pub image: Image,
    /// Whether a thread of the lowest priority counts while the task's CPU is idle.
    #[serde(default)]
    pub idle_count: bool,
    /// The clock that is read.
    #[serde(default)]
    pub read_clock: ReadClock,
    /// How it is sampled.
    #[serde(flatten)]
    pub sampling: Sampling,
}

impl CostProbe {
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
            touch: Touch::Both,
            buffers: Buffers::Recycled,
            wait: Wait::Block,
            file: FileReads::BLANK,
            image: Image::OF_THE_PAPER,
            idle_count: false,
            read_clock: ReadClock::Monotonic,
            sampling: Sampling::USUAL,
        }
    }

    /// How many times as many operations a sample has if both sides spin: a message can then take
    /// less than the two readings of the clock.
    const SPUN: u32 = 8;

    /// Whether both sides occupy their CPUs while they wait.
    pub fn spins(&self) -> bool {
        self.wait == Wait::Spin && self.operation.takes(Parameter::Wait)
    }

    /// How many operations a sample has.
    pub fn per_sample(&self) -> u32 {
        if let Some(times) = self.sampling.times.get() {
            return times;
        }
        let bytes = match self.operation.traits().amount {
            Amount::Times(times) if self.spins() => return times * Self::SPUN,
            Amount::Times(times) => return times,
            Amount::Bytes(bytes) => bytes,
            Amount::Pages(pages) => pages * self.pages.size().get(),
        };
        let times = (bytes / self.size.get().max(self.unit_size())).max(1);
        u32::try_from(times).unwrap_or(u32::MAX)
    }

    /// Whether it waits for something that is neither the task nor its partner: a disk.
    pub fn waits_for_disk(&self) -> bool {
        // Direct reads have no cache.
        self.reads_file() && (self.is_cold() || !self.operation.takes(Parameter::Cache))
    }

    /// Whether it reads a file.
    pub fn reads_file(&self) -> bool {
        self.operation.takes(Parameter::FileSize)
    }

    /// Whether it reads a file in passes, before each of which the pages of the file are dropped from
    /// the page cache.
    pub fn is_cold(&self) -> bool {
        match self.operation {
            Operation::FaultMajor => true,
            operation => operation.takes(Parameter::Cache) && self.file.is_cold(),
        }
    }

    /// Whether most of its samples find what an earlier one has read ahead, so that its typical cost
    /// is the time of a whole pass, by block.
    pub fn is_read_ahead(&self) -> bool {
        self.is_cold() && self.operation != Operation::FaultMajor
    }

    /// The least memory that an operation has an effect on.
    fn unit_size(&self) -> u64 {
        match self.operation {
            Operation::Recycled => self.pages.size().get(),
            _ => 1,
        }
    }

    /// The memory that it takes: on each side a working set, and two blocks, a source and a
    /// destination or what is sent and what is received.
    pub fn memory(&self) -> Bytes {
        let taken = |parameter: Parameter, bytes: Bytes| {
            if self.operation.takes(parameter) { bytes.get() } else { 0 }
        };
        let sides = if self.operation.has_partner() { 2 } else { 1 };
        let blocks = 2 * taken(Parameter::Size, self.size);
        Bytes::new(sides * (taken(Parameter::WorkingSet, self.working_set) + blocks))
    }

    /// The most memory that operations may take of this much: half of it, since touching more
    /// would make others lose some.
    pub const fn memory_max(there: Bytes) -> Bytes {
        Bytes::new(there.get() / 2)
    }

    /// What is counted as one operation.
    pub const fn unit(&self) -> &'static str {
        match self.sampling.way {
            Way::RoundTrip => self.operation.traits().unit,
            Way::OneWay | Way::Back => "hand-over",
        }
    }

    /// The bytes that one operation moves; `None` if it moves none.
    pub fn moved(&self) -> Option<Bytes> {
        let size = match self.operation.takes(Parameter::Image) {
            true => self.image.bytes(),
            false => self.size,
        };
        self.operation.traits().moves.then_some(size)
    }

    /// The memory that one operation touches; `None` if it touches none of its own.
    pub fn touched(&self) -> Option<Bytes> {
        match self.operation {
            Operation::Fault => Some(self.pages.size()),
            Operation::FaultMajor => Some(Pages::Normal.size()),
            operation => operation.takes(Parameter::Size).then_some(self.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Probe;
    use crate::settings;

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
    fn messages_are_sent_in_turn() {
        for operation in Operation::ALL.iter().filter(|one| one.traits().family == Family::Ipc) {
            let blank = CostProbe::blank(TimerProbe::blank());
            let block = CostProbe { operation: *operation, ..blank };
            let spin = CostProbe { wait: Wait::Spin, ..block.clone() };
            assert!([block, spin].iter().all(|cost| cost.per_sample().is_multiple_of(2)));
        }
    }

    #[test]
    fn an_operation_takes_its_own_parameters_and_all_other_settings() {
        let [copy, call] = [Operation::MemoryCopy, Operation::Getppid];
        assert!(copy.takes(Parameter::Size) && !call.takes(Parameter::Size));
        let (policy, size) = (settings::find("policy").unwrap(), settings::find("size").unwrap());
        let probe = |operation| {
            let blank = CostProbe::blank(TimerProbe::blank());
            Probe::Cost(CostProbe { operation, ..blank })
        };
        assert!(policy.applies_to(&probe(call)) && !size.applies_to(&probe(call)));
        assert!(!Operation::Yield.takes(Parameter::PartnerCpu), "a yield stays on its CPU");
    }
}
