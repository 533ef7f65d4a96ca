//! Swap space.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::{Errno, SysError};

/// Lets the kernel swap to a device or file, which has the signature of mkswap(8):
/// [swapon(2)](https://man7.org/linux/man-pages/man2/swapon.2.html).
///
/// # Errors
/// - `EPERM`: the process does not have `CAP_SYS_ADMIN`.
/// - `EINVAL`: there is no signature, or the filesystem does not support swap files.
/// - `EBUSY`: it is swap space already.
#[doc(alias = "swapon")]
pub fn on(place: &Path) -> Result<(), SysError> {
    let place = terminated("swapon", place)?;
    // SAFETY: `place` is a string with a terminating zero.
    SysError::check("swapon", unsafe { libc::swapon(place.as_ptr(), 0) }).map(drop)
}

/// Ends that; all that was swapped out returns to memory first.
///
/// # Errors
/// - `EPERM`: the process does not have `CAP_SYS_ADMIN`.
/// - `EINVAL`: it is no swap space.
/// - `ENOMEM`: the memory does not suffice.
#[doc(alias = "swapoff")]
pub fn off(place: &Path) -> Result<(), SysError> {
    let place = terminated("swapoff", place)?;
    // SAFETY: `place` is a string with a terminating zero.
    SysError::check("swapoff", unsafe { libc::swapoff(place.as_ptr()) }).map(drop)
}

fn terminated(call: &'static str, path: &Path) -> Result<CString, SysError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| SysError::new(call, Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_swap_space_is_refused() {
        for place in ["/proc/version", "/nowhere", "a\0b"] {
            assert!(on(Path::new(place)).is_err() && off(Path::new(place)).is_err(), "{place:?}");
        }
    }
}
