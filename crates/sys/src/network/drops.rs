//! Datagrams that found no room in their socket.

use std::os::fd::{AsFd, AsRawFd};

use crate::error::SysError;

/// The numbers that `SO_MEMINFO` reports, and the place of that of drops among them.
const NUMBERS: usize = 9;
const DROPS: usize = 8;

/// The datagrams that the kernel has dropped because the buffer of the socket was full, modulo 2³².
///
/// # Errors
/// `ENOPROTOOPT`: the kernel is older than 4.12.
#[doc(alias = "SO_MEMINFO")]
pub fn dropped_datagrams(socket: impl AsFd) -> Result<u32, SysError> {
    let mut numbers = [0_u32; NUMBERS];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to the array, which has that many, and the
    // length of what it has written.
    let returned = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    SysError::check("getsockopt", returned).map(|_| numbers[DROPS])
}

/// Lets so many bytes of datagrams wait in a socket, the kernel's overhead included.
///
/// # Errors
/// `EPERM`: the process does not have `CAP_NET_ADMIN`.
#[doc(alias = "SO_RCVBUFFORCE")]
pub fn enlarge_receive_buffer(socket: impl AsFd, bytes: usize) -> Result<(), SysError> {
    // The kernel doubles the value, to account for its overhead.
    rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, bytes / 2)
        .map_err(SysError::of("setsockopt"))
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn datagrams_without_room_are_counted() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(dropped_datagrams(&socket), Ok(0));
        let address = socket.local_addr().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sent = 10_000;
        for _ in 0..sent {
            sender.send_to(&[0; 1000], address).unwrap();
        }
        let dropped = dropped_datagrams(&socket).unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut received = 0;
        while socket.recv(&mut [0; 1000]).is_ok() {
            received += 1;
        }
        assert!(dropped > 0 && received + dropped == sent, "{received} + {dropped}");
    }
}
