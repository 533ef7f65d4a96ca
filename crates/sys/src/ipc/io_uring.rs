//! Requests to the kernel through rings:
//! [io_uring(7)](https://man7.org/linux/man-pages/man7/io_uring.7.html).

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::types::Fd;
use io_uring::{opcode, squeue};
use rustix::net::{Shutdown, SocketType};
use tactus_model::cost::Wait;

use super::socket::unix_pair;
use super::{Channel, Copying, Ends, Terms};
use crate::doorbell::spun;
use crate::error::{Errno, SysError};

/// An end of a connection, with a ring of its own.
pub struct Ring {
    ring: io_uring::IoUring,
    socket: OwnedFd,
    wait: Wait,
}

/// Messages through stream sockets of unix(7), by `IORING_OP_SEND` and `IORING_OP_RECV`. A side that
/// spins looks for the completion, without a system call.
///
/// # Errors
/// Of `io_uring_setup`: `EPERM`: `kernel.io_uring_disabled` forbids it. `ENOSYS`: the kernel has no
/// io_uring, or a seccomp filter hides it, as in containers.
#[doc(alias = "IORING_OP_SEND")]
pub fn io_uring(terms: Terms) -> Ends<Copying<Ring>> {
    let [first, second] = unix_pair(SocketType::STREAM, terms)?;
    let end = |socket| {
        let ring = io_uring::IoUring::new(4).map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            SysError::new("io_uring_setup", errno)
        })?;
        Ok(Ring { ring, socket, wait: terms.wait })
    };
    Copying::ends(terms, [end(first)?, end(second)?])
}

impl Ring {
    /// Makes a request and waits until it is done, so that the kernel no longer has what it refers to.
    fn request(&mut self, request: &squeue::Entry) -> Result<usize, Errno> {
        // SAFETY: the caller borrows what the request refers to until this function returns. It
        // returns once the request is done, or if the kernel has not taken it.
        unsafe { self.ring.submission().push(request) }.map_err(|_| Errno::AGAIN)?;
        let done = match self.wait {
            Wait::Block => self.completed()?,
            Wait::Spin => {
                self.submit(0)?;
                match spun(|| self.completion()) {
                    Ok(done) => done,
                    Err(gone) => {
                        // Ends the request.
                        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
                        self.completed()?;
                        return Err(gone);
                    }
                }
            }
        };
        usize::try_from(done).map_err(|_| Errno::from_raw_os_error(-done))
    }

    /// Lets the kernel take the request, and sleeps until this number are done.
    fn submit(&mut self, done: usize) -> Result<(), Errno> {
        loop {
            match self.ring.submit_and_wait(done) {
                Ok(_) => return Ok(()),
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
    }

    /// Sleeps until the request is done.
    fn completed(&mut self) -> Result<i32, Errno> {
        loop {
            self.submit(1)?;
            if let Some(done) = self.completion() {
                return Ok(done);
            }
        }
    }

    /// The result of the request, once it is done.
    fn completion(&mut self) -> Option<i32> {
        self.ring.completion().next().map(|done| done.result())
    }
}

impl Channel for Ring {
    const CALLS: [&'static str; 2] = ["IORING_OP_SEND", "IORING_OP_RECV"];

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::MSGSIZE)?;
        let socket = Fd(self.socket.as_raw_fd());
        let request = opcode::Send::new(socket, bytes.as_ptr(), length).flags(libc::MSG_NOSIGNAL);
        self.request(&request.build())
    }

    fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::MSGSIZE)?;
        let socket = Fd(self.socket.as_raw_fd());
        self.request(&opcode::Recv::new(socket, bytes.as_mut_ptr(), length).build())
    }
}
