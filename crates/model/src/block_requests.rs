//! How much block devices move at one request while a cell is measured.

use crate::text::keywords;

keywords! {
    /// The size of the requests to block devices.
    #[doc(alias = "max_sectors_kb")]
    pub enum BlockRequests: "size of block requests" {
        /// What the machine is set to: as many blocks as lie together.
        Untouched = "untouched",
        /// One page at a request, the least that the kernel allows, on the disks under
        /// the directory of the loads.
        Single = "single",
    }
}

impl Default for BlockRequests {
    /// What plans had before there was a choice.
    fn default() -> Self {
        Self::Untouched
    }
}
