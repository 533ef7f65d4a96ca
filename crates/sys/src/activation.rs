//! Sockets that systemd opened for this process:
//! [sd_listen_fds(3)](https://man7.org/linux/man-pages/man3/sd_listen_fds.3.html).

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::FdFlags;

/// The first descriptor that is passed: `SD_LISTEN_FDS_START`.
const FIRST: RawFd = 3;

/// Whether the descriptors have been taken.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes the sockets that were passed to this process; none the second time. They are closed in
/// programs that it starts.
#[doc(alias = "LISTEN_FDS")]
pub fn take_sockets() -> Vec<OwnedFd> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let is_ours = number("LISTEN_PID") == Some(std::process::id());
    let count = number("LISTEN_FDS").filter(|_| is_ours).unwrap_or(0).min(64);
    if count == 0 || TAKEN.swap(true, Ordering::Relaxed) {
        return Vec::new();
    }
    let sockets = (FIRST..FIRST + count.cast_signed()).filter_map(|number| {
        // SAFETY: whoever set the variables for this process gave it these descriptors, and they
        // are taken once. One that is not open fails in the next call, and is not closed.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        match rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC) {
            Ok(()) => Some(socket),
            Err(_) => {
                std::mem::forget(socket);
                None
            }
        }
    });
    sockets.collect()
}
