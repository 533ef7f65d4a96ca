//! The error of a refused system call.

pub use rustix::io::Errno;

/// A system call that failed: which, and what the kernel answered.
///
/// The meaning of each answer is on the call's man page, that of the codes in
/// [errno(3)](https://man7.org/linux/man-pages/man3/errno.3.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {errno}")]
pub struct SysError {
    /// The call's name, as its man page is called.
    pub call: &'static str,
    /// What the kernel answered.
    pub errno: Errno,
}

impl SysError {
    /// Names the call that was answered with `errno`.
    pub const fn new(call: &'static str, errno: Errno) -> Self {
        Self { call, errno }
    }

    /// Takes what the calling thread's last failed call left in `errno`.
    pub fn last(call: &'static str) -> Self {
        let errno = Errno::from_io_error(&std::io::Error::last_os_error());
        // `last_os_error` always carries a number; EIO stands for "none" all the same.
        Self::new(call, errno.unwrap_or(Errno::IO))
    }

    /// Turns the −1 of a libc function into an error, everything else into its value.
    pub fn check<T: Copy + PartialEq + From<i8>>(
        call: &'static str,
        returned: T,
    ) -> Result<T, Self> {
        if returned == T::from(-1) { Err(Self::last(call)) } else { Ok(returned) }
    }

    /// Names the call for errors of rustix: `.map_err(SysError::of("mlockall"))`.
    pub fn of(call: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::new(call, errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_call_and_the_kernels_answer() {
        let error = SysError::new("mlockall", Errno::NOMEM);
        assert!(error.to_string().starts_with("mlockall: Cannot allocate memory"), "{error}");
    }
}
