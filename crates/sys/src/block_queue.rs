//! How much block devices move at one request.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Errno;

/// The disks that the files of `directory` lie on, by their names: the disk itself and
/// those that it is made of, where it is a mapping or an array. Of a partition it is
/// the disk that it belongs to.
///
/// `root` is `/`, or the root of a tree that was made up for a test. See
/// [sysfs-block](https://docs.kernel.org/admin-guide/abi-stable.html#abi-sys-block-disk-queue-max-sectors-kb).
///
/// # Errors
/// The directory is not there. `ENODEV`: it lies on no block device, as in memory, on
/// another machine, or on a filesystem of several layers.
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

/// Adds the disk of a device and all that it is made of.
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

/// Where the limit on the size of one request to the disk called `disk` is set, in KiB,
/// below the root.
#[doc(alias = "max_sectors_kb")]
pub fn request_limit(disk: &str) -> PathBuf {
    Path::new("sys/block").join(disk).join("queue/max_sectors_kb")
}

/// The least limit that the kernel takes, in KiB: a page.
pub fn least_request() -> u64 {
    // SAFETY: sysconf only reads its argument.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(page / 1024).ok().filter(|&kib| kib > 0).unwrap_or(4)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A tree in which `directory` lies on a partition of a mapping made of one disk.
    fn tree(root: &Path, directory: &Path) {
        let number = number(fs::metadata(directory).unwrap().dev());
        for place in ["sys/dev/block", "dm-0/queue", "dm-0/dm-0p1", "dm-0/slaves", "sda/queue"] {
            fs::create_dir_all(root.join(place)).unwrap();
        }
        symlink(root.join("dm-0/dm-0p1"), root.join("sys/dev/block").join(number)).unwrap();
        symlink(root.join("sda"), root.join("dm-0/slaves/sda")).unwrap();
    }

    #[test]
    fn a_partition_lies_on_its_disk_and_a_mapping_on_what_it_is_made_of() {
        let root = tempfile::tempdir().unwrap();
        tree(root.path(), root.path());
        let disks = disks_under(root.path(), root.path()).unwrap();
        assert_eq!(disks.into_iter().collect::<Vec<_>>(), ["dm-0", "sda"]);
    }

    #[test]
    fn memory_is_no_disk() {
        let root = tempfile::tempdir().unwrap();
        let error = disks_under(root.path(), Path::new("/proc")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::NODEV.raw_os_error()));
    }
}
