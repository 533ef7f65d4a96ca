//! When the kernel received a datagram:
//! [`SO_TIMESTAMPNS`](https://www.kernel.org/doc/html/latest/networking/timestamping.html).

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use tactus_model::time::{Instant, Nanos, Realtime};

use crate::error::{Errno, SysError};
use crate::timespec::nanos;

/// A UDP socket whose datagrams carry the time at which the kernel received them, however long
/// they wait for the program.
#[doc(alias = "SO_TIMESTAMPNS")]
#[derive(Debug)]
pub struct StampedSocket(UdpSocket);

impl StampedSocket {
    /// Binds a socket in the calling thread's namespace, in which `bytes` of datagrams can wait,
    /// the kernel's overhead included.
    ///
    /// # Errors
    /// `EPERM`: the process does not have `CAP_NET_ADMIN`, which is needed for so many bytes.
    #[doc(alias = "SO_RCVBUFFORCE")]
    pub fn bind(address: SocketAddr, bytes: u32) -> Result<Self, SysError> {
        let socket = UdpSocket::bind(address).map_err(SysError::of_io("bind"))?;
        let socket = Self(socket);
        // The kernel doubles the value, to account for its overhead.
        socket.set(libc::SO_RCVBUFFORCE, i32::try_from(bytes / 2).unwrap_or(i32::MAX / 2))?;
        socket.set(libc::SO_TIMESTAMPNS, 1)?;
        Ok(socket)
    }

    fn set(&self, option: libc::c_int, value: libc::c_int) -> Result<(), SysError> {
        // SAFETY: the option's value is a live int of the given size.
        let returned = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const value).cast(),
                size_of_val(&value) as libc::socklen_t,
            )
        };
        SysError::check("setsockopt", returned).map(drop)
    }

    /// Takes the next datagram that waits, and the time at which it came; `None` if none waits.
    /// Bytes beyond `buffer` are lost.
    ///
    /// # Errors
    /// Those of [recvmsg(2)](https://man7.org/linux/man-pages/man2/recvmsg.2.html); `EPROTO`: the
    /// datagram has no time.
    #[doc(alias = "SCM_TIMESTAMPNS")]
    pub fn take(&self, buffer: &mut [u8]) -> Result<Option<(usize, Instant<Realtime>)>, SysError> {
        // Aligned for control messages, and large enough for one with a timespec.
        let mut control = [0_u64; 8];
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: `msghdr` consists of pointers and integers, for which zeroes are valid.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the message refers to live buffers of the given sizes.
        let length =
            unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        match SysError::check("recvmsg", length) {
            Ok(length) => {
                let stamp = stamp(&message).ok_or(SysError::new("recvmsg", Errno::PROTO))?;
                Ok(Some((length.cast_unsigned(), Instant::from_nanos(stamp.as_nanos()))))
            }
            Err(error) if error.errno == Errno::AGAIN => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The time of a message that recvmsg has filled.
fn stamp(message: &libc::msghdr) -> Option<Nanos> {
    // SAFETY: recvmsg filled the control buffer, which is alive, and set its length.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: the macros return null or a header within the control buffer.
    while let Some(found) = unsafe { header.as_ref() } {
        if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            // SAFETY: the data of this type is a timespec, perhaps unaligned.
            let time: libc::timespec =
                unsafe { libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned() };
            return Some(nanos(time));
        }
        // SAFETY: as above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}
