//! Maps memory, touches every page of it, and unmaps it.
//!
//! A copy holds 4 MiB at most.

use tactus_sys::mapping::Mapping;

use super::Endless;
use crate::error::During;
use crate::site::Site;

const SIZE: usize = 4 << 20;

/// The smallest page size of Linux. With larger pages, some touches cause no fault, but are
/// counted.
const PAGE: usize = 4096;

/// Counts one operation per page touched for the first time.
pub(super) fn run(site: &'static Site) -> Endless {
    loop {
        let mut memory = Mapping::new(SIZE).during("map memory")?;
        // A kernel without huge pages refuses, which has no effect here.
        let _ = memory.forbid_huge_pages();
        for byte in memory.bytes().iter_mut().step_by(PAGE) {
            *byte = 1;
        }
        site.did((SIZE / PAGE) as u64, 0);
    }
}
