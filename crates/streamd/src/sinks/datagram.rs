//! UDP datagrams.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use tactus_delivery::device::Delivery;
use tactus_delivery::item::{Item, Moment};
use tactus_delivery::receipt::Evidence;
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_stream::Format;
use tactus_sys::SysError;
use tactus_sys::clock::ClockPair;
use tactus_sys::network::DepartureSocket;

use super::now;
use crate::sink::{HandedOver, Payload, Sink};

/// The longest datagram: what fits into an Ethernet frame with the headers of IPv6 and UDP.
/// Longer ones would be fragments, which are lost together.
pub const DATAGRAM_MAX: u32 = 1452;

/// Where datagrams go: a host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    host: String,
    port: u16,
}

/// Why a text names no peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not HOST:PORT, e.g. 192.0.2.7:9000 or [2001:db8::7]:9000; ports are 1 to 65535")]
pub struct NotAPeer(String);

/// Why a host has no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot find the address of {host}: {reason}")]
pub struct Unresolved {
    host: String,
    reason: String,
}

impl Peer {
    /// The address, which is looked up once. This may take seconds.
    ///
    /// # Errors
    /// The host is not known.
    pub fn resolve(&self) -> Result<SocketAddr, Unresolved> {
        resolve(&self.host, self.port)
    }
}

/// The first address of a host.
pub(super) fn resolve(host: &str, port: u16) -> Result<SocketAddr, Unresolved> {
    let failed = |reason| Unresolved { host: host.to_owned(), reason };
    let mut found = (host, port).to_socket_addrs().map_err(|error| failed(error.to_string()))?;
    found.next().ok_or_else(|| failed("it has none".to_owned()))
}

impl FromStr for Peer {
    type Err = NotAPeer;

    fn from_str(text: &str) -> Result<Self, NotAPeer> {
        let parsed = text.rsplit_once(':').and_then(|(host, port)| {
            let is_bracketed = host.starts_with('[') && host.ends_with(']');
            let host = if is_bracketed { &host[1..host.len() - 1] } else { host };
            let fits = !host.is_empty() && (is_bracketed || !host.contains(':'));
            let port = port.parse().ok().filter(|port| *port > 0)?;
            fits.then(|| Self { host: host.to_owned(), port })
        });
        parsed.ok_or_else(|| NotAPeer(text.to_owned()))
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// The address of all interfaces, of the same family.
pub(super) fn any_like(to: SocketAddr) -> SocketAddr {
    if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() }
}

/// A socket that says when each datagram left.
pub(super) struct Sender {
    socket: DepartureSocket,
    to: SocketAddr,
}

impl Sender {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Those of [`DepartureSocket::bind`].
    pub(super) fn open(to: SocketAddr) -> Result<Self, SysError> {
        Ok(Self { socket: DepartureSocket::bind(any_like(to))?, to })
    }

    /// Permits addresses of whole networks.
    ///
    /// # Errors
    /// None is known.
    pub(super) fn allow_broadcast(&self) -> Result<(), SysError> {
        self.socket.allow_broadcast()
    }

    /// Sends a datagram now. It ended when it left for the driver, if the kernel reports that at
    /// once: a queue of the interface may hold it longer.
    pub(super) fn send(&mut self, datagram: &[u8]) -> Delivery {
        let began = now();
        let sent = self.socket.send_to(datagram, self.to);
        let clocks = ClockPair::read();
        let by_call = Delivery::by_call(began, clocks.after, sent.is_ok());
        let Ok(Some(number)) = sent else { return by_call };
        // Reports about earlier datagrams came too late for their receipts.
        let reports = std::iter::from_fn(|| self.socket.departure().ok().flatten());
        let report = reports.take(REPORTS_MAX).find(|report| report.number == number);
        match report.and_then(|report| departed(&clocks, report.at, began)) {
            Some(ended) => Delivery { ended, evidence: Evidence::Kernel, ..by_call },
            None => by_call,
        }
    }
}

/// The most reports that are read for a datagram. More do not fit the socket's buffer.
const REPORTS_MAX: usize = 1024;

/// When a datagram left, by a stamp of the kernel that was read before these clocks: no earlier
/// than `began` and no later than the clocks. `None` if it lies elsewhere: the real-time clock was
/// set meanwhile.
pub(super) fn departed(
    clocks: &ClockPair,
    stamp: Instant<Realtime>,
    began: Moment,
) -> Option<Moment> {
    /// How far a stamp may seem to lie outside, as the clocks are read one after the other.
    const SLACK: Nanos = Nanos::from_micros(10);
    let at = clocks.monotonic(stamp);
    let is_between = at + SLACK >= began && at <= clocks.after + SLACK;
    is_between.then(|| at.clamp(began, clocks.after))
}

/// Sends each item as a datagram.
pub struct Datagrams(Sender);

impl Datagrams {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Those of [`DepartureSocket::bind`].
    pub fn open(to: SocketAddr) -> Result<Self, SysError> {
        Sender::open(to).map(Self)
    }
}

impl Sink for Datagrams {
    fn format(&self) -> Format {
        Format::Bytes { most: DATAGRAM_MAX }
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        HandedOver::Done(self.0.send(&item.payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_parsed() {
        for text in ["localhost:9000", "192.0.2.7:1", "[2001:db8::7]:65535"] {
            assert_eq!(text.parse::<Peer>().unwrap().to_string(), text);
        }
        for text in ["", "localhost", "localhost:0", "localhost:65536", ":9", "::1:9", "[]:9"] {
            assert_eq!(text.parse::<Peer>(), Err(NotAPeer(text.to_owned())));
        }
        let peer: Peer = "127.0.0.1:9".parse().unwrap();
        assert_eq!(peer.resolve().unwrap(), "127.0.0.1:9".parse().unwrap());
        let unknown: Peer = "nobody.invalid:9".parse().unwrap();
        assert!(unknown.resolve().unwrap_err().to_string().starts_with("cannot find the address"));
    }

    #[test]
    fn a_stamp_is_converted_unless_the_clock_was_set() {
        let at = Moment::from_nanos;
        let clocks = ClockPair {
            before: at(1_000_000),
            real: Instant::from_nanos(9_000_000_050),
            after: at(1_000_100),
        };
        let converted = |stamp| departed(&clocks, Instant::from_nanos(stamp), at(900_000));
        assert_eq!(converted(9_000_000_000), Some(at(1_000_000)));
        assert_eq!(converted(9_000_000_500), Some(at(1_000_100)), "read one after the other");
        assert_eq!(converted(8_999_895_000), Some(at(900_000)), "within the slack");
        assert_eq!(converted(8_999_000_000), None);
        assert_eq!(converted(9_001_000_000), None);
    }

    #[test]
    fn datagrams_on_the_loopback_interface_carry_the_kernels_time() {
        let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut sender = Sender::open(receiver.local_addr().unwrap()).unwrap();
        for count in 0..20_u8 {
            let delivery = sender.send(&[count; 7]);
            assert!(delivery.taken && delivery.began <= delivery.ended, "{delivery:?}");
            assert_eq!(delivery.evidence, Evidence::Kernel);
            let mut buffer = [0; 9];
            assert_eq!(receiver.recv(&mut buffer).unwrap(), 7);
            assert_eq!(buffer[0], count);
        }
        let refused = sender.send(&[0; 70_000]);
        assert!(!refused.taken && refused.evidence == Evidence::Call);
        assert_eq!(sender.send(&[1]).evidence, Evidence::Kernel, "numbers begin again");
    }
}
