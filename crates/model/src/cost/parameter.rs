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
