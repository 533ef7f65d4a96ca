//! When the kernel received or sent a datagram: `SO_TIMESTAMPNS` and `SO_TIMESTAMPING`
//! ([timestamping](https://www.kernel.org/doc/html/latest/networking/timestamping.html)).

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use tactus_model::time::{Instant, Realtime, Tai};

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
    /// `EPERM`: the process does not have `CAP_NET_ADMIN`, which this number of bytes needs.
    #[doc(alias = "SO_RCVBUFFORCE")]
    pub fn bind(address: SocketAddr, bytes: u32) -> Result<Self, SysError> {
        let socket = bind(address)?;
        // The kernel doubles the value, to account for its overhead.
        set(&socket, libc::SO_RCVBUFFORCE, i32::try_from(bytes / 2).unwrap_or(i32::MAX / 2))?;
        set(&socket, libc::SO_TIMESTAMPNS, 1)?;
        Ok(Self(socket))
    }

    /// Takes the next datagram that waits, and the time at which it came; `None` if none waits.
    /// Bytes beyond `buffer` are lost.
    ///
    /// # Errors
    /// Those of [recvmsg(2)](https://man7.org/linux/man-pages/man2/recvmsg.2.html); `EPROTO`: the
    /// datagram has no time.
    #[doc(alias = "SCM_TIMESTAMPNS")]
    pub fn take(&self, buffer: &mut [u8]) -> Result<Option<(usize, Instant<Realtime>)>, SysError> {
        let mut time = None;
        let length = receive(&self.0, buffer, 0, |level, kind, data| {
            if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                // SAFETY: the data of this type is a timespec, perhaps unaligned.
                let found: libc::timespec =
                    unsafe { data.cast::<libc::timespec>().read_unaligned() };
                time = Some(Instant::from_nanos(nanos(found).as_nanos()));
            }
        })?;
        let Some(length) = length else { return Ok(None) };
        let time = time.ok_or(SysError::new("recvmsg", Errno::PROTO))?;
        Ok(Some((length, time)))
    }
}

/// A UDP socket that learns when its datagrams left: the kernel's time stamp of each, taken when
/// it hands the datagram to the driver of the interface.
#[doc(alias = "SO_TIMESTAMPING")]
#[derive(Debug)]
pub struct DepartureSocket {
    socket: UdpSocket,
    /// The kernel's number of the next datagram; `None` if the kernel gives no time stamps.
    next: Option<u32>,
}

/// What the kernel reports about a datagram that has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The number of the datagram, as [`DepartureSocket::send_to`] returned it.
    pub number: u32,
    /// When it left.
    pub at: Instant<Realtime>,
}

impl DepartureSocket {
    /// Binds a socket in the calling thread's namespace. Its calls never wait.
    ///
    /// # Errors
    /// Those of [socket(2)](https://man7.org/linux/man-pages/man2/socket.2.html) and
    /// [bind(2)](https://man7.org/linux/man-pages/man2/bind.2.html).
    pub fn bind(address: SocketAddr) -> Result<Self, SysError> {
        let socket = bind(address)?;
        rustix::io::ioctl_fionbio(&socket, true).map_err(SysError::of("ioctl FIONBIO"))?;
        let mut socket = Self { socket, next: None };
        socket.number_from_zero();
        Ok(socket)
    }

    /// Permits addresses of whole networks.
    ///
    /// # Errors
    /// Those of [setsockopt(2)](https://man7.org/linux/man-pages/man2/setsockopt.2.html).
    #[doc(alias = "SO_BROADCAST")]
    pub fn allow_broadcast(&self) -> Result<(), SysError> {
        set(&self.socket, libc::SO_BROADCAST, 1)
    }

    /// Sends a datagram, and returns its number; `None` if the kernel gives no time stamps.
    ///
    /// # Errors
    /// `EAGAIN`: the buffer of the socket is full. `ENETUNREACH`: there is no route. See
    /// [sendto(2)](https://man7.org/linux/man-pages/man2/sendto.2.html).
    pub fn send_to(&mut self, datagram: &[u8], to: SocketAddr) -> Result<Option<u32>, SysError> {
        let sent = self.socket.send_to(datagram, to);
        self.sent(sent.map_err(SysError::of_io("sendto")))
    }

    /// Lets [`Self::send_to_at`] say when datagrams leave.
    ///
    /// # Errors
    /// `ENOPROTOOPT`: the kernel is older than 4.19.
    #[doc(alias = "SO_TXTIME")]
    pub fn allow_send_times(&self) -> Result<(), SysError> {
        let value = libc::sock_txtime { clockid: libc::CLOCK_TAI, flags: 0 };
        set(&self.socket, libc::SO_TXTIME, value)
    }

    /// Like [`Self::send_to`], for a datagram that is to leave at a time. Only the queueing
    /// discipline [tc-etf(8)](https://man7.org/linux/man-pages/man8/tc-etf.8.html) of the
    /// interface heeds the time; without it, the datagram leaves at once.
    ///
    /// # Errors
    /// As above.
    #[doc(alias = "SCM_TXTIME")]
    pub fn send_to_at(
        &mut self,
        datagram: &[u8],
        to: SocketAddr,
        at: Instant<Tai>,
    ) -> Result<Option<u32>, SysError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(TxTime(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::TxTime(at.as_nanos()));
        let parts = [IoSlice::new(datagram)];
        let flags = SendFlags::empty();
        let sent = rustix::net::sendmsg_addr(&self.socket, &to, &parts, &mut control, flags);
        self.sent(sent.map_err(SysError::of("sendmsg")))
    }

    /// Counts a datagram as the kernel does.
    fn sent(&mut self, sent: Result<usize, SysError>) -> Result<Option<u32>, SysError> {
        match sent {
            Ok(_) => {
                let number = self.next;
                self.next = number.map(|number| number.wrapping_add(1));
                Ok(number)
            }
            Err(error) => {
                // Kernels differ in whether they count a datagram that was not sent.
                self.number_from_zero();
                Err(error)
            }
        }
    }

    /// Takes the next report of a datagram that has left; `None` if there is none.
    ///
    /// # Errors
    /// Those of [recvmsg(2)](https://man7.org/linux/man-pages/man2/recvmsg.2.html).
    #[doc(alias = "MSG_ERRQUEUE")]
    pub fn departure(&self) -> Result<Option<Departure>, SysError> {
        loop {
            let (mut at, mut number) = (None, None);
            let found = receive(&self.socket, &mut [], libc::MSG_ERRQUEUE, |level, kind, data| {
                match (level, kind) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                        // SAFETY: the data of this type begins with a timespec, the time stamp
                        // by software, perhaps unaligned.
                        let time: libc::timespec =
                            unsafe { data.cast::<libc::timespec>().read_unaligned() };
                        at = Some(Instant::from_nanos(nanos(time).as_nanos()));
                    }
                    (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                        // SAFETY: the data of these types begins with this structure, perhaps
                        // unaligned.
                        let error: libc::sock_extended_err =
                            unsafe { data.cast::<libc::sock_extended_err>().read_unaligned() };
                        if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING {
                            number = Some(error.ee_data);
                        }
                    }
                    _ => {}
                }
            })?;
            match (found, at, number) {
                (None, ..) => return Ok(None),
                (Some(_), Some(at), Some(number)) => return Ok(Some(Departure { number, at })),
                // Another error of the network, which says nothing about time.
                (Some(_), ..) => {}
            }
        }
    }

    /// Makes the kernel number the datagrams from zero.
    fn number_from_zero(&mut self) {
        let wanted = libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_ID
            | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        // Only the first setting of `OPT_ID` resets the count.
        let set = set(&self.socket, libc::SO_TIMESTAMPING, 0)
            .and_then(|()| set(&self.socket, libc::SO_TIMESTAMPING, wanted as libc::c_int));
        self.next = set.is_ok().then_some(0);
    }
}

fn bind(address: SocketAddr) -> Result<UdpSocket, SysError> {
    UdpSocket::bind(address).map_err(SysError::of_io("bind"))
}

/// Sets an option whose value is a `T`: an int, or the structure that the option has.
fn set<T: Copy>(socket: &UdpSocket, option: libc::c_int, value: T) -> Result<(), SysError> {
    // SAFETY: the option's value is a live value of the given size, which the kernel only reads.
    let returned = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    SysError::check("setsockopt", returned).map(drop)
}

/// Receives a datagram that waits, and passes on the level, the type and the data of each of its
/// control messages. Returns its length; `None` if none waits.
fn receive(
    socket: &UdpSocket,
    buffer: &mut [u8],
    flags: libc::c_int,
    mut control_message: impl FnMut(libc::c_int, libc::c_int, *const u8),
) -> Result<Option<usize>, SysError> {
    // Aligned for control messages, and large enough for a time stamp and an error with an address.
    let mut control = [0_u64; 32];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: `msghdr` consists of pointers and integers, for which zeroes are valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message refers to live buffers of the given sizes.
    let length =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags | libc::MSG_DONTWAIT) };
    let length = match SysError::check("recvmsg", length) {
        Ok(length) => length.cast_unsigned(),
        Err(error) if error.errno == Errno::AGAIN => return Ok(None),
        Err(error) => return Err(error),
    };
    // SAFETY: recvmsg filled the control buffer, which is alive, and set its length.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    // SAFETY: the macros return null or a header within the control buffer.
    while let Some(found) = unsafe { header.as_ref() } {
        // SAFETY: as above; the data follows the header.
        let data = unsafe { libc::CMSG_DATA(header) };
        control_message(found.cmsg_level, found.cmsg_type, data);
        // SAFETY: as above.
        header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
    }
    Ok(Some(length))
}
