//! The error with which the kernel refused a call.

use std::fmt::{self, Display, Formatter};

/// The error number of a refused call.
///
/// The numbers are those of Linux's generic ABI (`include/uapi/asm-generic/errno-base.h` and
/// `errno.h`), which x86, Arm, POWER and RISC-V share. Their meanings are in
/// [errno(3)](https://man7.org/linux/man-pages/man3/errno.3.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(i32);

impl Refusal {
    /// Operation not permitted.
    #[doc(alias = "EPERM")]
    pub const PERM: Self = Self(1);
    /// No such file or directory.
    #[doc(alias = "ENOENT")]
    pub const NOENT: Self = Self(2);
    /// No such device or address.
    #[doc(alias = "ENXIO")]
    pub const NXIO: Self = Self(6);
    /// The argument list is too long; from sched_setattr(2): the structure has fields that
    /// the kernel does not know.
    #[doc(alias = "E2BIG")]
    pub const TOOBIG: Self = Self(7);
    /// Try again.
    #[doc(alias = "EAGAIN")]
    pub const AGAIN: Self = Self(11);
    /// Out of memory.
    #[doc(alias = "ENOMEM")]
    pub const NOMEM: Self = Self(12);
    /// Permission denied.
    #[doc(alias = "EACCES")]
    pub const ACCESS: Self = Self(13);
    /// The device or resource is busy.
    #[doc(alias = "EBUSY")]
    pub const BUSY: Self = Self(16);
    /// No such device.
    #[doc(alias = "ENODEV")]
    pub const NODEV: Self = Self(19);
    /// Invalid argument.
    #[doc(alias = "EINVAL")]
    pub const INVAL: Self = Self(22);
    /// No space is left, or a limit is reached.
    #[doc(alias = "ENOSPC")]
    pub const NOSPC: Self = Self(28);
    /// The file system is mounted read-only.
    #[doc(alias = "EROFS")]
    pub const ROFS: Self = Self(30);
    /// The kernel does not have the call.
    #[doc(alias = "ENOSYS")]
    pub const NOSYS: Self = Self(38);

    /// Converts an error number of the generic ABI.
    pub const fn from_raw_os_error(number: i32) -> Self {
        Self(number)
    }

    /// The text of strerror(3) for the errors above.
    const fn text(self) -> Option<&'static str> {
        Some(match self {
            Self::PERM => "Operation not permitted",
            Self::NOENT => "No such file or directory",
            Self::NXIO => "No such device or address",
            Self::TOOBIG => "Argument list too long",
            Self::AGAIN => "Resource temporarily unavailable",
            Self::NOMEM => "Cannot allocate memory",
            Self::ACCESS => "Permission denied",
            Self::BUSY => "Device or resource busy",
            Self::NODEV => "No such device",
            Self::INVAL => "Invalid argument",
            Self::NOSPC => "No space left on device",
            Self::ROFS => "Read-only file system",
            Self::NOSYS => "Function not implemented",
            Self(_) => return None,
        })
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => write!(f, "{text} (os error {})", self.0),
            None => write!(f, "os error {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_printed_with_its_number() {
        assert_eq!(Refusal::BUSY.to_string(), "Device or resource busy (os error 16)");
        assert_eq!(Refusal::from_raw_os_error(95).to_string(), "os error 95");
    }

    /// The standard library takes its texts from the C library.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn the_texts_equal_those_of_the_c_library() {
        for refusal in (1..134).map(Refusal::from_raw_os_error) {
            let error = std::io::Error::from_raw_os_error(refusal.0);
            assert!(
                refusal.text().is_none() || refusal.to_string() == error.to_string(),
                "{error}"
            );
        }
    }
}
