//! The pages of a processor's ring buffer.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::instance::failed;
use crate::error::{Errno, SysError};

/// Reads the ring buffer of one processor by its pages (`trace_pipe_raw`).
///
/// A page that is full is taken out of the ring as a whole, so reading it costs
/// the kernel no more than the copy.
#[derive(Debug)]
pub struct Pages {
    file: File,
    page: Vec<u8>,
}

impl Pages {
    pub(super) fn open(path: &Path, page_size: usize) -> Result<Self, SysError> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|error| failed("open", &error))?;
        Ok(Self { file, page: vec![0; page_size] })
    }

    /// Takes what the oldest page holds; none when nothing waits.
    ///
    /// The page that the kernel writes to is given as far as it is written; what
    /// follows in it comes as another page.
    ///
    /// # Errors
    /// None that a valid buffer is known to give.
    pub fn next_page(&mut self) -> Result<Option<&[u8]>, SysError> {
        match rustix::io::read(&self.file, &mut self.page) {
            Ok(0) | Err(Errno::AGAIN) => Ok(None),
            Ok(length) => Ok(Some(&self.page[..length])),
            Err(errno) => Err(SysError::new("read", errno)),
        }
    }
}

impl AsFd for Pages {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
