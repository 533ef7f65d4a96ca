//! POSIX message queues:
//! [mq_overview(7)](https://man7.org/linux/man-pages/man7/mq_overview.7.html).

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::process::{Resource, Rlimit, setrlimit};
use tactus_model::cost::Wait;

use super::{Alarm, Channel, Copying, Ends, Terms};
use crate::error::{Errno, SysError};

/// An end of two queues, one in each direction.
#[derive(Debug)]
pub struct Queues {
    outgoing: OwnedFd,
    incoming: OwnedFd,
}

/// Messages through a queue.
///
/// The queues have no names while they are used. Their size counts against `RLIMIT_MSGQUEUE`, which
/// is raised if the kernel permits it.
///
/// # Errors
/// Of `mq_open`: `EINVAL`: a message is longer than `fs.mqueue.msgsize_max`. `EMFILE`: the queues
/// are larger than `RLIMIT_MSGQUEUE`. `ENOSYS`: the kernel was built without queues.
#[doc(alias = "mq_open")]
pub fn message_queue(terms: Terms) -> Ends<Copying<Queues>> {
    let unlimited = Rlimit { current: None, maximum: None };
    // Without permission, the limit may still be large enough.
    let _ = setrlimit(Resource::Msgqueue, unlimited);
    let (first, second) = (open(terms)?, open(terms)?);
    let clone =
        |queue: &OwnedFd| queue.try_clone().map_err(|_| SysError::new("fcntl", Errno::MFILE));
    let theirs = Queues { outgoing: clone(&second)?, incoming: clone(&first)? };
    Copying::ends(terms, [Queues { outgoing: first, incoming: second }, theirs])
}

/// Opens a queue of its own.
fn open(terms: Terms) -> Result<OwnedFd, SysError> {
    let user = crate::process::effective_user();
    // A name stays only if its process is killed at this moment; then the next removes it.
    let name = CString::new(format!("/tactus-{user}"))
        .map_err(|_| SysError::new("mq_open", Errno::INVAL))?;
    let flags = match terms.wait {
        Wait::Block => 0,
        Wait::Spin => libc::O_NONBLOCK,
    };
    let flags = flags | libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: all zeros are valid for a structure of numbers.
    let mut limits: libc::mq_attr = unsafe { std::mem::zeroed() };
    limits.mq_msgsize = terms.size as _;
    // A message, and one that hangs up.
    limits.mq_maxmsg = 2;
    for _ in 0..ATTEMPTS {
        // SAFETY: the name ends with a zero byte, and the call reads the name and the limits.
        let opened = unsafe { libc::mq_open(name.as_ptr(), flags, 0o600, &raw const limits) };
        let opened = SysError::check("mq_open", opened);
        // SAFETY: the name ends with a zero byte. If there is no such name, nothing happens.
        unsafe { libc::mq_unlink(name.as_ptr()) };
        match opened {
            // SAFETY: on Linux, a queue is a descriptor, which nobody else owns.
            Ok(queue) => return Ok(unsafe { OwnedFd::from_raw_fd(queue) }),
            // Another process is opening one, or was killed.
            Err(error) if error.errno == Errno::EXIST => {}
            Err(error) => return Err(error),
        }
    }
    Err(SysError::new("mq_open", Errno::EXIST))
}

/// How often it tries to have the name to itself.
const ATTEMPTS: u32 = 1000;

impl Channel for Queues {
    const CALLS: [&'static str; 2] = ["mq_send", "mq_receive"];

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        let queue = self.outgoing.as_raw_fd();
        // SAFETY: the call reads as many bytes as the slice has.
        let sent = unsafe { libc::mq_send(queue, bytes.as_ptr().cast(), bytes.len(), 0) };
        SysError::check("mq_send", sent).map(|_| bytes.len()).map_err(|error| error.errno)
    }

    fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        let (queue, length) = (self.incoming.as_raw_fd(), bytes.len());
        // SAFETY: the call writes at most as many bytes as the slice has.
        let received = unsafe {
            libc::mq_receive(queue, bytes.as_mut_ptr().cast(), length, std::ptr::null_mut())
        };
        let received = SysError::check("mq_receive", received).map_err(|error| error.errno)?;
        Ok(received as usize)
    }

    fn hang_up(&mut self) {
        let _ = self.send(&[]);
    }

    fn alarm(&self) -> Option<Alarm> {
        let [outgoing, incoming] = [&self.incoming, &self.outgoing].map(OwnedFd::try_clone);
        let mut other = Self { outgoing: outgoing.ok()?, incoming: incoming.ok()? };
        Some(Box::new(move || other.hang_up()))
    }
}
