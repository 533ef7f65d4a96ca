//! A cheap system call, repeated: getppid(2).

use super::Endless;
use crate::site::Site;

/// Calls between two updates of the counter, so that counting costs nothing.
const BATCH: u32 = 1000;

/// Counts one operation per call.
pub(super) fn run(site: &'static Site) -> Endless {
    loop {
        for _ in 0..BATCH {
            std::hint::black_box(tactus_sys::process::parent_id());
        }
        site.did(BATCH.into(), 0);
    }
}
