//! Art-Net: the layout of its packets of values.
//!
//! Source: *Art-Net 4, Specification for the Art-Net Ethernet Communication Protocol*, Artistic
//! Licence, packet `ArtDmx`.

use tactus_delivery::format::DMX_CHANNELS;

/// The port of receivers.
pub const PORT: u16 = 6454;
/// The port addresses: 7 bits of net, 4 of subnet, 4 of universe. Address 0 is deprecated.
pub const UNIVERSES: std::ops::RangeInclusive<u16> = 1..=0x7FFF;

const HEADER: usize = 18;
/// The longest packet.
pub const PACKET_MAX: usize = HEADER + DMX_CHANNELS;
const OP_DMX: u16 = 0x5000;
const VERSION: u16 = 14;

/// Writes a packet, and returns its length. `values` has 1 to 512 bytes; the sequence number 0
/// would switch off the order.
pub fn packet(packet: &mut [u8; PACKET_MAX], universe: u16, sequence: u8, values: &[u8]) -> usize {
    let values = &values[..values.len().min(DMX_CHANNELS)];
    // The length must be even.
    let slots = values.len().next_multiple_of(2);
    let mut put = |at: usize, bytes: &[u8]| packet[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"Art-Net\0");
    put(8, &OP_DMX.to_le_bytes());
    put(10, &VERSION.to_be_bytes());
    put(12, &[sequence, 0]);
    put(14, &universe.to_le_bytes());
    put(16, &(slots as u16).to_be_bytes());
    packet[HEADER + slots - 1] = 0;
    packet[HEADER..HEADER + values.len()].copy_from_slice(values);
    HEADER + slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_the_layout_of_the_specification() {
        let mut bytes = [0xEE; PACKET_MAX];
        assert_eq!(packet(&mut bytes, 0x0102, 9, &[1, 2, 3]), 22);
        assert_eq!(bytes[..12], *b"Art-Net\0\x00\x50\0\x0E");
        assert_eq!(bytes[12..22], [9, 0, 2, 1, 0, 4, 1, 2, 3, 0]);
        assert_eq!(packet(&mut bytes, 1, 1, &[7; 512]), 530);
        assert_eq!(bytes[16..18], [2, 0]);
    }
}
