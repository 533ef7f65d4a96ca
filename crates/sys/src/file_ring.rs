//! Reads of a file of which several are on their way at a time.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

use io_uring::{opcode, types};

use crate::error::{Errno, SysError};
use crate::mapping::Mapping;

/// Reads blocks of a file, several at a time:
/// [io_uring(7)](https://man7.org/linux/man-pages/man7/io_uring.7.html).
#[doc(alias = "IORING_OP_READ")]
pub struct FileRing {
    ring: io_uring::IoUring,
    file: File,
    block: u32,
    /// A block for each read, in whole pages. It is kept if a read is still on its way.
    buffers: ManuallyDrop<Mapping>,
    /// The buffers that no read uses.
    free: Vec<u32>,
    depth: u32,
}

impl FileRing {
    /// Sets up reads of `block` bytes, at most `depth` at a time.
    ///
    /// # Errors
    /// - `EPERM`: `kernel.io_uring_disabled` forbids it.
    /// - `ENOSYS`: the kernel has no io_uring, or a seccomp filter hides it, as in
    ///   containers.
    /// - `ENOMEM`: there is no memory for the buffers.
    #[doc(alias = "io_uring_setup")]
    pub fn new(file: File, block: usize, depth: u32) -> Result<Self, SysError> {
        let too_large = SysError::new("mmap", Errno::NOMEM);
        let size = u32::try_from(block).map_err(|_| too_large)?;
        let length = stride(size).checked_mul(depth as usize).ok_or(too_large)?;
        let mut buffers = Mapping::new(length)?;
        buffers.bytes().fill(0);
        let ring = io_uring::IoUring::new(depth).map_err(SysError::of_io("io_uring_setup"))?;
        let free = (0..depth).collect();
        Ok(Self { ring, file, block: size, buffers: ManuallyDrop::new(buffers), free, depth })
    }

    /// How many further reads can be begun.
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// Begins a read at `offset`; the kernel sees it at the next [`Self::wait`].
    ///
    /// # Errors
    /// `EAGAIN`: there is no room.
    pub fn begin(&mut self, offset: u64) -> Result<(), SysError> {
        let full = SysError::new("io_uring_enter", Errno::AGAIN);
        let buffer = self.free.pop().ok_or(full)?;
        let bytes = &mut self.buffers.bytes()[stride(self.block) * buffer as usize..];
        let read =
            opcode::Read::new(types::Fd(self.file.as_raw_fd()), bytes.as_mut_ptr(), self.block)
                .offset(offset)
                .build()
                .user_data(buffer.into());
        // SAFETY: the buffer has `block` bytes, is used by no other read, and lives until the read
        // has completed; the file is open as long.
        unsafe { self.ring.submission().push(&read) }.map_err(|_| full)
    }

    /// Waits until a read has completed, and returns the number of its bytes: fewer than a block at
    /// the end of the file.
    ///
    /// # Errors
    /// Those of [read(2)](https://man7.org/linux/man-pages/man2/read.2.html); `EAGAIN`: no read is on
    /// its way.
    #[doc(alias = "io_uring_enter")]
    pub fn wait(&mut self) -> Result<usize, SysError> {
        if self.free.len() == self.depth as usize {
            return Err(SysError::new("io_uring_enter", Errno::AGAIN));
        }
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => return Err(SysError::from_io("io_uring_enter", &error)),
            }
            if let Some(completion) = self.ring.completion().next() {
                self.free.push(completion.user_data() as u32);
                let result = completion.result();
                return usize::try_from(result).map_err(|_| {
                    SysError::new("IORING_OP_READ", Errno::from_raw_os_error(-result))
                });
            }
        }
    }
}

/// The distance of two buffers: whole pages, which direct transfers need.
const fn stride(block: u32) -> usize {
    (block as usize).next_multiple_of(4096)
}

impl Drop for FileRing {
    fn drop(&mut self) {
        while self.free.len() < self.depth as usize {
            match self.wait() {
                Err(error) if error.call == "io_uring_enter" => return,
                // A read that fails has completed.
                _ => {}
            }
        }
        // SAFETY: no read uses the buffers, and nothing uses the field after this.
        unsafe { ManuallyDrop::drop(&mut self.buffers) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn several_reads_are_on_their_way_and_complete() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        let ring = FileRing::new(file, 1_000, 4);
        let refused = |error: &SysError| [Errno::PERM, Errno::NOSYS].contains(&error.errno);
        let ring = match ring {
            Err(error) if refused(&error) => Err(error),
            found => Ok(found.unwrap()),
        };
        let Some(mut ring) = tactus_testing::require(tactus_testing::Need::Machine, ring) else {
            return;
        };
        assert!(ring.wait().is_err(), "none is on its way");
        for offset in [0, 5_000, 9_500, 20_000] {
            ring.begin(offset).unwrap();
        }
        assert!(ring.begin(0).is_err(), "there is no room");
        let mut lengths: Vec<usize> = (0..4).map(|_| ring.wait().unwrap()).collect();
        lengths.sort_unstable();
        assert_eq!((lengths, ring.room()), (vec![0, 500, 1_000, 1_000], 4));
        ring.begin(0).unwrap();
    }
}
