//! The paths by which packets leave a sender.

use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;

use tactus_sys::SysError;
use tactus_transport::{Link, Pair, TransportError, Udp};

/// The bytes of a packet.
pub(super) const PACKET_BYTES: usize = 1024;

/// Why a sender cannot continue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NetError {
    /// A system call failed.
    #[error(transparent)]
    System(#[from] SysError),
    /// The library did not send.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The relay could not be started.
    #[error("the relay cannot be started: {0}")]
    Relay(std::io::Error),
    /// The relay has ended.
    #[error("the relay takes no packets: {0}")]
    Queue(std::io::Error),
    /// No packet arrived.
    #[error("no packet came through the link")]
    NothingArrived,
}

/// A path of packets to one port of the far end.
pub(crate) trait Outgoing: Send {
    /// Sends a packet of a burst.
    fn send(&mut self, burst: u64) -> Result<(), NetError>;

    /// Sends what could not be sent at once.
    fn flush(&mut self) -> Result<(), NetError> {
        Ok(())
    }
}

/// The error of a call of the standard library.
fn failed(call: &'static str) -> impl Fn(std::io::Error) -> NetError {
    move |error| SysError::from_io(call, &error).into()
}

/// A socket of the kernel.
pub(super) struct BySocket {
    socket: UdpSocket,
    port: u16,
    packet: [u8; PACKET_BYTES],
}

impl BySocket {
    pub(super) const fn new(socket: UdpSocket, port: u16) -> Self {
        Self { socket, port, packet: [0; PACKET_BYTES] }
    }
}

impl Outgoing for BySocket {
    fn send(&mut self, burst: u64) -> Result<(), NetError> {
        number(&mut self.packet, burst);
        let sent = self.socket.send_to(&self.packet, Pair::peer(self.port));
        sent.map(drop).map_err(failed("sendto"))
    }
}

/// The queue of the relay.
pub(super) struct ByRelay {
    queue: UnixDatagram,
    /// The port, then the packet.
    message: [u8; PORT_BYTES + PACKET_BYTES],
}

/// The bytes of the port in a message to the relay.
pub(super) const PORT_BYTES: usize = 2;

impl ByRelay {
    pub(super) fn new(queue: UnixDatagram, port: u16) -> Self {
        let mut message = [0; PORT_BYTES + PACKET_BYTES];
        message[..PORT_BYTES].copy_from_slice(&port.to_be_bytes());
        Self { queue, message }
    }
}

impl Outgoing for ByRelay {
    fn send(&mut self, burst: u64) -> Result<(), NetError> {
        number(&mut self.message[PORT_BYTES..], burst);
        self.queue.send(&self.message).map(drop).map_err(NetError::Queue)
    }
}

/// A library in the sender's thread.
pub(super) struct ByLibrary<L: Link> {
    udp: Udp<L>,
    port: u16,
    packet: [u8; PACKET_BYTES],
}

impl<L: Link> ByLibrary<L> {
    pub(super) const fn new(udp: Udp<L>, port: u16) -> Self {
        Self { udp, port, packet: [0; PACKET_BYTES] }
    }
}

impl<L: Link + Send> Outgoing for ByLibrary<L> {
    fn send(&mut self, burst: u64) -> Result<(), NetError> {
        number(&mut self.packet, burst);
        Ok(self.udp.send_to(&self.packet, Pair::peer(self.port))?)
    }

    fn flush(&mut self) -> Result<(), NetError> {
        Ok(self.udp.flush()?)
    }
}

/// Writes the number of a burst into its packet.
fn number(packet: &mut [u8], burst: u64) {
    packet[..8].copy_from_slice(&burst.to_le_bytes());
}
