//! Files without a name, which the kernel removes with the last process that has them open.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use tactus_model::result::Shortfall;
use tactus_sys::filesystem;

use crate::error::{During, LoadError};
use crate::site::Site;
use crate::surroundings::Surroundings;

/// The bytes that all copies of a load together may keep on a disk.
const ALL_COPIES: u64 = 256 << 20;

/// The size of a copy's file: `wanted` bytes, or less if there are many copies; a multiple of
/// `block` bytes, at least one block.
pub(super) fn size(wanted: u64, block: u64, site: &Site) -> u64 {
    let size = wanted.min(ALL_COPIES / u64::from(site.copies()));
    (size / block).max(1) * block
}

/// Reports a shortfall if the load's directory lies in memory, because nothing that is written
/// there reaches a disk.
pub(super) fn require_disk(load: &str, site: &Site) -> Result<(), LoadError> {
    let directory = site.directory().display();
    let in_memory = filesystem::is_in_memory(site.directory())
        .during(&format!("find the filesystem of {directory}"))?;
    if in_memory {
        let shortfall = match site.surroundings() {
            Surroundings::Host => Shortfall {
                asked: format!("load {load} on a disk"),
                granted: format!("load {load} in memory"),
                reason: format!("{directory} is on a filesystem in memory"),
                fix: Some("set TMPDIR to a directory on a disk, e.g. TMPDIR=/var/tmp".to_owned()),
            },
            Surroundings::Guest => Shortfall {
                asked: format!("load {load} on a disk"),
                granted: format!("load {load} on a RAM disk (tmpfs)"),
                reason: "a guest has no disk: one emulated by its host would add the host's delays"
                    .to_owned(),
                fix: None,
            },
        };
        site.shortfall(shortfall);
    }
    Ok(())
}

/// Creates a file for reading and writing, and removes its name at once.
pub(super) fn create(site: &Site) -> Result<File, LoadError> {
    let path = site.path("scratch");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
    let file = file.during(&format!("create {}", path.display()))?;
    without_name(&path)?;
    Ok(file)
}

/// Removes the name of an open file.
pub(super) fn without_name(path: &Path) -> Result<(), LoadError> {
    fs::remove_file(path).during(&format!("remove the name {}", path.display()))
}
