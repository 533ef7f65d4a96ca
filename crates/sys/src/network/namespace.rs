//! Network namespaces: [network_namespaces(7)](https://man7.org/linux/man-pages/man7/network_namespaces.7.html).

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use crate::error::SysError;

/// A network namespace without a name. It exists while this value, a thread in it, or a socket
/// made in it exists, so it ends with the process, however that ends.
#[derive(Debug)]
pub struct NetworkNamespace(OwnedFd);

impl NetworkNamespace {
    /// Makes a namespace: [unshare(2)](https://man7.org/linux/man-pages/man2/unshare.2.html) in a
    /// thread of its own. It contains only a loopback interface, which is down.
    ///
    /// # Errors
    /// `EPERM`: the process does not have `CAP_SYS_ADMIN`. `EINVAL`: the kernel was built without
    /// network namespaces.
    #[doc(alias = "CLONE_NEWNET")]
    pub fn new() -> Result<Self, SysError> {
        in_a_thread(|| {
            // SAFETY: only the network namespace of this thread changes; file descriptors and
            // memory stay shared.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
                .map_err(SysError::of("unshare"))?;
            let file = File::open("/proc/thread-self/ns/net").map_err(SysError::of_io("open"))?;
            Ok(Self(file.into()))
        })
    }

    /// Runs `work` in a thread of its own in the namespace:
    /// [setns(2)](https://man7.org/linux/man-pages/man2/setns.2.html). Sockets that it makes
    /// belong to the namespace and can be used by any thread.
    ///
    /// # Errors
    /// Those of setns and of `work`.
    #[doc(alias = "setns")]
    pub fn within<T: Send, E: From<SysError> + Send>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send,
    ) -> Result<T, E> {
        in_a_thread(|| {
            let kind = Some(LinkNameSpaceType::Network);
            rustix::thread::move_into_link_name_space(self.0.as_fd(), kind)
                .map_err(SysError::of("setns"))?;
            work()
        })
    }
}

impl AsFd for NetworkNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn in_a_thread<T: Send, E: From<SysError> + Send>(
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, E> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, work);
        let thread = thread.map_err(SysError::of_io("clone"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
