//! Direct writes, each followed by fsync(2).
//!
//! A copy's file has 16 MiB; the files of all copies together have at most 256 MiB.

use std::fs::File;
use std::os::unix::fs::FileExt;

use tactus_model::result::Shortfall;
use tactus_sys::mapping::Mapping;
use tactus_sys::{Errno, direct_file};

use super::{Endless, scratch};
use crate::error::{During, LoadError};
use crate::site::Site;

const FILE: u64 = 16 << 20;
const BLOCK: u64 = 64 << 10;

/// Counts one operation per write of 64 KiB at a random place, confirmed by fsync(2).
pub(super) fn run(site: &'static Site) -> Endless {
    scratch::require_disk("disk", site)?;
    let blocks = scratch::size(FILE, BLOCK, site) / BLOCK;
    let mut random = site.random();
    // Direct transfers need aligned memory, and whole pages are aligned.
    let mut buffer = Mapping::new(BLOCK as usize).during("map a buffer")?;
    let file = create(site, &mut buffer)?;
    loop {
        buffer.bytes()[..8].copy_from_slice(&random.next_u64().to_ne_bytes());
        let place = random.below(blocks) * BLOCK;
        file.write_all_at(buffer.bytes(), place).during("write the load's file")?;
        file.sync_all().during("sync the load's file to the disk")?;
        site.did(1, BLOCK);
    }
}

/// A file for direct transfers, or otherwise an ordinary file, which is reported as a shortfall.
fn create(site: &Site, buffer: &mut Mapping) -> Result<File, LoadError> {
    let path = site.path("direct");
    let refused = match direct_file::create(&path) {
        Ok(file) => {
            scratch::without_name(&path)?;
            // Some filesystems accept the flag and refuse the transfer.
            match file.write_all_at(buffer.bytes(), 0) {
                Ok(()) => return Ok(file),
                Err(error) => Errno::from_io_error(&error),
            }
        }
        Err(error) => {
            // A filesystem that refuses may have created the file.
            let _ = std::fs::remove_file(&path);
            Some(error.errno)
        }
    };
    if refused != Some(Errno::INVAL) {
        let reason = refused.map_or_else(|| "unknown error".to_owned(), |errno| errno.to_string());
        return Err(LoadError::new(format!("failed to write {}: {reason}", path.display())));
    }
    site.shortfall(Shortfall {
        asked: "load disk with direct transfers".to_owned(),
        granted: "load disk with buffered transfers, each synced".to_owned(),
        reason: format!(
            "the filesystem of {} does not support direct transfers (O_DIRECT)",
            site.directory().display()
        ),
        fix: Some("set TMPDIR to a directory on a disk, e.g. TMPDIR=/var/tmp".to_owned()),
    });
    scratch::create(site)
}
