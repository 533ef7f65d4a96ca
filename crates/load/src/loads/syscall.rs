//! A cheap system call again and again: getppid(2).

use super::Endless;
use crate::site::Site;

/// Calls between two countings, so that counting costs nothing.
const BATCH: u32 = 1000;

/// Counts an operation each call.
pub(super) fn run(site: &'static Site) -> Endless {
    loop {
        for _ in 0..BATCH {
            std::hint::black_box(tactus_sys::process::parent_id());
        }
        site.did(BATCH.into(), 0);
    }
}
