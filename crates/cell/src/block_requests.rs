//! Disks that transfer one page per request.

use std::path::Path;

use tactus_model::block_requests::BlockRequests;
use tactus_settings::{NotChanged, SettingChange};
use tactus_sys::Errno;
use tactus_sys::block_queue::{disks_under, least_request, request_limit};

/// The changes that limit the size of requests to the disks under `directory` as `wanted`; no
/// change for [`BlockRequests::Untouched`].
pub(crate) fn changes(
    wanted: BlockRequests,
    root: &Path,
    directory: &Path,
) -> Result<Vec<SettingChange>, NotChanged> {
    if wanted == BlockRequests::Untouched {
        return Ok(Vec::new());
    }
    let no_disk = || {
        NotChanged::new(
            format!(
                "changing the request size of the disk of {}: it is on no block device of this machine",
                directory.display()
            ),
            Some("set TMPDIR to a directory on a disk"),
        )
    };
    let disks =
        disks_under(root, directory).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NODEV) => no_disk(),
            _ => NotChanged::of(&format!("finding the disk of {}", directory.display()), &error),
        })?;
    if disks.is_empty() {
        return Err(no_disk());
    }
    let change = |disk: &String| SettingChange::new(request_limit(disk), least_request());
    Ok(disks.iter().map(change).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use tactus_sys::block_queue;

    use super::*;

    #[test]
    fn single_pages_are_requested_of_every_disk_under_the_directory() {
        let root = tempfile::tempdir().unwrap();
        let device = fs::metadata(root.path()).unwrap().dev();
        for place in ["sys/dev/block", "sys/block/sda/queue"] {
            fs::create_dir_all(root.path().join(place)).unwrap();
        }
        let number = root.path().join("sys/dev/block").join(block_queue::number(device));
        symlink(root.path().join("sys/block/sda"), number).unwrap();
        let requested = |wanted| changes(wanted, root.path(), root.path());
        assert_eq!(requested(BlockRequests::Untouched), Ok(Vec::new()));
        let change = SettingChange::new("sys/block/sda/queue/max_sectors_kb", least_request());
        assert_eq!(requested(BlockRequests::Single), Ok(vec![change]));
    }

    #[test]
    fn a_directory_on_no_disk_is_refused_with_a_fix() {
        let root = tempfile::tempdir().unwrap();
        let refusal = changes(BlockRequests::Single, root.path(), Path::new("/proc")).unwrap_err();
        assert!(refusal.reason.contains("on no block device"), "{}", refusal.reason);
        assert!(refusal.fix.is_some_and(|fix| fix.contains("TMPDIR")));
    }
}
