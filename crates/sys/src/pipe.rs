//! Pipes between processes.

use std::os::fd::BorrowedFd;

use crate::error::SysError;

/// Lets a pipe hold at least so many bytes, instead of 64 KiB. Returns how many it holds.
///
/// # Errors
/// `EPERM`: that is more than `/proc/sys/fs/pipe-max-size`, or this user has many pipes. `EBUSY`: it
/// holds more than that now. See [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html).
#[doc(alias = "F_SETPIPE_SZ")]
pub fn enlarge(pipe: BorrowedFd<'_>, bytes: usize) -> Result<usize, SysError> {
    rustix::pipe::fcntl_setpipe_size(pipe, bytes).map_err(SysError::of("fcntl F_SETPIPE_SZ"))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_pipe_holds_what_was_asked_for() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(enlarge(reader.as_fd(), 200_000).unwrap() >= 200_000);
    }
}
