//! What the broker and its peers say to each other: one request and one reply, each a line of
//! JSON. Memory comes with the reply; afterwards, the connection carries notices of one byte.

use serde::{Deserialize, Serialize};
use tactus_model::format::printable;

use crate::Separation;

/// The version of the protocol and of the layout of shared memory.
pub const VERSION: u32 = 1;

/// The most bytes of a message.
pub const MESSAGE_BYTES: usize = 4096;

/// What a peer does with a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It reads items.
    ReadFifo,
    /// It writes items.
    WriteFifo,
    /// It reads the latest value.
    ReadBlock,
    /// It writes the latest value.
    WriteBlock,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ReadFifo => "a FIFO to read",
            Self::WriteFifo => "a FIFO to write",
            Self::ReadBlock => "a block to read",
            Self::WriteBlock => "a block to write",
        })
    }
}

/// A peer wants a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its version.
    pub version: u32,
    /// The name of the channel.
    pub name: String,
    /// What it does with it.
    pub role: Role,
    /// The layout of its items.
    pub element: String,
    /// The size of an item, in bytes.
    pub bytes: usize,
}

/// A request of any version.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Request {
    /// Reads a request. The version counts first: that of another version may have other fields.
    ///
    /// # Errors
    /// Another version, or bytes that are no request.
    pub fn read(line: &[u8]) -> Result<Self, Refusal> {
        match tactus_wire::parse(line) {
            Ok(Versioned { version }) if version != VERSION => {
                Err(Refusal::Version { broker: VERSION, peer: version })
            }
            _ => tactus_wire::parse(line)
                .map_err(|error| Refusal::Invalid { reason: error.to_string() }),
        }
    }
}

/// The answer of the broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The peer is introduced; the memory comes with the message.
    Introduced(Introduction),
    /// It is not.
    Refused(Refusal),
}

/// What a peer has to know beside the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Introduction {
    /// The number of slots.
    pub capacity: usize,
    /// The index of the first item to read.
    pub start: u64,
    /// The number of the introduction.
    pub session: u64,
    /// How far the sides are separated.
    pub separation: Separation,
}

/// Why a peer is not introduced.
///
/// It may come from a hostile broker, so its text shows control characters by their codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The user may not.
    #[error("user {user} is not permitted here; the real-time program must allow the user")]
    NotPermitted {
        /// The peer's effective user.
        user: u32,
    },
    /// The program requires that peers have another user.
    #[error("user {user} is not separated from the real-time program, which requires another user")]
    Nominal {
        /// The peer's effective user.
        user: u32,
    },
    /// The versions differ.
    #[error("the broker has version {broker} of the protocol, this program has version {peer}")]
    Version {
        /// Of the broker.
        broker: u32,
        /// Of the peer.
        peer: u32,
    },
    /// There is no such channel.
    #[error("no channel is called `{}`{}", printable(name), hint(nearest.as_deref()))]
    UnknownName {
        /// The name.
        name: String,
        /// A channel with a similar name.
        nearest: Option<String>,
    },
    /// The channel has another direction or kind.
    #[error("`{}` is {offered}, not {requested}", printable(name))]
    Role {
        /// The channel.
        name: String,
        /// What it is.
        offered: Role,
        /// What the peer wants.
        requested: Role,
    },
    /// The items differ.
    #[error(
        "the items of `{}` are `{}` ({offered_bytes} bytes), not `{}` ({requested_bytes} bytes)",
        printable(name),
        printable(offered),
        printable(requested)
    )]
    Element {
        /// The channel.
        name: String,
        /// Its items.
        offered: String,
        /// Their size.
        offered_bytes: usize,
        /// The peer's items.
        requested: String,
        /// Their size.
        requested_bytes: usize,
    },
    /// Another peer has the channel.
    #[error("process {process} of user {user} uses `{}`", printable(name))]
    InUse {
        /// The channel.
        name: String,
        /// The other peer's process.
        process: i32,
        /// Its user.
        user: u32,
    },
    /// Too many connections, or no memory.
    #[error("the broker has no room: {}", printable(reason))]
    Busy {
        /// What is missing.
        reason: String,
    },
    /// The request cannot be read.
    #[error("the broker cannot read the request: {}", printable(reason))]
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{}`?", printable(name))).unwrap_or_default()
}
