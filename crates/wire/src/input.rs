//! What a process receives from a peer.

use crate::WireError;

/// What a peer's output contains: messages, then its end or the first line that is not a message.
///
/// Nothing follows [`Garbled`](Self::Garbled) or [`Closed`](Self::Closed): after the first
/// garbled line the reader closes the input and reads no further line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<M> {
    /// A message.
    Message(M),
    /// The beginning of a line that is not a message, or why the line was refused: nothing more
    /// follows.
    Garbled(String),
    /// The peer closed its output: nothing more follows.
    Closed,
}

impl<M> From<Result<M, WireError>> for Input<M> {
    fn from(read: Result<M, WireError>) -> Self {
        match read {
            Ok(message) => Self::Message(message),
            Err(WireError::Garbled { beginning, .. }) => Self::Garbled(beginning),
            // A killed process may leave half a message behind.
            Err(error) if error.is_end() => Self::Closed,
            Err(error) => Self::Garbled(error.to_string()),
        }
    }
}
