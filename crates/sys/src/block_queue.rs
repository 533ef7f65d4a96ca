//! How much a block device transfers in one request.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Errno;

/// The names of the disks that hold the files of `directory`: the disk itself and, if it is a
/// mapping or an array, its components. For a partition, this is the disk of the partition.
///
/// `root` is `/`, or the root of a simulated tree in a test. See
/// [sysfs-block](https://docs.kernel.org/admin-guide/abi-stable.html#abi-sys-block-disk-queue-max-sectors-kb).
///
/// # Errors
/// - The directory does not exist.
/// - `ENODEV`: the directory is not on a block device: it is in memory, on another machine, or on a
///   layered filesystem.
pub fn disks_under(root: &Path, directory: &Path) -> io::Result<BTreeSet<String>> {
    let place = root.join("sys/dev/block").join(number(fs::metadata(directory)?.dev()));
    let place = fs::canonicalize(place).map_err(|_| io::Error::from(Errno::NODEV))?;
    let mut disks = BTreeSet::new();
    collect(&place, &mut disks);
    Ok(disks)
}

/// A device's number as the kernel writes it, major and minor: `254:0`.
pub fn number(device: u64) -> String {
    format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))
}

/// Adds the disk of a device and all its components.
fn collect(device: &Path, disks: &mut BTreeSet<String>) {
    let of_whole = [Some(device), device.parent()];
    let disk = of_whole.into_iter().flatten().find(|place| place.join("queue").is_dir());
    let name = disk.and_then(Path::file_name).and_then(|name| name.to_str());
    let (Some(disk), Some(name)) = (disk, name) else { return };
    if !disks.insert(name.to_owned()) {
        return;
    }
    for part in fs::read_dir(disk.join("slaves")).into_iter().flatten().flatten() {
        if let Ok(part) = fs::canonicalize(part.path()) {
            collect(&part, disks);
        }
    }
}

/// The file below the root that sets the maximum size of a request to `disk`, in KiB.
#[doc(alias = "max_sectors_kb")]
pub fn request_limit(disk: &str) -> PathBuf {
    Path::new("sys/block").join(disk).join("queue/max_sectors_kb")
}

/// The minimum limit that the kernel accepts, in KiB: a page.
pub fn least_request() -> u64 {
    // SAFETY: sysconf only reads its argument.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(page / 1024).ok().filter(|&kib| kib > 0).unwrap_or(4)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A tree in which `directory` is on a partition of a mapping over one disk.
    fn tree(root: &Path, directory: &Path) {
        let number = number(fs::metadata(directory).unwrap().dev());
        for place in ["sys/dev/block", "dm-0/queue", "dm-0/dm-0p1", "dm-0/slaves", "sda/queue"] {
            fs::create_dir_all(root.join(place)).unwrap();
        }
        symlink(root.join("dm-0/dm-0p1"), root.join("sys/dev/block").join(number)).unwrap();
        symlink(root.join("sda"), root.join("dm-0/slaves/sda")).unwrap();
    }

    #[test]
    fn a_partition_is_on_its_disk_and_a_mapping_on_its_components() {
        let root = tempfile::tempdir().unwrap();
        tree(root.path(), root.path());
        let disks = disks_under(root.path(), root.path()).unwrap();
        assert_eq!(disks.into_iter().collect::<Vec<_>>(), ["dm-0", "sda"]);
    }

    #[test]
    fn memory_is_not_a_disk() {
        let root = tempfile::tempdir().unwrap();
        let error = disks_under(root.path(), Path::new("/proc")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::NODEV.raw_os_error()));
    }
}
