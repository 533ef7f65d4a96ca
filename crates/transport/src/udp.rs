//! A network stack that works only when its thread calls it.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::udp::{PacketBuffer, PacketMetadata, SendError, Socket};
use smoltcp::time::Instant as StackInstant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};
use tactus_sys::SysError;
use tactus_sys::network::Mac;

use crate::Link;

/// The longest frame: 1500 bytes and an Ethernet header.
const FRAME_MAX: usize = 1514;
/// Datagrams, and their bytes, that can wait in each direction.
const QUEUE_DATAGRAMS: usize = 32;
const QUEUE_BYTES: usize = 64 << 10;
/// How long a flush waits for the address of a peer.
const RESOLUTION_MAX: Duration = Duration::from_millis(500);

/// The addresses of a [`Udp`] on its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// The Ethernet address; no other station may have it.
    pub mac: Mac,
    /// The IPv4 address; no other station may have it, the kernel of this machine included.
    pub address: Ipv4Addr,
    /// The length of the network's prefix.
    pub prefix: u8,
    /// The UDP port.
    pub port: u16,
}

/// Why a datagram was not sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The interface refuses frames.
    #[error(transparent)]
    System(#[from] SysError),
    /// More datagrams wait than the queue holds.
    #[error("the queue of {QUEUE_DATAGRAMS} datagrams is full; flush it, or send more slowly")]
    Full,
    /// A peer's Ethernet address was not found.
    #[error("no station of the network has the peer's address")]
    Unresolved,
    /// The address or the port of the peer is zero.
    #[error("a datagram needs an address and a port other than zero")]
    Unaddressable,
}

/// A UDP socket whose protocol work is done by the thread that calls it, over a [`Link`].
///
/// It sends and receives datagrams of up to 1472 bytes, without fragments.
pub struct Udp<L: Link> {
    device: Frames<L>,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    opened: Instant,
}

impl<L: Link> Udp<L> {
    /// A socket with these addresses.
    pub fn open(link: L, local: Local) -> Self {
        let mut device =
            Frames { link, received: [0; FRAME_MAX], sent: [0; FRAME_MAX], error: None };
        let mac = HardwareAddress::Ethernet(EthernetAddress(local.mac));
        let mut interface = Interface::new(Config::new(mac), &mut device, StackInstant::ZERO);
        interface.update_ip_addrs(|addresses| {
            // The list has room for one.
            let _ = addresses.push(IpCidr::new(local.address.into(), local.prefix));
        });
        let queue = || {
            PacketBuffer::new(vec![PacketMetadata::EMPTY; QUEUE_DATAGRAMS], vec![0; QUEUE_BYTES])
        };
        let mut socket = Socket::new(queue(), queue());
        // Fails only for port 0, with which nothing is received.
        let _ = socket.bind(local.port);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Self { device, interface, sockets, socket, opened: Instant::now() }
    }

    /// Sends a datagram in this call, unless the peer's Ethernet address is unknown: then
    /// [`Self::flush`] sends it.
    ///
    /// # Errors
    /// See [`TransportError`].
    pub fn send_to(&mut self, datagram: &[u8], peer: SocketAddrV4) -> Result<(), TransportError> {
        let sent = self.socket().send_slice(datagram, peer);
        sent.map_err(|error| match error {
            SendError::BufferFull => TransportError::Full,
            SendError::Unaddressable => TransportError::Unaddressable,
        })?;
        let now = self.now();
        self.interface.poll_egress(now, &mut self.device, &mut self.sockets);
        self.device.take_error()
    }

    /// Sends all that waits; makes no system call if nothing does. It waits up to half a second
    /// for a peer's Ethernet address, which is asked for once a minute.
    ///
    /// # Errors
    /// See [`TransportError`].
    pub fn flush(&mut self) -> Result<(), TransportError> {
        let begun = Instant::now();
        while self.socket().send_queue() > 0 {
            if begun.elapsed() > RESOLUTION_MAX {
                return Err(TransportError::Unresolved);
            }
            self.poll()?;
            if self.socket().send_queue() > 0 {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        Ok(())
    }

    /// Takes the next datagram that waits, with its length and sender; `None` if none waits. Bytes
    /// beyond `buffer` are lost.
    ///
    /// # Errors
    /// See [`TransportError`].
    pub fn receive(
        &mut self,
        buffer: &mut [u8],
    ) -> Result<Option<(usize, SocketAddrV4)>, TransportError> {
        self.poll()?;
        let Ok((datagram, from)) = self.socket().recv() else { return Ok(None) };
        let length = datagram.len().min(buffer.len());
        buffer[..length].copy_from_slice(&datagram[..length]);
        let IpAddress::Ipv4(address) = from.endpoint.addr;
        Ok(Some((length, SocketAddrV4::new(address, from.endpoint.port))))
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut::<Socket<'static>>(self.socket)
    }

    /// Handles frames of both directions.
    fn poll(&mut self) -> Result<(), TransportError> {
        let now = self.now();
        self.interface.poll(now, &mut self.device, &mut self.sockets);
        self.device.take_error()
    }

    fn now(&self) -> StackInstant {
        let micros = i64::try_from(self.opened.elapsed().as_micros());
        StackInstant::from_micros(micros.unwrap_or(i64::MAX))
    }
}

/// A link as the stack uses it.
struct Frames<L> {
    link: L,
    received: [u8; FRAME_MAX],
    sent: [u8; FRAME_MAX],
    /// The first error since the last call, which the stack has no way to return.
    error: Option<SysError>,
}

impl<L> Frames<L> {
    fn take_error(&mut self) -> Result<(), TransportError> {
        self.error.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

impl<L: Link> Device for Frames<L> {
    type RxToken<'a>
        = Received<'a>
    where
        L: 'a;
    type TxToken<'a>
        = Sending<'a, L>
    where
        L: 'a;

    fn receive(&mut self, _: StackInstant) -> Option<(Received<'_>, Sending<'_, L>)> {
        let length = match self.link.receive(&mut self.received) {
            Ok(length) => length?,
            Err(error) => {
                self.error.get_or_insert(error);
                return None;
            }
        };
        let received = Received(self.received.get(..length)?);
        Some((
            received,
            Sending { link: &mut self.link, frame: &mut self.sent, error: &mut self.error },
        ))
    }

    fn transmit(&mut self, _: StackInstant) -> Option<Sending<'_, L>> {
        Some(Sending { link: &mut self.link, frame: &mut self.sent, error: &mut self.error })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME_MAX;
        capabilities
    }
}

struct Received<'a>(&'a [u8]);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

struct Sending<'a, L> {
    link: &'a mut L,
    frame: &'a mut [u8; FRAME_MAX],
    error: &'a mut Option<SysError>,
}

impl<L: Link> TxToken for Sending<'_, L> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        // The stack keeps to the maximum that the device states.
        let frame = &mut self.frame[..length];
        let written = write(frame);
        // A frame without room is lost, as on a network.
        if let Err(error) = self.link.send(frame) {
            self.error.get_or_insert(error);
        }
        written
    }
}
