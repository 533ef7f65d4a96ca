//! The bytes of a MIDI cable.

use tactus_midi::{Message, Parsed, Parser, Sounding};
use tactus_model::time::Instant;

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    vec![
        vec![0x90, 60, 100, 0xF8, 62, 100, 0xB0, 64, 127, 0xC1, 5],
        vec![0xF0, 0x7E, 0x7F, 6, 1, 0xFE, 0xF7, 0xF2, 0, 127, 0xF6, 1, 2, 0xF4],
    ]
}

/// Every message is whole, and what it makes sound can be silenced.
pub(crate) fn run(bytes: &[u8]) {
    let mut parser = Parser::new(64);
    let mut sounding = Sounding::default();
    let mut check = |parsed| {
        if let Parsed::Message { message, began, ended } = parsed {
            assert!(began <= ended && message.bytes().len() <= 64);
            assert_eq!(Message::new(message.bytes()).as_ref(), Some(&message));
            sounding.follow(&message);
        }
    };
    for (at, byte) in (0..).zip(bytes) {
        parser.push(*byte, Instant::from_nanos(at), &mut check);
    }
    parser.finish(&mut check);
    let ends = sounding.silence();
    assert!(sounding.is_silent() && ends.len() <= 16 * 129);
}
