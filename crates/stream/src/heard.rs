//! Messages of inputs as packets.
//!
//! | bytes | content |
//! |---|---|
//! | 0 | `m`, unlike the first byte of a reply or a notice |
//! | 1 to 8 | when the first byte arrived, in nanoseconds of the monotonic clock, little-endian |
//! | 9 to 16 | when the last byte arrived |
//! | 17 to 24 | messages that were lost since the one before |
//! | from 25 | the message |

use tactus_delivery::item::Moment;
use tactus_midi::{Heard, Message};

const TAG: u8 = b'm';
const HEADER_BYTES: usize = 25;

/// The most bytes of a packet.
pub const PACKET_BYTES: usize = HEADER_BYTES + tactus_midi::Parser::LIMIT;

/// Writes a message as a packet.
pub fn write(heard: &Heard, packet: &mut Vec<u8>) {
    packet.clear();
    packet.push(TAG);
    for number in [heard.began.as_nanos(), heard.ended.as_nanos(), heard.lost] {
        packet.extend(number.to_le_bytes());
    }
    packet.extend(heard.message.bytes());
}

/// Reads a packet; `None` if it is something else.
pub fn read(packet: &[u8]) -> Option<Heard> {
    let (header, bytes) = packet.split_at_checked(HEADER_BYTES)?;
    let (tag, numbers) = header.split_first()?;
    let mut numbers = numbers.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let (began, ended, lost) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let message = Message::new(bytes).filter(|_| *tag == TAG)?;
    let (began, ended) = (Moment::from_nanos(began), Moment::from_nanos(ended));
    Some(Heard { message, began, ended, lost })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_and_nothing_else_is_one() {
        let heard = Heard {
            message: Message::new(&[0xF0, 1, 0xF7]).unwrap(),
            began: Moment::from_nanos(1),
            ended: Moment::from_nanos(2 << 40),
            lost: 3,
        };
        let mut packet = Vec::new();
        write(&heard, &mut packet);
        assert_eq!(read(&packet), Some(heard));
        for length in 0..packet.len() {
            assert_eq!(read(&packet[..length]), None);
        }
        packet[0] = b'{';
        assert_eq!(read(&packet), None);
    }
}
