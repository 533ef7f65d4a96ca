//! Streaming ACN: the layout of its packets.
//!
//! Source: ANSI E1.31-2018, *Lightweight streaming protocol for transport of DMX512 using ACN*.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};

use tactus_delivery::format::DMX_CHANNELS;

/// The port of receivers (section 9.3).
pub const PORT: u16 = 5568;
/// The universes for lights (section 6.2.7).
pub const UNIVERSES: std::ops::RangeInclusive<u16> = 1..=63_999;
/// The usual priority among sources (section 6.2.3).
const PRIORITY: u8 = 100;
/// How many packets say that a source has ended (section 6.2.6).
pub const LAST_PACKETS: usize = 3;

const HEADER: usize = 126;
/// The longest packet.
pub const PACKET_MAX: usize = HEADER + DMX_CHANNELS;
const STREAM_TERMINATED: u8 = 1 << 6;

/// The group that receivers of a universe join (section 9.3.1).
pub fn group(universe: u16) -> SocketAddr {
    let [high, low] = universe.to_be_bytes();
    (Ipv4Addr::new(239, 255, high, low), PORT).into()
}

/// What stays the same in all packets of a source.
#[derive(Clone, Debug)]
pub struct Source {
    /// A number that no other source has.
    pub identifier: [u8; 16],
    /// A name for people; bytes after the 63rd are left out.
    pub name: String,
    /// The universe.
    pub universe: u16,
}

/// A random identifier: a UUID of version 4 (section 5.6).
///
/// # Errors
/// `/dev/urandom` cannot be read.
pub fn random_identifier() -> io::Result<[u8; 16]> {
    let mut identifier = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut identifier)?;
    identifier[6] = identifier[6] & 0x0F | 0x40;
    identifier[8] = identifier[8] & 0x3F | 0x80;
    Ok(identifier)
}

impl Source {
    /// Writes a packet, and returns its length. `values` has 1 to 512 bytes.
    pub fn packet(
        &self,
        packet: &mut [u8; PACKET_MAX],
        sequence: u8,
        is_last: bool,
        values: &[u8],
    ) -> usize {
        let values = &values[..values.len().min(DMX_CHANNELS)];
        let length = HEADER + values.len();
        packet[..HEADER].fill(0);
        let mut put = |at: usize, bytes: &[u8]| packet[at..at + bytes.len()].copy_from_slice(bytes);
        // The root layer (section 5).
        put(0, &0x0010_u16.to_be_bytes());
        put(4, b"ASC-E1.17\0\0\0");
        put(16, &flags_and_length(length - 16));
        put(18, &4_u32.to_be_bytes());
        put(22, &self.identifier);
        // The framing layer (section 6).
        put(38, &flags_and_length(length - 38));
        put(40, &2_u32.to_be_bytes());
        put(44, name(&self.name).as_bytes());
        put(108, &[PRIORITY, 0, 0, sequence, if is_last { STREAM_TERMINATED } else { 0 }]);
        put(113, &self.universe.to_be_bytes());
        // The layer of the values (section 7): a property for the start code, which is 0.
        put(115, &flags_and_length(length - 115));
        put(117, &[2, 0xA1, 0, 0, 0, 1]);
        put(123, &(values.len() as u16 + 1).to_be_bytes());
        packet[HEADER..length].copy_from_slice(values);
        length
    }
}

/// A length of at most 4095 bytes, with the flags of all layers.
fn flags_and_length(length: usize) -> [u8; 2] {
    (0x7000 | length as u16).to_be_bytes()
}

/// As much of a name as fits with a zero byte after it.
fn name(name: &str) -> &str {
    const NAME_MAX: usize = 63;
    let end = (0..=NAME_MAX.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_the_layout_of_the_standard() {
        let source = Source {
            identifier: *b"0123456789abcdef",
            name: "tactus".to_owned(),
            universe: 0x0102,
        };
        let mut packet = [0xEE; PACKET_MAX];
        let length = source.packet(&mut packet, 9, false, &[7; 512]);
        assert_eq!(length, 638, "table B-13");
        assert_eq!(packet[..16], *b"\0\x10\0\0ASC-E1.17\0\0\0");
        assert_eq!(packet[16..22], [0x72, 0x6E, 0, 0, 0, 4]);
        assert_eq!(packet[22..38], *b"0123456789abcdef");
        assert_eq!(packet[38..44], [0x72, 0x58, 0, 0, 0, 2]);
        assert_eq!(packet[44..52], *b"tactus\0\0");
        assert_eq!(packet[107..115], [0, 100, 0, 0, 9, 0, 1, 2]);
        assert_eq!(packet[115..126], [0x72, 0x0B, 2, 0xA1, 0, 0, 0, 1, 2, 1, 0]);
        assert_eq!(packet[126..], [7; 512]);
        assert_eq!(source.packet(&mut packet, 10, true, &[1, 2]), 128);
        assert_eq!((packet[111], packet[112]), (10, 0x40));
        assert_eq!(packet[123..128], [0, 3, 0, 1, 2]);
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(name(&"ä".repeat(40)), "ä".repeat(31));
        assert_eq!(name("x"), "x");
    }

    #[test]
    fn each_universe_has_a_group() {
        assert_eq!(group(1), "239.255.0.1:5568".parse().unwrap());
        assert_eq!(group(63_999), "239.255.249.255:5568".parse().unwrap());
    }
}
