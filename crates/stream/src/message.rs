//! What clients and the server say to each other: each request and each reply is a packet of JSON.
//! Memory comes with the [`Welcome`]. A packet of one byte is a notice: there is something in a
//! ring.

use serde::{Deserialize, Serialize};
use tactus_delivery::item::{BranchId, ClientId, Epoch, Moment, StreamId};
use tactus_model::format::printable;
use tactus_model::time::Nanos;

use crate::{Format, Slack};

/// The version of the protocol and of the layout of shared memory.
pub const VERSION: u32 = 2;

/// The most bytes of a request.
pub const REQUEST_BYTES: usize = 4096;

/// The most bytes of a reply: a status of all clients.
pub const REPLY_BYTES: usize = 192 << 10;

/// A notice: the other side looks into its ring.
pub const NOTICE: [u8; 1] = [b'n'];

/// The most bytes of the name of a client or a device.
pub const NAME_BYTES_MOST: usize = 64;

/// The most bytes of a payload.
pub const PAYLOAD_BYTES_MOST: usize = 32 << 10;

/// The most frames of pictures of a client, in all its streams.
pub const FRAMES_MOST: u32 = 128;

/// The most items of a client.
pub const ITEMS_MOST: u32 = 1 << 14;

/// What a client wants. Its memory grows with the product of both numbers; the server limits it
/// to [`RING_BYTES_MOST`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// A name for people: 1 to [`NAME_BYTES_MOST`] bytes.
    pub name: String,
    /// The most bytes of a payload: 1 to [`PAYLOAD_BYTES_MOST`].
    pub payload_bytes: u32,
    /// How many items may be without a receipt that the client has read: 1 to [`ITEMS_MOST`]. The
    /// server rounds it up to a power of two.
    pub items: u32,
}

/// The most bytes of the items of a client, headers included.
pub const RING_BYTES_MOST: usize = 2 << 20;

impl Wanted {
    /// Room for 1024 items of at most 64 bytes.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), payload_bytes: 64, items: 1024 }
    }
}

/// What a client requests. The first request of a connection is [`Request::Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Introduces the client. The reply is [`Reply::Welcome`], with two descriptors: the ring of
    /// items and the ring of receipts.
    Hello {
        /// Its version.
        version: u32,
        /// What it wants.
        wanted: Wanted,
    },
    /// Opens a stream to a device.
    Open {
        /// A number that the client chooses.
        stream: StreamId,
        /// The name of the device.
        device: String,
    },
    /// Closes a stream. Its items that wait are answered by `closed`.
    Close {
        /// The stream.
        stream: StreamId,
    },
    /// Asks for memory for one more frame, of a stream to a device that takes frames. The reply is
    /// [`Reply::Frame`], with a descriptor: a file of as many bytes as a frame has.
    Frame {
        /// The stream.
        stream: StreamId,
    },
    /// Lets items of a stream be delivered again that had stopped for a late item.
    Resume {
        /// The stream.
        stream: StreamId,
    },
    /// Cuts a branch: its items of earlier epochs are not delivered from an instant on.
    Cut {
        /// The branch.
        branch: BranchId,
        /// The epoch that begins: greater than before.
        epoch: Epoch,
        /// From when on.
        at: Moment,
    },
    /// Requests a [`Reply::Status`]; the only request possible before [`Request::Hello`].
    Status,
    /// Listens to an input, instead of [`Request::Hello`]. After [`Reply::Done`], each packet is a
    /// [message](crate::heard) of it, and no other request is possible.
    Listen {
        /// Its version.
        version: u32,
        /// The name of the input.
        input: String,
        /// The [kinds](tactus_midi::Kinds) of messages, a bit each.
        kinds: u8,
    },
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// To [`Request::Hello`].
    Welcome(Welcome),
    /// To [`Request::Frame`].
    Frame {
        /// The number by which items name the frame.
        number: u32,
    },
    /// The request was carried out.
    Done,
    /// To [`Request::Status`].
    Status(Status),
    /// The request was not carried out; the reason.
    Refused(String),
    /// The server ends the connection; the reason.
    Ended(String),
}

/// What a client has to know beside the memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The number of the client.
    pub client: ClientId,
    /// Slots of both rings: a power of two.
    pub items: u32,
    /// The most bytes of a payload.
    pub payload_bytes: u32,
    /// How far ahead of the present an item may be due.
    pub horizon: Nanos,
    /// The devices.
    pub devices: Vec<DeviceInfo>,
}

/// A device of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// What it is, as who started the server wrote it.
    pub spec: String,
    /// What it takes.
    pub format: Format,
    /// How long before its time it must have an item.
    pub lead: Nanos,
}

/// The present state of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// How long the server has been running.
    pub running: Nanos,
    /// The devices.
    pub devices: Vec<DeviceStatus>,
    /// The clients.
    pub clients: Vec<ClientStatus>,
    /// The inputs.
    #[serde(default)]
    pub inputs: Vec<InputStatus>,
    /// Totals of all clients, those that have left included.
    pub total: Counts,
    /// What the machine did not grant: each with its effect and its fix.
    pub shortfalls: Vec<String>,
}

/// The present state of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceStatus {
    /// What it is.
    #[serde(flatten)]
    pub info: DeviceInfo,
    /// Open streams.
    pub streams: usize,
    /// Items that wait.
    pub waiting: usize,
    /// Items delivered since the start.
    pub delivered: u64,
    /// How much later than due less lead deliveries began, since the start; `None` before the first.
    pub error: Option<Errors>,
}

/// The present state of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputStatus {
    /// Its name.
    pub name: String,
    /// What it is, as who started the server wrote it.
    pub spec: String,
    /// Programs that listen to it.
    pub listeners: u64,
    /// Messages that came in.
    pub messages: u64,
    /// Pieces of bytes that are no messages.
    pub problems: u64,
    /// Messages that listeners have lost because they did not read, those that have left included.
    pub lost: u64,
    /// Its device is gone.
    pub is_gone: bool,
}

/// A distribution of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// The median.
    pub p50: Nanos,
    /// 99 % are at most this.
    pub p99: Nanos,
    /// 99.9 % are at most this.
    pub p999: Nanos,
    /// The largest.
    pub max: Nanos,
}

/// The present state of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientStatus {
    /// Its number.
    pub client: ClientId,
    /// Its name.
    pub name: String,
    /// Its process; 0 if it is outside of the server's PID namespace.
    pub process: i32,
    /// Its effective user.
    pub user: u32,
    /// Open streams.
    pub streams: usize,
    /// Items without a receipt.
    pub waiting: u64,
    /// Room for items.
    pub items: u32,
    /// What became of its items.
    pub counts: Counts,
    /// How early its items arrived in the last minute; `None` if none did.
    pub slack: Option<Slack>,
}

/// What became of items. `accepted` is the sum of the others, but for `delivered_late`, and of those
/// that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Items that the server has taken.
    pub accepted: u64,
    /// The device took it.
    pub delivered: u64,
    /// Those of `delivered` that had arrived at the queue of their device too late to be in time.
    #[serde(default)]
    pub delivered_late: u64,
    /// The device refused it.
    pub failed: u64,
    /// Dropped because it was late, or because its stream had stopped for a late item.
    pub late: u64,
    /// Its branch was cut.
    pub cut: u64,
    /// Its stream was closed, its client had gone, or the server ended.
    pub closed: u64,
    /// It broke a rule.
    pub refused: u64,
    /// It may have come out.
    pub unknown: u64,
}

impl Counts {
    /// All receipts.
    pub const fn receipts(&self) -> u64 {
        self.delivered
            + self.failed
            + self.late
            + self.cut
            + self.closed
            + self.refused
            + self.unknown
    }
}

/// Whether a text can be the name of a client or a device: 1 to [`NAME_BYTES_MOST`] bytes without
/// control characters and white space.
pub fn is_name(text: &str) -> bool {
    let is_plain = |character: char| !character.is_control() && !character.is_whitespace();
    (1..=NAME_BYTES_MOST).contains(&text.len()) && text.chars().all(is_plain)
}

/// The text of a refusal, which may come from a hostile server.
pub(crate) fn shown(reason: &str) -> String {
    printable(reason)
}
