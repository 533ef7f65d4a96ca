//! The measured loop of the MIDI probe: messages that are handed over ahead of their time.
//!
//! ```text
//! client ──items──► output thread ──bytes──► pseudo-terminal ──► receiver
//!   ▲                     │                                        │
//!   └──────receipts───────┘                                 stamps, samples
//! ```
//!
//! As in the experiment of 1993, an ordinary thread hands over messages at a rate, some time ahead.
//! The output thread, which has the cell's policy, sleeps until the head of its queue is due and
//! writes it to a serial line, here a pseudo-terminal. The receiver, a thread of a higher priority,
//! stamps what arrives. The way through the delivery server puts that process in the place of the
//! output thread, with the same policy; its client is the measured task, which has the policy too.
//!
//! A sample is from the due time to that stamp. So the kernel's work on the way
//! is part of the samples; how much the receiver adds at most is measured with each message.

mod client;
mod judge;
mod library;
mod port;
mod receiver;
mod server;

use tactus_delivery::item::Moment;
use tactus_midi::message::Short;
use tactus_model::time::Nanos;
use tactus_sys::SysError;

pub(crate) use port::Port;

use crate::schedule::Schedule;

/// How long after its window a late side may still work off messages that were due in it.
const OVERTIME: Nanos = Nanos::from_secs(10);

/// A byte that the receiver counts and that is no sample: active sensing.
const REHEARSAL: u8 = 0xFE;
/// The byte after which nothing comes: system reset.
const END: u8 = 0xFF;

/// Messages have the numbers 0 to 16383, over and over.
const NUMBERS: u64 = 1 << 14;

/// The messages of a window.
#[derive(Clone, Debug)]
struct Messages {
    /// When the window opens.
    start: Moment,
    /// When the messages are due, since then.
    schedule: Schedule,
    /// When both sides give up.
    until: Moment,
}

/// A pitch bend, which has 14 bits for its number and leaves no note behind.
fn message(number: u64) -> Short {
    let [low, high] = [number & 0x7F, number >> 7 & 0x7F];
    Short::new(&[0xE0, low as u8, high as u8]).expect("its data bytes are below 128")
}

/// The number of a message, if it is one of ours.
fn number_of(bytes: &[u8]) -> Option<u64> {
    match *bytes {
        [0xE0, low, high] => Some(u64::from(high) << 7 | u64::from(low)),
        _ => None,
    }
}

/// Why messages cannot be delivered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MidiError {
    /// A call failed.
    #[error(transparent)]
    System(#[from] SysError),
    /// There is no server, or none any more.
    #[error("the delivery server (tactus streamd) does not serve: {0}")]
    Server(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_carry_their_numbers() {
        for number in [0, 1, 127, 128, 16_383, 16_384, 99_999] {
            assert_eq!(number_of(message(number).bytes()), Some(number % NUMBERS));
        }
        assert_eq!(number_of(&[0x90, 60, 100]), None);
    }
}
