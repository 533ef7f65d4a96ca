//! Bounded messages between our processes, and starting them.
//!
//! A message is one JSON value on one line. [`MessageWriter`] writes messages, [`MessageReader`]
//! reads them; both refuse a message of more than a limit. A reader that refuses a message
//! closes its input: it never searches for the next line in a stream that it cannot parse.
//!
//! A process of ours reads its [`requests`] and writes its [`responses`]. The process that
//! starts it uses [`Start`], and holds it as a [`Peer`].
//!
//! ```
//! use tactus_wire::{MESSAGE_LIMIT, MessageReader, MessageWriter, WireError};
//!
//! let mut stream = Vec::new();
//! MessageWriter::new(&mut stream, MESSAGE_LIMIT).write(&("ready", 3)).unwrap();
//! assert_eq!(stream, b"[\"ready\",3]\n");
//!
//! let mut reader = MessageReader::new(stream.as_slice(), MESSAGE_LIMIT);
//! assert_eq!(reader.read::<(String, u32)>().unwrap(), ("ready".to_owned(), 3));
//! assert!(matches!(reader.read::<(String, u32)>(), Err(WireError::Closed)));
//!
//! let mut reader = MessageReader::new(stream.as_slice(), 10);
//! let refused = reader.read::<(String, u32)>().unwrap_err();
//! assert_eq!(refused.to_string(), "message of more than 10 bytes: [\"ready\",3]");
//! ```
#![forbid(unsafe_code)]

mod error;
mod input;
mod last_words;
mod message;
mod output;
mod patient_input;
mod peer;

pub use error::WireError;
pub use input::Input;
pub use last_words::{LAST_WORDS_LIMIT, LastWords};
pub use message::{MessageReader, MessageWriter, encode, parse, requests, responses};
pub use output::Output;
pub use patient_input::PatientInput;
pub use peer::{Peer, Start, this_binary};

/// The maximum size of a message between our processes, without the end of its line: 64 MiB.
///
/// The largest message is a block of a million samples. A sample is two integers of at most
/// ten bytes, so a block has at most 27 MB in base64; samples at a fixed interval took 4
/// bytes each, which makes 4 MB. The result of a task is next: 0.2 MB, and 80 bytes for each
/// second of its window, so 7 MB for a day. A piece of a recording has 0.35 MB, a request less
/// than 1 kB.
pub const MESSAGE_LIMIT: usize = 64 << 20;
