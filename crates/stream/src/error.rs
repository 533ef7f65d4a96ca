//! What can go wrong.

use std::io;
use std::path::PathBuf;

use tactus_delivery::item::{Moment, StreamId};
use tactus_model::time::Nanos;
use tactus_sys::SysError;

use crate::Unfit;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody listens at the socket, or the server is stuck.
    #[error("cannot connect to `{}`: {error}; `tactus streamd` listens there when it runs", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The rings cannot be mapped.
    #[error(
        "cannot map the memory of the connection: {0}; fix: request fewer items, or raise RLIMIT_MEMLOCK"
    )]
    Memory(SysError),
    /// The server refuses the client.
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The server refused it; the reason.
    #[error("{0}")]
    Refused(String),
    /// The connection has ended.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// There is no such device.
    #[error("there is no device `{name}`{}", crate::error::nearest(nearest.as_deref()))]
    NoDevice {
        /// The name.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// The server breaks the protocol.
    #[error("the server breaks the protocol: {0}")]
    Protocol(String),
}

fn nearest(name: Option<&str>) -> String {
    name.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// The connection has ended. Items without a receipt may have come out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server has ended the connection{}", reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
pub struct Ended {
    /// Why, if the server gave a reason.
    pub reason: Option<String>,
}

/// Why an item was not submitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// Transient: the client must read receipts first.
    #[error("{items} items have no receipt yet, the most that this client may have")]
    Full {
        /// The limit.
        items: u32,
    },
    /// Transient: it is too early for the item.
    #[error("the item is due further ahead than {horizon}")]
    TooFarAhead {
        /// The limit.
        horizon: Nanos,
        /// From when on it is accepted.
        from: Moment,
    },
    /// The client has no such stream.
    #[error("there is no stream {}", .0.0)]
    NoStream(StreamId),
    /// The device of the stream does not take such a payload.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The payload is longer than the client has [wanted](crate::message::Wanted::payload_bytes).
    #[error("the payload has {bytes} bytes; this client requested room for {most}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        most: u32,
    },
    /// The connection has ended.
    #[error(transparent)]
    Ended(#[from] Ended),
}

impl SubmitError {
    /// Whether the same item can be submitted later.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::TooFarAhead { .. })
    }
}
