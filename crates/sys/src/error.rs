//! The error of a failed system call.

pub use rustix::io::Errno;

/// A system call that failed, with its error number.
///
/// The call's man page explains the error;
/// [errno(3)](https://man7.org/linux/man-pages/man3/errno.3.html) lists the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {errno}")]
pub struct SysError {
    /// The name of the call's man page.
    pub call: &'static str,
    /// The error number.
    pub errno: Errno,
}

impl SysError {
    /// Makes the error of `call` with `errno`.
    pub const fn new(call: &'static str, errno: Errno) -> Self {
        Self { call, errno }
    }

    /// Takes `errno` of the calling thread's last failed call.
    pub fn last(call: &'static str) -> Self {
        Self::from_io(call, &std::io::Error::last_os_error())
    }

    /// The error of a call that the standard library made; EIO if it carries no number.
    pub fn from_io(call: &'static str, error: &std::io::Error) -> Self {
        Self::new(call, Errno::from_io_error(error).unwrap_or(Errno::IO))
    }

    /// Adds the call's name to errors of the standard library: `.map_err(SysError::of_io("bind"))`.
    pub fn of_io(call: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::from_io(call, &error)
    }

    /// Turns the −1 of a libc function into an error and passes other values on.
    pub fn check<T: Copy + PartialEq + From<i8>>(
        call: &'static str,
        returned: T,
    ) -> Result<T, Self> {
        if returned == T::from(-1) { Err(Self::last(call)) } else { Ok(returned) }
    }

    /// Adds the call's name to errors of rustix: `.map_err(SysError::of("mlockall"))`.
    pub fn of(call: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::new(call, errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_call_and_its_error_number() {
        let error = SysError::new("mlockall", Errno::NOMEM);
        assert!(error.to_string().starts_with("mlockall: Cannot allocate memory"), "{error}");
    }
}
