//! Mounting the kernel's own filesystems.

use std::path::Path;

use rustix::mount::MountFlags;

use crate::error::SysError;

/// Mounts a filesystem that needs no device, as `proc` or `tmpfs`, at a directory:
/// [mount(2)](https://man7.org/linux/man-pages/man2/mount.2.html).
///
/// # Errors
/// - `EPERM`: no `CAP_SYS_ADMIN`.
/// - `ENODEV`: the kernel does not have this filesystem.
/// - `ENOENT`: there is no such directory.
pub fn mount(filesystem: &str, directory: &Path) -> Result<(), SysError> {
    rustix::mount::mount(filesystem, directory, filesystem, MountFlags::empty(), None)
        .map_err(SysError::of("mount"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_mounted_at_a_directory_that_is_not_there() {
        // Without privilege the kernel refuses before it looks.
        assert!(mount("proc", Path::new("/no/such/directory")).is_err());
    }
}
