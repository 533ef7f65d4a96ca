//! A connection: what a client has of the server.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use tactus_delivery::item::{ClientId, Item, Moment};
use tactus_delivery::receipt::{Outcome, Receipt};
use tactus_fifo::shared_ring::{self, ReadEnd, Shape, WriteEnd};
use tactus_model::time::Nanos;
use tactus_stream::message::{
    Counts, ITEMS_MOST, NOTICE, PAYLOAD_BYTES_MOST, REPLY_BYTES, REQUEST_BYTES, RING_BYTES_MOST,
    Reply, Request, Wanted, is_name,
};
use tactus_stream::slack::SlackMeter;
use tactus_stream::slot::{
    Answered, Arrival, HEADER_BYTES, Malformed, RECEIPT_BYTES, ReceiptSlot, Submitted,
};
use tactus_sys::local_socket::PeerCredentials;
use tactus_sys::{Errno, SysError, local_socket};

/// The connection is to be closed; with a reason for the client, if it has one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed(pub Option<String>);

impl From<Malformed> for Closed {
    fn from(malformed: Malformed) -> Self {
        Self(Some(malformed.to_string()))
    }
}

/// A packet of a client.
#[derive(Debug, PartialEq)]
pub(crate) enum Packet {
    Notice,
    Request(Request),
}

/// The socket of a connection, and who is at its other end.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: UnixStream,
    pub peer: PeerCredentials,
    /// When it was made.
    pub since: Moment,
    /// Until when nothing that the peer sends is awaited.
    pub muted: Option<Moment>,
    /// It gets messages of an input.
    pub listens: bool,
    /// Of a client that has introduced itself.
    pub session: Option<Session>,
}

impl Connection {
    /// A connection; the socket must not wait.
    pub const fn new(socket: UnixStream, peer: PeerCredentials, since: Moment) -> Self {
        Self { socket, peer, since, muted: None, listens: false, session: None }
    }

    /// Another descriptor of the socket.
    pub fn socket(&self) -> std::io::Result<UnixStream> {
        self.socket.try_clone()
    }

    /// Receives a packet, if one is there. The kernel closes descriptors that come with it.
    pub fn receive(&self) -> Result<Option<Packet>, Closed> {
        // One byte more than allowed: the rest of a packet is lost.
        let mut buffer = [0; REQUEST_BYTES + 1];
        let count = match local_socket::receive(&self.socket, &mut buffer, false) {
            Ok(received) => received.count,
            Err(error) if matches!(error.errno, Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(_) => return Err(Closed(None)),
        };
        match &buffer[..count] {
            [] => Err(Closed(None)),
            packet if packet == NOTICE => Ok(Some(Packet::Notice)),
            packet if packet.len() > REQUEST_BYTES => {
                Err(Closed(Some(format!("a request has more than {REQUEST_BYTES} bytes"))))
            }
            packet => match serde_json::from_slice(packet) {
                Ok(request) => Ok(Some(Packet::Request(request))),
                Err(error) => Err(Closed(Some(format!("this is not a request: {error}")))),
            },
        }
    }

    /// Sends a reply. A client that does not read its replies is closed.
    pub fn reply(&self, reply: &Reply, files: &[BorrowedFd<'_>]) -> Result<(), Closed> {
        let packet = serde_json::to_vec(reply).map_err(|error| Closed(Some(error.to_string())))?;
        if packet.len() > REPLY_BYTES {
            return Err(Closed(Some(format!("a reply has more than {REPLY_BYTES} bytes"))));
        }
        local_socket::send(&self.socket, &packet, files).map(drop).map_err(|_| Closed(None))
    }

    /// Sends a notice of receipts, if the client waits for one. It fails if earlier ones were not
    /// heard.
    pub fn notify(&mut self) {
        if self.session.as_mut().is_some_and(|session| std::mem::take(&mut session.notifies)) {
            let _ = local_socket::send(&self.socket, &NOTICE, &[]);
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// An item that was taken from the ring and is not accepted yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// When it is tried again.
    pub retry: Moment,
}

/// What a client that has introduced itself has.
#[derive(Debug)]
pub(crate) struct Session {
    pub client: ClientId,
    pub name: String,
    /// Room for items and for receipts.
    pub room: u32,
    pub payload_bytes: u32,
    items: ReadEnd,
    receipts: WriteEnd,
    /// A copy of the slot of the last item, which may be [held](Self::held).
    slot: Vec<u8>,
    pub held: Option<Held>,
    /// Receipts that the client has read.
    read: u64,
    /// Items that wait for a receipt, with their arrivals.
    waiting: BTreeMap<u64, Arrival>,
    pub counts: Counts,
    pub meter: SlackMeter,
    notifies: bool,
    pub ring_bytes: usize,
}

/// The sizes of the rings of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes {
    items: Shape,
    receipts: Shape,
}

impl Shapes {
    /// The sizes that a client wants, or why they are not possible.
    pub fn of(wanted: &Wanted) -> Result<Self, String> {
        check(wanted)?;
        let shape = |bytes: usize| Shape::new(bytes, wanted.items as usize);
        let items = shape(HEADER_BYTES + wanted.payload_bytes as usize);
        let receipts = shape(RECEIPT_BYTES);
        match (items, receipts) {
            (Ok(items), Ok(receipts)) => Ok(Self { items, receipts }),
            (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        }
    }

    /// Room for items.
    pub const fn room(&self) -> usize {
        self.items.capacity()
    }

    /// Bytes of both rings.
    pub const fn bytes(&self) -> usize {
        self.items.ring_bytes() + self.receipts.ring_bytes()
    }
}

impl Session {
    /// Makes the rings of a client. Returns their files too, and why their memory is not secret,
    /// if so.
    pub fn new(
        client: ClientId,
        wanted: Wanted,
        shapes: &Shapes,
    ) -> Result<(Self, [OwnedFd; 2], Option<SysError>), SysError> {
        let (of_items, is_secret) = shared_ring::create(&shapes.items)?;
        let (of_receipts, _) = shared_ring::create(&shapes.receipts)?;
        let session = Self {
            client,
            name: wanted.name,
            room: shapes.room() as u32,
            payload_bytes: wanted.payload_bytes,
            items: ReadEnd::map(&of_items, &shapes.items)?,
            receipts: WriteEnd::map(&of_receipts, &shapes.receipts)?,
            slot: vec![0; shapes.items.bytes()],
            held: None,
            read: 0,
            waiting: BTreeMap::new(),
            counts: Counts::default(),
            meter: SlackMeter::default(),
            notifies: false,
            ring_bytes: shapes.bytes(),
        };
        Ok((session, [of_items, of_receipts], is_secret.err()))
    }

    /// Copies the next item, unless one is held.
    pub fn next(&mut self) -> Result<Option<Submitted<&[u8]>>, Closed> {
        if self.held.is_none() && !self.items.pop(&mut self.slot) {
            return match self.items.is_broken() {
                true => Err(Closed(Some("the indices of its ring are not possible".to_owned()))),
                false => Ok(None),
            };
        }
        self.held = None;
        Ok(Some(Submitted::read(self.client, &self.slot)?))
    }

    /// Whether an item is there; otherwise, the client sends a notice of the next one.
    pub fn request_notice(&mut self) -> bool {
        self.held.is_none() && self.items.request_notice()
    }

    /// How many receipts the client has read since the last call.
    pub fn newly_read(&mut self) -> u32 {
        let read = self.receipts.read();
        let newly = read - self.read;
        self.read = read;
        newly as u32
    }

    /// Notes that an item has arrived at its device, which must have it `lead` before its time.
    pub fn arrived<P>(&mut self, submitted: &Submitted<P>, at: Moment, lead: Nanos) {
        let Submitted { item, at: since } = submitted;
        let arrival = Arrival { at, needed: (at - *since) + lead };
        self.meter.arrived(arrival, item.due, lead);
        self.waiting.insert(item.sequence, arrival);
    }

    /// Items that wait for a receipt.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Passes on a receipt.
    pub fn answer(&mut self, receipt: Receipt) -> Result<(), Closed> {
        count(&mut self.counts, receipt.outcome);
        let arrival = self.waiting.remove(&receipt.sequence);
        let slot = ReceiptSlot::from(&Answered { receipt, arrival });
        // An honest client has room, because it has as many items at most.
        match self.receipts.push(slot.bytes()) {
            Ok(waits) => {
                self.notifies |= waits;
                Ok(())
            }
            Err(_) => Err(Closed(Some("it has no room for receipts".to_owned()))),
        }
    }

    /// Answers an item that is never delivered.
    pub fn refuse<P>(&mut self, item: &Item<P>, outcome: Outcome) -> Result<(), Closed> {
        self.counts.accepted += 1;
        self.answer(Receipt::undelivered(item, outcome))
    }
}

/// Counts a receipt.
pub(crate) fn count(counts: &mut Counts, outcome: Outcome) {
    let counted = match outcome {
        Outcome::Delivered => &mut counts.delivered,
        Outcome::Failed => &mut counts.failed,
        Outcome::Late | Outcome::Stopped => &mut counts.late,
        Outcome::Cut => &mut counts.cut,
        Outcome::Closed | Outcome::Ended => &mut counts.closed,
        Outcome::Refused => &mut counts.refused,
        Outcome::Unknown => &mut counts.unknown,
    };
    *counted += 1;
}

/// Checks what a client wants.
fn check(wanted: &Wanted) -> Result<(), String> {
    let Wanted { name, payload_bytes, items } = wanted;
    if !is_name(name) {
        return Err("the name of a client has 1 to 64 bytes without white space".to_owned());
    }
    if !(1..=PAYLOAD_BYTES_MOST as u32).contains(payload_bytes) {
        return Err(format!(
            "payloads of {payload_bytes} bytes; 1 to {PAYLOAD_BYTES_MOST} are possible"
        ));
    }
    if !(1..=ITEMS_MOST).contains(items) {
        return Err(format!("room for {items} items; 1 to {ITEMS_MOST} are possible"));
    }
    let bytes = items.next_power_of_two() as usize * (HEADER_BYTES + *payload_bytes as usize);
    if bytes > RING_BYTES_MOST {
        return Err(format!(
            "{items} items of {payload_bytes} bytes take {bytes} bytes; {RING_BYTES_MOST} are possible"
        ));
    }
    Ok(())
}
