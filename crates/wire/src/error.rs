//! Why a message could not be exchanged.

use std::fmt::Display;
use std::io;
use std::time::Duration;

/// The bytes of a refused message that an error shows.
const BEGINNING: usize = 200;

/// Why a message could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// It exceeds the limit.
    #[error("message of more than {limit} bytes: {beginning}")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
        /// Its first bytes, cut and escaped.
        beginning: String,
    },
    /// It is not JSON, or not a message of the expected type.
    #[error("invalid message ({reason}): {beginning}")]
    Garbled {
        /// Its first bytes, cut and escaped.
        beginning: String,
        /// What is wrong with it, cut and escaped.
        reason: String,
    },
    /// The input ended before the message did.
    #[error("end of input within a message: {beginning}")]
    Truncated {
        /// Its first bytes, cut and escaped.
        beginning: String,
    },
    /// The input ended after a whole message, or was closed after an error.
    #[error("end of input")]
    Closed,
    /// No whole message came in time.
    #[error("no message within {} s", .waited.as_secs_f64())]
    Silent {
        /// How long the reader waited.
        waited: Duration,
    },
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl WireError {
    /// Whether the stream ended, rather than carried a line that is refused.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Closed | Self::Truncated { .. } | Self::Io(_))
    }

    pub(crate) fn too_large(line: &[u8], limit: usize) -> Self {
        Self::TooLarge { limit, beginning: beginning(line) }
    }

    pub(crate) fn garbled(line: &[u8], reason: &impl Display) -> Self {
        // The reason may quote the whole line.
        let reason = beginning(reason.to_string().as_bytes());
        Self::Garbled { beginning: beginning(line), reason }
    }

    pub(crate) fn truncated(line: &[u8]) -> Self {
        Self::Truncated { beginning: beginning(line) }
    }
}

impl From<WireError> for io::Error {
    fn from(error: WireError) -> Self {
        let kind = match error {
            WireError::Io(error) => return error,
            WireError::Closed | WireError::Truncated { .. } => io::ErrorKind::UnexpectedEof,
            WireError::Silent { .. } => io::ErrorKind::TimedOut,
            WireError::TooLarge { .. } | WireError::Garbled { .. } => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// The first bytes of a line, with every control character of terminals escaped. Quotes and
/// backslashes, frequent in JSON, stay as they are.
fn beginning(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(BEGINNING)]);
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => escaped.push(character),
            _ => escaped.extend(character.escape_debug()),
        }
    }
    if line.len() > BEGINNING {
        escaped.push('…');
    }
    escaped
}
