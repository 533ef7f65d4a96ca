//! The socket of the manager.

use std::os::unix::net::UnixListener;

use tactus_sys::activation;

/// The socket that systemd has opened for this process, if it has.
pub fn activated() -> Option<UnixListener> {
    activation::take_sockets().into_iter().next().map(UnixListener::from)
}
