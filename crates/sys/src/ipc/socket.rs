//! Sockets: [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html),
//! [tcp(7)](https://man7.org/linux/man-pages/man7/tcp.7.html),
//! [udp(7)](https://man7.org/linux/man-pages/man7/udp.7.html).

use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;

use rustix::net::sockopt::{set_socket_send_buffer_size, socket_recv_buffer_size};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType};
use tactus_model::cost::Wait;

use super::{Alarm, Channel, Copying, Ends, Terms};
use crate::error::{Errno, SysError};

/// An end of a connection.
#[derive(Debug)]
pub struct Socket {
    socket: OwnedFd,
    /// Whether every message is a packet of its own.
    has_packets: bool,
    wait: Wait,
}

/// Messages through a connection of stream sockets.
#[doc(alias = "AF_UNIX")]
pub fn unix_stream(terms: Terms) -> Ends<Copying<Socket>> {
    opened(terms, unix_pair(SocketType::STREAM, terms)?, false)
}

/// Messages as datagrams.
///
/// # Errors
/// Sending fails by `EMSGSIZE` or `ENOBUFS` if the kernel has no buffer of that size.
#[doc(alias = "SOCK_DGRAM")]
pub fn unix_datagram(terms: Terms) -> Ends<Copying<Socket>> {
    opened(terms, unix_pair(SocketType::DGRAM, terms)?, true)
}

/// Messages as packets of a connection.
///
/// # Errors
/// As those of [`unix_datagram`].
#[doc(alias = "SOCK_SEQPACKET")]
pub fn unix_seqpacket(terms: Terms) -> Ends<Copying<Socket>> {
    opened(terms, unix_pair(SocketType::SEQPACKET, terms)?, true)
}

/// Messages through a connection over the loopback interface, each sent at once.
#[doc(alias = "TCP_NODELAY")]
pub fn tcp(terms: Terms) -> Ends<Copying<Socket>> {
    let connected = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let first = TcpStream::connect(listener.local_addr()?)?;
        let second = loop {
            let (second, peer) = listener.accept()?;
            // Another process may have connected first.
            if peer == first.local_addr()? {
                break second;
            }
        };
        for socket in [&first, &second] {
            socket.set_nodelay(true)?;
        }
        Ok([first.into(), second.into()])
    };
    opened(terms, connected().map_err(SysError::of_io("connect"))?, false)
}

/// Messages as datagrams over the loopback interface.
///
/// # Errors
/// `ENOBUFS`: the socket could not keep a message. Sending fails by `EMSGSIZE` if a message is
/// longer than a datagram, 65 507 bytes.
#[doc(alias = "SOCK_DGRAM")]
pub fn udp(terms: Terms) -> Ends<Copying<Socket>> {
    let connected = || {
        let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let (first, second) = (bind()?, bind()?);
        first.connect(second.local_addr()?)?;
        second.connect(first.local_addr()?)?;
        Ok([first.into(), second.into()])
    };
    let sockets: [OwnedFd; 2] = connected().map_err(SysError::of_io("connect"))?;
    let room = socket_recv_buffer_size(&sockets[0]).map_err(SysError::of("getsockopt"))?;
    match room < 2 * terms.size.min(DATAGRAM_MAX) {
        // The kernel would drop it, and the other side wait for ever.
        true => Err(SysError::new("sendto", Errno::NOBUFS)),
        false => opened(terms, sockets, true),
    }
}

/// The most bytes of a datagram of UDP over IPv4.
const DATAGRAM_MAX: usize = 65_507;

/// Both ends of a connection within this machine.
pub(super) fn unix_pair(kind: SocketType, terms: Terms) -> Result<[OwnedFd; 2], SysError> {
    let pair = rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    let sockets: [OwnedFd; 2] = pair.map_err(SysError::of("socketpair"))?.into();
    if kind != SocketType::STREAM {
        for socket in &sockets {
            // The kernel takes what it permits; sending a longer packet fails.
            let _ = set_socket_send_buffer_size(socket, 2 * terms.size);
        }
    }
    Ok(sockets)
}

fn opened(terms: Terms, sockets: [OwnedFd; 2], has_packets: bool) -> Ends<Copying<Socket>> {
    let wait = terms.wait;
    Copying::ends(terms, sockets.map(|socket| Socket { socket, has_packets, wait }))
}

impl Channel for Socket {
    const CALLS: [&'static str; 2] = ["sendto", "recvfrom"];

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        let flags = match self.wait {
            Wait::Block => SendFlags::NOSIGNAL,
            Wait::Spin => SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        };
        rustix::net::send(&self.socket, bytes, flags)
    }

    fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        let flags = match self.wait {
            Wait::Block => RecvFlags::empty(),
            Wait::Spin => RecvFlags::DONTWAIT,
        };
        rustix::net::recv(&self.socket, bytes, flags).map(|(count, _)| count)
    }

    /// The receiver of a datagram does not learn that the sender has closed its socket.
    fn hang_up(&mut self) {
        if self.has_packets {
            let _ = rustix::net::send(&self.socket, &[], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }

    fn alarm(&self) -> Option<Alarm> {
        let socket = self.has_packets.then(|| self.socket.try_clone().ok()).flatten()?;
        Some(Box::new(move || {
            let _ = rustix::net::shutdown(&socket, Shutdown::Both);
        }))
    }
}
