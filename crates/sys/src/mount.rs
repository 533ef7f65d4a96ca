//! Mounts filesystems of the kernel.

use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount_change};
use rustix::thread::UnshareFlags;

use crate::error::SysError;

/// Mounts a filesystem without a device, for example `proc` or `tmpfs`, on a directory:
/// [mount(2)](https://man7.org/linux/man-pages/man2/mount.2.html).
///
/// # Errors
/// - `EPERM`: the process does not have `CAP_SYS_ADMIN`.
/// - `ENODEV`: the kernel does not support this filesystem.
/// - `ENOENT`: the directory does not exist.
pub fn mount(filesystem: &str, directory: &Path) -> Result<(), SysError> {
    rustix::mount::mount(filesystem, directory, filesystem, MountFlags::empty(), None)
        .map_err(SysError::of("mount"))
}

/// Gives the calling thread a mount namespace of its own, which processes that it starts inherit:
/// [unshare(2)](https://man7.org/linux/man-pages/man2/unshare.2.html). What is mounted from now on
/// is seen only there, and vanishes with the last of them.
///
/// # Errors
/// `EPERM`: the process does not have `CAP_SYS_ADMIN`.
#[doc(alias = "CLONE_NEWNS")]
pub fn own_mounts() -> Result<(), SysError> {
    // SAFETY: only the mount namespace, the root and the directory of this thread change.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
        .map_err(SysError::of("unshare"))?;
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", private).map_err(SysError::of("mount"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_root_own_mounts_are_seen_by_their_thread_only() {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().to_owned();
        let mounted = std::thread::spawn(move || {
            let mounted = own_mounts().and_then(|()| mount("tmpfs", &seen));
            mounted.map(|()| std::fs::write(seen.join("file"), "").unwrap())
        });
        let mounted = mounted.join().unwrap();
        let Some(()) = tactus_testing::require(tactus_testing::Need::Root, mounted) else { return };
        assert!(!folder.path().join("file").exists());
    }

    #[test]
    fn mounting_on_a_missing_directory_is_an_error() {
        // Without privileges the kernel checks permissions before it looks up the
        // directory.
        assert!(mount("proc", Path::new("/no/such/directory")).is_err());
    }
}
