//! Waits for many descriptors: [epoll(7)](https://man7.org/linux/man-pages/man7/epoll.7.html).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};

use crate::error::{Errno, SysError};

/// What a descriptor is awaited for. Its hangup is always reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// It can be read.
    pub read: bool,
    /// It can be written.
    pub write: bool,
}

impl Interest {
    /// That it can be read.
    pub const READ: Self = Self { read: true, write: false };

    fn flags(self) -> epoll::EventFlags {
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN, self.read);
        flags.set(epoll::EventFlags::OUT, self.write);
        flags
    }
}

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The key with which it was added.
    pub key: u64,
    /// What it is ready for.
    pub interest: Interest,
    /// The other end is gone.
    pub hung_up: bool,
}

/// Waits for descriptors, each with a key.
#[doc(alias = "epoll_create")]
#[derive(Debug)]
pub struct Poller(OwnedFd);

/// The most descriptors that one [`wait`](Poller::wait) reports.
const READY_MAX: usize = 64;

impl Poller {
    /// Makes a poller without descriptors.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE`: too many open files.
    pub fn new() -> Result<Self, SysError> {
        epoll::create(epoll::CreateFlags::CLOEXEC).map(Self).map_err(SysError::of("epoll_create"))
    }

    /// Awaits a descriptor. It leaves by [`remove`](Self::remove), or when it and its duplicates
    /// are closed.
    ///
    /// # Errors
    /// `EEXIST`: it was added before. `EPERM`: it cannot be awaited, e.g. a regular file.
    /// `ENOSPC`: the limit of the user is reached.
    pub fn add(&self, fd: impl AsFd, key: u64, interest: Interest) -> Result<(), SysError> {
        let data = epoll::EventData::new_u64(key);
        epoll::add(&self.0, fd, data, interest.flags()).map_err(SysError::of("epoll_ctl"))
    }

    /// Changes what a descriptor is awaited for.
    ///
    /// # Errors
    /// `ENOENT`: it was not added.
    pub fn change(&self, fd: impl AsFd, key: u64, interest: Interest) -> Result<(), SysError> {
        let data = epoll::EventData::new_u64(key);
        epoll::modify(&self.0, fd, data, interest.flags()).map_err(SysError::of("epoll_ctl"))
    }

    /// Awaits a descriptor no longer.
    ///
    /// # Errors
    /// `ENOENT`: it was not added.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), SysError> {
        epoll::delete(&self.0, fd).map_err(SysError::of("epoll_ctl"))
    }

    /// Sleeps until descriptors are ready or `timeout` is over; without one, for as long as it
    /// takes. A signal may end the sleep too. Reports some of those that are ready; the others
    /// follow in the next calls, in turn.
    ///
    /// # Errors
    /// None according to the man page.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Vec<Ready>, SysError> {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let mut events = Vec::with_capacity(READY_MAX);
        let buffer = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.0, buffer, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(SysError::new("epoll_wait", errno)),
        }
        Ok(events.iter().map(ready).collect())
    }
}

fn ready(event: &epoll::Event) -> Ready {
    let flags = event.flags;
    Ready {
        key: event.data.u64(),
        interest: Interest {
            read: flags.contains(epoll::EventFlags::IN),
            write: flags.contains(epoll::EventFlags::OUT),
        },
        hung_up: flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR),
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_descriptor_is_reported_by_its_key() {
        let poller = Poller::new().unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        poller.add(&near, 7, Interest::READ).unwrap();
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), []);
        far.write_all(b"x").unwrap();
        let ready = Ready { key: 7, interest: Interest::READ, hung_up: false };
        assert_eq!(poller.wait(None).unwrap(), [ready]);
        poller.change(&near, 8, Interest { read: false, write: true }).unwrap();
        assert_eq!(poller.wait(None).unwrap()[0].key, 8);
        drop(far);
        assert!(poller.wait(None).unwrap()[0].hung_up);
        poller.remove(&near).unwrap();
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), []);
    }
}
