//! MIDI 1.0 as it is on a wire: bytes.
//!
//! | module | content |
//! |---|---|
//! | [`message`] | messages |
//! | [`parser`] | bytes to messages, with the arrival of each byte |
//! | [`sounding`] | which notes sound, and how to silence them |
//!
//! Source: *MIDI 1.0 Detailed Specification*, document version 4.2, MIDI Manufacturers Association,
//! February 1996: the data format, running status, and appendix A-5 (a receiver's state).
#![forbid(unsafe_code)]

pub mod message;
pub mod parser;
pub mod sounding;

pub use message::Message;
pub use parser::{Parsed, Parser, Problem};
pub use sounding::{Sounding, silence_everything};
