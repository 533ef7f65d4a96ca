//! How much data block devices transfer per request while a cell is measured.

use crate::text::keywords;

keywords! {
    /// The size of the requests to block devices.
    #[doc(alias = "max_sectors_kb")]
    pub enum BlockRequests: "size of block requests" {
        /// The machine's own setting: as many adjacent blocks as the kernel merges.
        Untouched = "untouched",
        /// One page per request, the least the kernel allows, on the disks that hold the load's
        /// directory.
        Single = "single",
    }
}

impl Default for BlockRequests {
    /// The value for plans stored before this setting existed.
    fn default() -> Self {
        Self::Untouched
    }
}
