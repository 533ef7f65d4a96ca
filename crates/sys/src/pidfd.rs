//! Descriptors of processes and threads, whose IDs the kernel reuses.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal};
use tactus_model::recording::ThreadId;

use crate::error::{Errno, SysError};

/// A descriptor of a process or a thread, which refers to the same one until it is closed:
/// [pidfd_open(2)](https://man7.org/linux/man-pages/man2/pidfd_open.2.html).
#[doc(alias = "pidfd_open")]
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// Opens the process with this ID; as a thread, the descriptor refers to its first thread.
    ///
    /// # Errors
    /// `ESRCH`: the process does not exist. `ENOSYS`: the kernel is older than 5.3.
    pub fn of_process(process: u32) -> Result<Self, SysError> {
        open(i32::try_from(process).unwrap_or(0), PidfdFlags::empty())
    }

    /// Opens the thread with this ID.
    ///
    /// # Errors
    /// `ESRCH`: the thread does not exist. `EINVAL`: the kernel is older than 6.9.
    #[doc(alias = "PIDFD_THREAD")]
    pub fn of_thread(thread: ThreadId) -> Result<Self, SysError> {
        // The header `linux/pidfd.h` defines the flag as `O_EXCL`.
        open(thread.0, PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned()))
    }

    /// The ID of the process or thread, from
    /// [/proc/self/fdinfo](https://man7.org/linux/man-pages/man5/proc_pid_fdinfo.5.html).
    ///
    /// While this succeeds, no other process can have that ID: the kernel reuses an ID only
    /// after its owner has ended and was waited for.
    ///
    /// # Errors
    /// `ESRCH`: it has ended and was waited for, or it is outside of our PID namespace.
    /// `EBADF`: the descriptor is not a pidfd.
    pub fn id(&self) -> Result<ThreadId, SysError> {
        const FILE: &str = "/proc/self/fdinfo";
        let text = fs::read_to_string(format!("{FILE}/{}", self.0.as_raw_fd()))
            .map_err(SysError::of_io(FILE))?;
        let number = text.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse().ok());
        match number {
            Some(number @ 1..) => Ok(ThreadId(number)),
            Some(_) => Err(SysError::new("pidfd", Errno::SRCH)),
            None => Err(SysError::new("pidfd", Errno::BADF)),
        }
    }

    /// Sends a signal by its number:
    /// [pidfd_send_signal(2)](https://man7.org/linux/man-pages/man2/pidfd_send_signal.2.html).
    ///
    /// # Errors
    /// `ESRCH`: it has ended and was waited for. `EPERM`: it belongs to another user. `EINVAL`:
    /// there is no such signal.
    #[doc(alias = "pidfd_send_signal")]
    pub fn send(&self, signal: i32) -> Result<(), SysError> {
        let named = SysError::of("pidfd_send_signal");
        let signal = Signal::from_named_raw(signal).ok_or_else(|| named(Errno::INVAL))?;
        rustix::process::pidfd_send_signal(&self.0, signal).map_err(named)
    }
}

impl PidFd {
    /// Another descriptor of the same process or thread.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE`: too many open files.
    pub fn try_clone(&self) -> Result<Self, SysError> {
        rustix::io::fcntl_dupfd_cloexec(&self.0, 0).map(Self).map_err(SysError::of("fcntl"))
    }
}

/// It can be read once the process or thread has ended.
impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<PidFd> for OwnedFd {
    fn from(descriptor: PidFd) -> Self {
        descriptor.0
    }
}

impl From<OwnedFd> for PidFd {
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }
}

fn open(number: i32, flags: PidfdFlags) -> Result<PidFd, SysError> {
    let named = SysError::of("pidfd_open");
    let number = Pid::from_raw(number).filter(|_| number > 0).ok_or_else(|| named(Errno::SRCH))?;
    rustix::process::pidfd_open(number, flags).map(PidFd).map_err(named)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_has_its_id_until_it_was_waited_for() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let descriptor = PidFd::of_process(child.id()).unwrap();
        let number = ThreadId(child.id().cast_signed());
        assert_eq!(descriptor.id(), Ok(number));
        descriptor.send(libc::SIGKILL).unwrap();
        assert_eq!(descriptor.id(), Ok(number));
        child.wait().unwrap();
        assert!(descriptor.send(libc::SIGKILL).is_err_and(|error| error.errno == Errno::SRCH));
        assert_eq!(descriptor.id(), Err(SysError::new("pidfd", Errno::SRCH)));
    }

    #[test]
    fn a_thread_has_its_id_if_the_kernel_supports_threads() {
        std::thread::spawn(|| {
            let own = crate::thread::current_id();
            match PidFd::of_thread(own) {
                Ok(descriptor) => assert_eq!(descriptor.id(), Ok(own)),
                Err(error) if error.errno == Errno::INVAL => {
                    tactus_testing::skip(tactus_testing::Need::Machine, error);
                }
                Err(error) => panic!("{error}"),
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_missing_process_is_refused() {
        for number in [0, u32::MAX] {
            let opened = PidFd::of_process(number).map(drop);
            assert_eq!(opened, Err(SysError::new("pidfd_open", Errno::SRCH)));
        }
        let file = PidFd::from(OwnedFd::from(File::open("/dev/null").unwrap()));
        assert_eq!(file.id(), Err(SysError::new("pidfd", Errno::BADF)));
    }
}
