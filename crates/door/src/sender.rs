//! What a door has of the server: a client, and its streams by the names of their devices.

use std::collections::BTreeMap;
use std::path::Path;

use tactus_stream::{Client, ConnectError, Format, RequestError, StreamId, Wanted};

use crate::values::PAYLOAD_BYTES;

/// How many items of a sender may be without a receipt.
pub const ITEMS: u32 = 1024;

/// A client that opens the stream to a device when the first item needs it.
#[derive(Debug)]
pub struct Sender {
    /// The client.
    pub client: Client,
    /// What is open: at most as many as the server has devices.
    streams: BTreeMap<String, (StreamId, Format)>,
}

impl Sender {
    /// Connects to the server on a socket, by a name for people.
    ///
    /// # Errors
    /// Those of [`Client::connect`].
    pub fn connect(server: &Path, name: String) -> Result<Self, ConnectError> {
        let wanted = Wanted { name, payload_bytes: PAYLOAD_BYTES, items: ITEMS };
        Ok(Self { client: Client::connect(server, &wanted)?, streams: BTreeMap::new() })
    }

    /// The stream to a device, and what the device takes.
    ///
    /// # Errors
    /// Those of [`Client::open`].
    pub fn stream(&mut self, device: &str) -> Result<(StreamId, Format), RequestError> {
        if let Some(open) = self.streams.get(device) {
            return Ok(*open);
        }
        let stream = self.client.open(device)?;
        let format = self.client.device(stream).map(|device| device.format);
        let unknown = || RequestError::Protocol(format!("the stream to `{device}` has no device"));
        let open = (stream, format.ok_or_else(unknown)?);
        self.streams.insert(device.to_owned(), open);
        Ok(open)
    }
}
