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
