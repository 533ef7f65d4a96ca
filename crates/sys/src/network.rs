//! Network namespaces, virtual links between them, and sockets below and beside the kernel's
//! protocols.

mod drops;
mod namespace;
mod napi;
mod packet;
mod route;
mod stamp;
mod xdp;

pub use drops::{dropped_datagrams, enlarge_receive_buffer};
pub use namespace::NetworkNamespace;
pub use napi::receive_in_threads;
pub use packet::{PacketSocket, Protocol};
pub use route::{LinkEnd, RouteSocket};
pub use stamp::{Departure, DepartureSocket, StampedSocket};
pub use xdp::XdpTransmitter;

use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::error::SysError;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// The index of the interface `name` in the calling thread's namespace:
/// [if_nametoindex(3)](https://man7.org/linux/man-pages/man3/if_nametoindex.3.html).
///
/// # Errors
/// `ENODEV`: there is no such interface.
#[doc(alias = "SIOCGIFINDEX")]
pub fn interface_index(name: &str) -> Result<u32, SysError> {
    rustix::net::netdevice::name_to_index(name_socket()?, name)
        .map_err(SysError::of("if_nametoindex"))
}

/// The name of an interface of the calling thread's namespace:
/// [if_indextoname(3)](https://man7.org/linux/man-pages/man3/if_indextoname.3.html).
///
/// # Errors
/// `ENXIO`: there is no such interface.
#[doc(alias = "SIOCGIFNAME")]
pub fn interface_name(index: u32) -> Result<String, SysError> {
    rustix::net::netdevice::index_to_name(name_socket()?, index)
        .map_err(SysError::of("if_indextoname"))
}

/// A socket for requests about interfaces of the calling thread's namespace.
fn name_socket() -> Result<OwnedFd, SysError> {
    rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .map_err(SysError::of("socket"))
}
