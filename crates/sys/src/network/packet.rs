//! Ethernet frames of an interface: [packet(7)](https://man7.org/linux/man-pages/man7/packet.7.html).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{Errno, SysError};

/// A socket that sends and receives whole Ethernet frames.
///
/// Frames go from the calling thread to the driver, past the traffic control of the interface
/// (`PACKET_QDISC_BYPASS`), so nothing but this thread handles them. A frame that the driver
/// cannot take is lost, as on a network.
#[doc(alias = "AF_PACKET")]
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

/// The frames of which a socket gets a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// All.
    #[doc(alias = "ETH_P_ALL")]
    All,
    /// Address resolution.
    #[doc(alias = "ETH_P_ARP")]
    Arp,
}

impl PacketSocket {
    /// Opens a socket for an interface of the calling thread's namespace, which receives frames
    /// of `protocol`.
    ///
    /// # Errors
    /// `EPERM`: the process does not have `CAP_NET_RAW`. `ENXIO`: there is no such interface.
    #[doc(alias = "PACKET_QDISC_BYPASS")]
    pub fn open(interface: u32, protocol: Protocol) -> Result<Self, SysError> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call takes numbers only. Protocol 0 receives nothing until bind.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        let socket = SysError::check("socket", socket)?;
        // SAFETY: the descriptor is new and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let one: libc::c_int = 1;
        // SAFETY: the option's value is a live int of the given size.
        let returned = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                (&raw const one).cast(),
                size_of_val(&one) as libc::socklen_t,
            )
        };
        SysError::check("setsockopt", returned)?;
        let protocol = match protocol {
            Protocol::All => libc::ETH_P_ALL,
            Protocol::Arp => libc::ETH_P_ARP,
        };
        // SAFETY: `sockaddr_ll` consists of integers, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (protocol as u16).to_be();
        address.sll_ifindex = interface.cast_signed();
        // SAFETY: the address is a live `sockaddr_ll` of the given size.
        let returned = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        };
        SysError::check("bind", returned)?;
        Ok(Self(socket))
    }

    /// Sends a frame; `false` if the driver has no room for it now.
    ///
    /// # Errors
    /// Those of [send(2)](https://man7.org/linux/man-pages/man2/send.2.html).
    pub fn send(&self, frame: &[u8]) -> Result<bool, SysError> {
        match rustix::net::send(&self.0, frame, rustix::net::SendFlags::empty()) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::NOBUFS) => Ok(false),
            Err(errno) => Err(SysError::new("send", errno)),
        }
    }

    /// Takes the next frame that waits, and returns its length; `None` if none waits.
    ///
    /// # Errors
    /// Those of [recv(2)](https://man7.org/linux/man-pages/man2/recv.2.html).
    pub fn receive(&self, frame: &mut [u8]) -> Result<Option<usize>, SysError> {
        match rustix::net::recv(&self.0, frame, rustix::net::RecvFlags::empty()) {
            Ok((length, _)) => Ok(Some(length)),
            Err(Errno::AGAIN) => Ok(None),
            Err(errno) => Err(SysError::new("recv", errno)),
        }
    }
}
