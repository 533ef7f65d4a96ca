//! MIDI 1.0 as it is on a wire: bytes.
//!
//! | module | content |
//! |---|---|
//! | [`message`] | messages |
//! | [`parser`] | bytes to messages, with the arrival of each byte |
//! | [`sounding`] | which notes sound, and how to silence them |
//! | [`text`] | the text of messages |
//! | [`kind`] | kinds of messages |
//! | [`filter`] | what passes between an input and an output, and how it is changed |
//! | [`hub`] | an input with many listeners |
//! | [`running_status`] | fewer bytes on a wire |
//! | [`mod@file`] | files of timed messages |
//!
//! Source: *MIDI 1.0 Detailed Specification*, document version 4.2, MIDI Manufacturers Association,
//! February 1996: the data format, running status, and appendix A-5 (a receiver's state).
#![forbid(unsafe_code)]

pub mod file;
pub mod filter;
pub mod hub;
pub mod kind;
pub mod message;
pub mod parser;
pub mod running_status;
pub mod sounding;
#[cfg(test)]
mod testing;
pub mod text;

pub use filter::Filter;
pub use hub::{Heard, Hub};
pub use kind::{Kind, Kinds};
pub use message::Message;
pub use parser::{Parsed, Parser, Problem};
pub use running_status::RunningStatus;
pub use sounding::{Sounding, silence_everything};
