//! Raw paths to an interface.

use tactus_sys::SysError;
use tactus_sys::network::{PacketSocket, Protocol, XdpTransmitter};

/// A path by which the calling thread gives Ethernet frames to a driver and takes them from it.
pub trait Link {
    /// Sends a frame; `false` if there is no room for it now.
    ///
    /// # Errors
    /// The interface has gone or is down.
    fn send(&mut self, frame: &[u8]) -> Result<bool, SysError>;

    /// Takes the next frame that waits, and returns its length; `None` if none waits.
    ///
    /// # Errors
    /// As above.
    fn receive(&mut self, frame: &mut [u8]) -> Result<Option<usize>, SysError>;
}

/// A link over a packet socket, past the traffic control of the interface. It needs `CAP_NET_RAW`.
#[doc(alias = "AF_PACKET")]
#[derive(Debug)]
pub struct PacketLink(PacketSocket);

impl PacketLink {
    /// Opens a link to an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// `EPERM`: the process does not have `CAP_NET_RAW`. `ENXIO`: there is no such interface.
    pub fn open(interface: u32) -> Result<Self, SysError> {
        PacketSocket::open(interface, Protocol::All).map(Self)
    }
}

impl Link for PacketLink {
    fn send(&mut self, frame: &[u8]) -> Result<bool, SysError> {
        self.0.send(frame)
    }

    fn receive(&mut self, frame: &mut [u8]) -> Result<Option<usize>, SysError> {
        self.0.receive(frame)
    }
}

/// A link that sends through rings in shared memory, and receives only address resolution:
/// receiving through such rings needs a program in the kernel. It suits a program that sends.
#[doc(alias = "AF_XDP")]
#[derive(Debug)]
pub struct XdpLink {
    transmitter: XdpTransmitter,
    resolution: PacketSocket,
}

impl XdpLink {
    /// Opens a link to a queue of an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// Those of [`XdpTransmitter::open`] and [`PacketSocket::open`].
    pub fn open(interface: u32, queue: u32) -> Result<Self, SysError> {
        Ok(Self {
            transmitter: XdpTransmitter::open(interface, queue)?,
            resolution: PacketSocket::open(interface, Protocol::Arp)?,
        })
    }
}

impl Link for XdpLink {
    fn send(&mut self, frame: &[u8]) -> Result<bool, SysError> {
        self.transmitter.send(frame)
    }

    fn receive(&mut self, frame: &mut [u8]) -> Result<Option<usize>, SysError> {
        self.resolution.receive(frame)
    }
}
