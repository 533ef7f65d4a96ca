//! Files without a name, which go with the process that works on them.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use tactus_model::result::Shortfall;
use tactus_sys::filesystem;

use crate::error::{During, LoadError};
use crate::site::Site;
use crate::surroundings::Surroundings;

/// What all copies of a load together may keep on a disk.
const ALL_COPIES: u64 = 256 << 20;

/// The size of a copy's file when `wanted` is what one copy would like: less where there
/// are many copies, whole blocks of `block` bytes, one at least.
pub(super) fn size(wanted: u64, block: u64, site: &Site) -> u64 {
    let size = wanted.min(ALL_COPIES / u64::from(site.copies()));
    (size / block).max(1) * block
}

/// Says so when the load's directory lies in memory, where nothing that is written ever
/// goes to a disk.
pub(super) fn require_disk(load: &str, site: &Site) -> Result<(), LoadError> {
    let directory = site.directory().display();
    let in_memory = filesystem::is_in_memory(site.directory())
        .during(&format!("find the filesystem of {directory}"))?;
    if in_memory {
        let shortfall = match site.surroundings() {
            Surroundings::Host => Shortfall {
                asked: format!("load {load} on a disk"),
                granted: format!("load {load} in memory"),
                reason: format!("{directory} lies on a filesystem in memory"),
                fix: Some("set TMPDIR to a directory on a disk, as in TMPDIR=/var/tmp".to_owned()),
            },
            Surroundings::Guest => Shortfall {
                asked: format!("load {load} on a disk"),
                granted: format!("load {load} on a RAM disk (tmpfs)"),
                reason:
                    "a guest has no disk: one that its host serves would bring the host's time in"
                        .to_owned(),
                fix: None,
            },
        };
        site.shortfall(shortfall);
    }
    Ok(())
}

/// Creates a file for reading and writing, whose name is gone at once.
pub(super) fn create(site: &Site) -> Result<File, LoadError> {
    let path = site.path("scratch");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
    let file = file.during(&format!("create {}", path.display()))?;
    without_name(&path)?;
    Ok(file)
}

/// Takes the name from a file that is open.
pub(super) fn without_name(path: &Path) -> Result<(), LoadError> {
    fs::remove_file(path).during(&format!("remove the name {}", path.display()))
}
