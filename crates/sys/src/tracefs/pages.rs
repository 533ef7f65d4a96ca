//! The pages of a CPU's ring buffer.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::{Errno, SysError};

/// Reads the ring buffer of one CPU page by page (`trace_pipe_raw`).
///
/// The kernel removes a full page from the ring as a whole, so reading it costs the
/// kernel no more than the copy.
#[derive(Debug)]
pub struct Pages {
    file: File,
    page: Vec<u8>,
}

impl Pages {
    pub(super) fn open(path: &Path, page_size: usize) -> Result<Self, SysError> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(SysError::of_io("open"))?;
        Ok(Self { file, page: vec![0; page_size] })
    }

    /// Takes the content of the oldest page; `None` if nothing waits.
    ///
    /// The page that the kernel is writing to is returned as far as it is written;
    /// later content comes as another page.
    ///
    /// # Errors
    /// None known for a valid buffer.
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
