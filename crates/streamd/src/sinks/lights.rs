//! DMX512 universes over a network.

use std::fmt;
use std::net::SocketAddr;

use tactus_delivery::device::Delivery;
use tactus_delivery::format::DMX_CHANNELS;
use tactus_delivery::item::{Item, Moment, Place};
use tactus_model::time::Nanos;
use tactus_stream::Format;
use tactus_sys::SysError;

use super::datagram::{Sender, Unresolved, resolve};
use super::{artnet, now, sacn};
use crate::sink::{HandedOver, Payload, Sink};

/// After how long the values are sent again: receivers take a source that is silent for 2.5 s for
/// lost (E1.31, sections 6.6.2 and 6.7.1; Art-Net recommends the same).
const KEEP_ALIVE: Nanos = Nanos::from_millis(900);

/// A protocol of lights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Streaming ACN.
    Sacn,
    /// Art-Net.
    ArtNet,
}

/// A universe of lights, and where its receivers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Universe {
    protocol: Protocol,
    number: u16,
    /// `None` for the group of the universe, which only sACN has.
    host: Option<String>,
}

/// Why a text names no universe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAUniverse {
    /// The number is wrong.
    #[error("`{text}` is not a universe: write a number from {least} to {most}")]
    Number {
        /// The number.
        text: String,
        /// The first universe.
        least: u16,
        /// The last universe.
        most: u16,
    },
    /// The host is missing.
    #[error("`{0}` has no host: write UNIVERSE@HOST, e.g. 1@192.0.2.7")]
    NoHost(String),
}

impl Universe {
    /// Parses `UNIVERSE` or `UNIVERSE@HOST`.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn parse(protocol: Protocol, text: &str) -> Result<Self, NotAUniverse> {
        let (number, host) = match text.split_once('@') {
            Some((number, host)) => (number, Some(host)),
            None => (text, None),
        };
        let universes = protocol.universes();
        let parsed = number.parse().ok().filter(|number| universes.contains(number));
        let number = parsed.ok_or_else(|| NotAUniverse::Number {
            text: number.to_owned(),
            least: *universes.start(),
            most: *universes.end(),
        })?;
        let needs_host = protocol == Protocol::ArtNet || host.is_some();
        if needs_host && host.is_none_or(str::is_empty) {
            return Err(NotAUniverse::NoHost(text.to_owned()));
        }
        Ok(Self { protocol, number, host: host.map(str::to_owned) })
    }

    /// The address of the receivers; a host is looked up once. This may take seconds.
    ///
    /// # Errors
    /// The host is not known.
    pub fn resolve(&self) -> Result<SocketAddr, Unresolved> {
        let port = self.protocol.port();
        match &self.host {
            Some(host) => resolve(host, port),
            None => Ok(sacn::group(self.number)),
        }
    }
}

impl fmt::Display for Universe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)?;
        self.host.as_ref().map_or(Ok(()), |host| write!(f, "@{host}"))
    }
}

impl Protocol {
    fn universes(self) -> std::ops::RangeInclusive<u16> {
        match self {
            Self::Sacn => sacn::UNIVERSES,
            Self::ArtNet => artnet::UNIVERSES,
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Sacn => sacn::PORT,
            Self::ArtNet => artnet::PORT,
        }
    }
}

/// Sends the values of a universe whenever an item changes them, and now and then so that
/// receivers know that the source is there.
///
/// An item sets the first channels; the others keep their values. Lights stay as they are when a
/// client leaves. When the sink ends, sACN says so; receivers of Art-Net notice after some time.
pub struct Lights {
    sender: Sender,
    packets: Packets,
    values: [u8; DMX_CHANNELS],
    /// The number of channels that have been set.
    used: usize,
    /// When the values must be sent again.
    again: Option<Moment>,
}

enum Packets {
    Sacn { source: sacn::Source, sequence: u8, packet: Box<[u8; sacn::PACKET_MAX]> },
    ArtNet { universe: u16, sequence: u8, packet: Box<[u8; artnet::PACKET_MAX]> },
}

impl Lights {
    /// Opens a socket in the network namespace of the calling thread. `name` is what receivers
    /// show, and `identifier` a random number.
    ///
    /// # Errors
    /// Those of [socket(2)](https://man7.org/linux/man-pages/man2/socket.2.html).
    pub fn open(
        universe: &Universe,
        to: SocketAddr,
        name: &str,
        identifier: [u8; 16],
    ) -> Result<Self, SysError> {
        let sender = Sender::open(to)?;
        let packets = match universe.protocol {
            Protocol::Sacn => Packets::Sacn {
                source: sacn::Source {
                    identifier,
                    name: name.to_owned(),
                    universe: universe.number,
                },
                sequence: 0,
                packet: Box::new([0; sacn::PACKET_MAX]),
            },
            Protocol::ArtNet => {
                sender.allow_broadcast()?;
                let packet = Box::new([0; artnet::PACKET_MAX]);
                Packets::ArtNet { universe: universe.number, sequence: 0, packet }
            }
        };
        Ok(Self { sender, packets, values: [0; DMX_CHANNELS], used: 0, again: None })
    }

    fn send(&mut self, is_last: bool) -> Delivery {
        let values = &self.values[..self.used];
        let delivery = self.sender.send(self.packets.next(values, is_last));
        self.again = Some(delivery.began + KEEP_ALIVE);
        delivery
    }
}

impl Packets {
    /// The next packet.
    fn next(&mut self, values: &[u8], is_last: bool) -> &[u8] {
        match self {
            Self::Sacn { source, sequence, packet } => {
                let length = source.packet(packet, *sequence, is_last, values);
                *sequence = sequence.wrapping_add(1);
                &packet[..length]
            }
            Self::ArtNet { universe, sequence, packet } => {
                *sequence = sequence.checked_add(1).unwrap_or(1);
                let length = artnet::packet(packet, *universe, *sequence, values);
                &packet[..length]
            }
        }
    }
}

impl Sink for Lights {
    fn format(&self) -> Format {
        Format::Dmx
    }

    fn next_turn(&self) -> Option<Moment> {
        self.again
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        let set = item.payload.len();
        if !(1..=DMX_CHANNELS).contains(&set) {
            let at = now();
            return HandedOver::Done(Delivery::by_call(at, at, false));
        }
        self.values[..set].copy_from_slice(&item.payload);
        self.used = self.used.max(set);
        HandedOver::Done(self.send(false))
    }

    fn settled(&mut self, _: &mut dyn FnMut(Place, Delivery)) {
        if self.again.is_some_and(|again| now() >= again) {
            self.send(false);
        }
    }
}

impl Drop for Lights {
    fn drop(&mut self) {
        if self.again.is_some() && matches!(self.packets, Packets::Sacn { .. }) {
            for _ in 0..sacn::LAST_PACKETS {
                self.send(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn universes_are_parsed() {
        for (protocol, text) in [
            (Protocol::Sacn, "1"),
            (Protocol::Sacn, "63999@192.0.2.7"),
            (Protocol::ArtNet, "17@2001:db8::7"),
        ] {
            assert_eq!(Universe::parse(protocol, text).unwrap().to_string(), text);
        }
        let said = |protocol, text| Universe::parse(protocol, text).unwrap_err().to_string();
        assert_eq!(
            said(Protocol::Sacn, "0"),
            "`0` is not a universe: write a number from 1 to 63999"
        );
        assert!(said(Protocol::ArtNet, "32768@h").ends_with("from 1 to 32767"));
        assert!(said(Protocol::ArtNet, "3").starts_with("`3` has no host"));
        assert!(said(Protocol::Sacn, "3@").starts_with("`3@` has no host"));
        let group = Universe::parse(Protocol::Sacn, "258").unwrap().resolve().unwrap();
        assert_eq!(group, sacn::group(258));
    }
}
