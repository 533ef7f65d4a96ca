//! Mounts filesystems of the kernel.

use std::path::Path;

use rustix::mount::MountFlags;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounting_on_a_missing_directory_is_an_error() {
        // Without privileges the kernel checks permissions before it looks up the
        // directory.
        assert!(mount("proc", Path::new("/no/such/directory")).is_err());
    }
}
