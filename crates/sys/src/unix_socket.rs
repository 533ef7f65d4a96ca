//! Unix sockets: who is at the other end.

use std::os::fd::{AsFd, AsRawFd};

use crate::error::SysError;

/// The effective user ID of the process that connected or listened at the other end of a socket:
/// `SO_PEERCRED` of [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html).
///
/// # Errors
/// `ENOTSOCK`, `ENOTCONN`: it is not a connected Unix socket.
#[doc(alias = "SO_PEERCRED")]
pub fn peer_user(socket: &impl AsFd) -> Result<u32, SysError> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `peer` is valid for the write of `length` bytes; the kernel writes no more.
    let returned = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    SysError::check("getsockopt", returned).map(|_| peer.uid)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn both_ends_of_our_own_socket_are_ours() {
        let (one, other) = UnixStream::pair().unwrap();
        let user = crate::process::effective_user();
        assert_eq!([peer_user(&one), peer_user(&other)], [Ok(user), Ok(user)]);
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(peer_user(&file).is_err());
    }
}
