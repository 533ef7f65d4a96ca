//! Buffered reads and writes of a file.
//!
//! A copy's file has 64 MiB; the files of all copies together have at most 256 MiB. Reads come
//! from the page cache; the kernel decides when it writes dirty pages to the disk.

use std::os::unix::fs::FileExt;

use super::{Endless, scratch};
use crate::error::During;
use crate::site::Site;

const FILE: u64 = 64 << 20;
const BLOCK: u64 = 64 << 10;

/// Counts one operation per transfer of 64 KiB. Writes go through the file in order; after
/// each write, a random block is read.
pub(super) fn run(site: &'static Site) -> Endless {
    scratch::require_disk("file", site)?;
    let blocks = scratch::size(FILE, BLOCK, site) / BLOCK;
    let file = scratch::create(site)?;
    let mut random = site.random();
    let mut buffer = vec![0; BLOCK as usize];
    let mut written = 0;
    loop {
        buffer[..8].copy_from_slice(&random.next_u64().to_ne_bytes());
        file.write_all_at(&buffer, written % blocks * BLOCK).during("write the load's file")?;
        site.did(1, BLOCK);
        written += 1;
        let block = random.below(written.min(blocks));
        file.read_exact_at(&mut buffer, block * BLOCK).during("read the load's file")?;
        site.did(1, BLOCK);
    }
}
