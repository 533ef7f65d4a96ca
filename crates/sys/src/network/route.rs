//! The little of [rtnetlink(7)](https://man7.org/linux/man-pages/man7/rtnetlink.7.html) that
//! joins two namespaces, and that says where datagrams wait.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::Mac;
use crate::error::{Errno, SysError};

/// One end of a virtual link.
#[derive(Clone, Copy, Debug)]
pub struct LinkEnd<'a> {
    /// The name of the interface, at most 15 bytes.
    pub name: &'a str,
    /// Its address.
    pub mac: Mac,
}

/// A connection to the network configuration of the namespace in which it was opened.
#[doc(alias = "NETLINK_ROUTE")]
#[derive(Debug)]
pub struct RouteSocket {
    socket: OwnedFd,
    sequence: u32,
}

/// `VETH_INFO_PEER` of `linux/veth.h`.
const VETH_INFO_PEER: u16 = 1;
/// The largest reply: an acknowledgement with the request if it failed, or a part of a list.
const REPLY_MAX: usize = 32 << 10;
/// `TCA_KIND` of `linux/rtnetlink.h`.
const TCA_KIND: u16 = 1;
/// The replies that are read for a list.
const REPLIES_MAX: usize = 64;

impl RouteSocket {
    /// Opens a connection for the calling thread's namespace.
    ///
    /// # Errors
    /// Those of [socket(2)](https://man7.org/linux/man-pages/man2/socket.2.html).
    pub fn open() -> Result<Self, SysError> {
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(SysError::of("netlink"))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Makes a virtual link with `queues` queues in each direction: `near` in this namespace,
    /// `far` in the namespace `other`. Both are down.
    ///
    /// # Errors
    /// `EPERM`: the process does not have `CAP_NET_ADMIN`. `EOPNOTSUPP`: the kernel has no
    /// [veth(4)](https://man7.org/linux/man-pages/man4/veth.4.html).
    #[doc(alias = "veth")]
    pub fn add_link(
        &mut self,
        near: LinkEnd<'_>,
        far: LinkEnd<'_>,
        other: BorrowedFd<'_>,
        queues: u32,
    ) -> Result<(), SysError> {
        let mut request = Request::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        request.put(&[0; size_of::<libc::ifinfomsg>()]);
        request.end(near, queues);
        request.nested(libc::IFLA_LINKINFO, |request| {
            request.attribute(libc::IFLA_INFO_KIND, b"veth");
            request.nested(libc::IFLA_INFO_DATA, |request| {
                request.nested(VETH_INFO_PEER, |request| {
                    request.put(&[0; size_of::<libc::ifinfomsg>()]);
                    request.end(far, queues);
                    let other = other.as_raw_fd().cast_unsigned();
                    request.attribute(libc::IFLA_NET_NS_FD, &other.to_ne_bytes());
                });
            });
        });
        self.carry_out(request)
    }

    /// Gives an interface an address in a network with this prefix, and takes it up.
    ///
    /// # Errors
    /// `EPERM`, as above; `ENODEV`: there is no such interface.
    pub fn take_up(
        &mut self,
        interface: u32,
        address: Ipv4Addr,
        prefix: u8,
    ) -> Result<(), SysError> {
        let mut request = Request::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        // struct ifaddrmsg: family, prefix, flags, scope, interface.
        request.put(&[libc::AF_INET as u8, prefix, 0, libc::RT_SCOPE_UNIVERSE]);
        request.put(&interface.to_ne_bytes());
        request.attribute(libc::IFA_LOCAL, &address.octets());
        request.attribute(libc::IFA_ADDRESS, &address.octets());
        self.carry_out(request)?;
        let mut request = Request::new(libc::RTM_NEWLINK, 0);
        // struct ifinfomsg: family and padding, type, interface, flags, which flags change.
        request.put(&[0; 4]);
        request.put(&interface.to_ne_bytes());
        let up = (libc::IFF_UP as u32).to_ne_bytes();
        request.put(&up);
        request.put(&up);
        self.carry_out(request)
    }

    /// The interface by which packets to an address leave.
    ///
    /// # Errors
    /// `ENETUNREACH`: there is no route.
    #[doc(alias = "RTM_GETROUTE")]
    pub fn interface_to(&mut self, address: IpAddr) -> Result<u32, SysError> {
        let octets = |bytes: &[u8]| bytes.to_vec();
        let (family, bytes) = match address {
            IpAddr::V4(address) => (libc::AF_INET, octets(&address.octets())),
            IpAddr::V6(address) => (libc::AF_INET6, octets(&address.octets())),
        };
        let mut request = Request::new(libc::RTM_GETROUTE, 0);
        // struct rtmsg: family, length of the destination in bits, and what may be zero.
        let mut route = [0; size_of::<Route>()];
        route[..2].copy_from_slice(&[family as u8, (bytes.len() * 8) as u8]);
        request.put(&route);
        request.attribute(libc::RTA_DST, &bytes);
        let mut interface = None;
        self.ask(request, |kind, body| {
            let found = attribute(body, size_of::<Route>(), libc::RTA_OIF);
            if kind == libc::RTM_NEWROUTE {
                interface = found.and_then(|found| found.try_into().ok()).map(u32::from_ne_bytes);
            }
        })?;
        interface.ok_or(SysError::new(CALL, Errno::PROTO))
    }

    /// The names of the queueing disciplines of an interface: where packets wait before they leave
    /// ([tc(8)](https://man7.org/linux/man-pages/man8/tc.8.html)).
    ///
    /// # Errors
    /// Those of [netlink(7)](https://man7.org/linux/man-pages/man7/netlink.7.html).
    #[doc(alias = "RTM_GETQDISC")]
    pub fn queueing_disciplines(&mut self, interface: u32) -> Result<Vec<String>, SysError> {
        let mut request = Request::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP);
        let number = interface.to_ne_bytes();
        // struct tcmsg: family and padding, interface, and what may be zero.
        let mut discipline = [0; size_of::<Discipline>()];
        discipline[4..8].copy_from_slice(&number);
        request.put(&discipline);
        let mut names = Vec::new();
        self.ask(request, |kind, body| {
            let is_of_interface = body.get(4..8) == Some(&number[..]);
            let name = attribute(body, size_of::<Discipline>(), TCA_KIND);
            if let (libc::RTM_NEWQDISC, true, Some(name)) = (kind, is_of_interface, name) {
                let name = name.strip_suffix(&[0]).unwrap_or(name);
                names.push(String::from_utf8_lossy(name).into_owned());
            }
        })?;
        Ok(names)
    }

    /// Sends a request and waits for its acknowledgement.
    fn carry_out(&mut self, request: Request) -> Result<(), SysError> {
        self.ask(request, |_, _| {})
    }

    /// Sends a request, and passes on the type and the content of each reply until it is
    /// acknowledged.
    fn ask(&mut self, request: Request, mut found: impl FnMut(u16, &[u8])) -> Result<(), SysError> {
        self.sequence += 1;
        let bytes = request.finish(self.sequence);
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.socket, &bytes, SendFlags::empty(), &kernel)
            .map_err(SysError::of(CALL))?;
        let mut reply = vec![0; REPLY_MAX];
        for _ in 0..REPLIES_MAX {
            let (length, _) = rustix::net::recv(&self.socket, &mut reply[..], RecvFlags::empty())
                .map_err(SysError::of(CALL))?;
            if let Some(acknowledged) = messages(&reply[..length], &mut found) {
                return match acknowledged {
                    0 => Ok(()),
                    error => Err(SysError::new(CALL, Errno::from_raw_os_error(-error))),
                };
            }
        }
        Err(SysError::new(CALL, Errno::PROTO))
    }
}

const CALL: &str = "netlink";

/// `struct rtmsg`.
type Route = [u8; 12];
/// `struct tcmsg`.
type Discipline = [u8; 20];

/// Passes on the type and the content of each message. Returns the number with which the last one
/// ends the replies: 0, or a negative error.
fn messages(mut bytes: &[u8], found: &mut impl FnMut(u16, &[u8])) -> Option<i32> {
    // struct nlmsghdr: length, type, flags, sequence, port.
    const HEADER: usize = size_of::<libc::nlmsghdr>();
    while let Some((length, kind)) = bytes.first_chunk::<4>().zip(bytes.get(4..6)) {
        let length = u32::from_ne_bytes(*length) as usize;
        let message = bytes.get(HEADER..length)?;
        let kind = u16::from_ne_bytes([kind[0], kind[1]]);
        // struct nlmsgerr begins with a negative error number, the end of a list too.
        if [libc::NLMSG_ERROR, libc::NLMSG_DONE].contains(&kind.into()) {
            return message.first_chunk().map(|number| i32::from_ne_bytes(*number));
        }
        found(kind, message);
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// The value of an attribute after a structure of `structure` bytes.
fn attribute(body: &[u8], structure: usize, wanted: u16) -> Option<&[u8]> {
    // struct rtattr: length with itself, and type.
    let mut rest = body.get(structure..)?;
    while let Some(&[low, high, kind_low, kind_high]) = rest.first_chunk() {
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let value = rest.get(4..length)?;
        if u16::from_ne_bytes([kind_low, kind_high]) == wanted {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// A request: a header, a structure, and attributes, all aligned to four bytes
/// ([netlink(7)](https://man7.org/linux/man-pages/man7/netlink.7.html)).
struct Request {
    bytes: Vec<u8>,
}

impl Request {
    fn new(kind: u16, flags: libc::c_int) -> Self {
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
        // struct nlmsghdr: length, type, flags, sequence, port.
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        Self { bytes }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nested(kind, |request| request.put(value));
    }

    /// An attribute whose value `content` writes.
    fn nested(&mut self, kind: u16, content: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        content(self);
        // Attributes of ours are a few hundred bytes.
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(&mut self, end: LinkEnd<'_>, queues: u32) {
        self.attribute(libc::IFLA_IFNAME, end.name.as_bytes());
        self.attribute(libc::IFLA_ADDRESS, &end.mac);
        self.attribute(libc::IFLA_NUM_TX_QUEUES, &queues.to_ne_bytes());
        self.attribute(libc::IFLA_NUM_RX_QUEUES, &queues.to_ne_bytes());
    }

    fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_nested_and_aligned() {
        let mut request = Request::new(16, 0);
        request.nested(1, |request| request.attribute(2, b"abc"));
        request.attribute(3, &7_u32.to_ne_bytes());
        let bytes = request.finish(9);
        assert_eq!(bytes.len(), 16 + (4 + 8) + 8);
        assert_eq!(bytes[..4], 36_u32.to_ne_bytes());
        assert_eq!(bytes[8..12], 9_u32.to_ne_bytes());
        // The outer attribute contains the padding of the inner one, whose length does not.
        assert_eq!(bytes[16..18], 12_u16.to_ne_bytes());
        assert_eq!(bytes[20..22], 7_u16.to_ne_bytes());
        assert_eq!(&bytes[24..28], b"abc\0");
        assert_eq!(attribute(&bytes, 16, 3), Some(&7_u32.to_ne_bytes()[..]));
        assert_eq!(attribute(&bytes, 16, 9), None);
        assert_eq!(attribute(&bytes[..27], 16, 3), None, "it is cut off");
    }

    #[test]
    fn the_loopback_interface_has_no_queue() {
        let mut routes = RouteSocket::open().unwrap();
        let interface = routes.interface_to(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert_eq!(interface, super::super::interface_index("lo").unwrap());
        assert_eq!(routes.queueing_disciplines(interface).unwrap(), ["noqueue"]);
        assert_eq!(routes.queueing_disciplines(u32::MAX).unwrap_or_default(), [""; 0]);
    }
}
