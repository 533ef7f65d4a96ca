//! The settings that some operations have.

use crate::bytes::Bytes;
use crate::text::keywords;

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
        /// Who touches the bytes of a message.
        Touch = "touch",
        /// The memory of messages.
        Buffers = "buffers",
        /// How a side waits for a message.
        Wait = "wait",
        /// The size of the file.
        FileSize = "file-size",
        /// Where the file is made.
        Directory = "directory",
        /// Where the file's content is.
        Cache = "cache",
        /// Advice to the kernel about the reads.
        Advice = "advice",
        /// How many reads are on their way.
        QueueDepth = "queue-depth",
        /// The size of the image.
        Image = "image",
        /// Whether idle time is counted.
        IdleCount = "idle-count",
        /// The clock that is read.
        ReadClock = "read-clock",
        /// How a task sleeps; a setting of other probes too.
        Sleep = "sleep",
        /// What a sample of a round trip is.
        Way = "way",
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

impl Default for ReadClock {
    /// The value for plans stored before this setting existed.
    fn default() -> Self {
        Self::Monotonic
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

keywords! {
    /// Who touches the bytes of a message, beside the transport itself.
    pub enum Touch: "touch" {
        /// Nobody.
        None = "none",
        /// The sender writes all of them.
        Write = "write",
        /// The receiver reads all of them.
        Read = "read",
        /// The sender writes them and the receiver reads them.
        Both = "both",
    }
}

keywords! {
    /// The memory of messages.
    pub enum Buffers: "kind of buffers" {
        /// The same for all messages.
        Recycled = "recycled",
        /// Fresh pages for each message.
        Fresh = "fresh",
    }
}

keywords! {
    /// How a side waits for a message.
    pub enum Wait: "way of waiting" {
        /// It sleeps until the kernel wakes it.
        Block = "block",
        /// It looks again and again, and occupies its CPU.
        Spin = "spin",
    }
}

impl Touch {
    /// Whether the sender writes the message.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Both)
    }

    /// Whether the receiver reads the message.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Both)
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
