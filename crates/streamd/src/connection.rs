//! A connection: what a client has of the server.

use std::collections::BTreeMap;
use std::net::Shutdown;
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
use tactus_sys::poller::Interest;
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
    pub role: Role,
    /// Until when nothing that the peer sends is awaited.
    pub muted: Option<Moment>,
}

/// What the peer of a connection is.
#[derive(Debug)]
pub(crate) enum Role {
    /// It has not introduced itself yet.
    Unintroduced {
        /// When it connected.
        since: Moment,
    },
    /// It gets messages of an input.
    Listener,
    /// It submits items.
    Client(Box<Session>),
}

impl Connection {
    /// A connection; the socket must not wait.
    pub const fn new(socket: UnixStream, peer: PeerCredentials, since: Moment) -> Self {
        Self { socket, peer, role: Role::Unintroduced { since }, muted: None }
    }

    /// Of a client.
    pub fn session(&self) -> Option<&Session> {
        match &self.role {
            Role::Client(session) => Some(session),
            Role::Unintroduced { .. } | Role::Listener => None,
        }
    }

    /// The same, to be changed.
    pub fn session_mut(&mut self) -> Option<&mut Session> {
        match &mut self.role {
            Role::Client(session) => Some(session),
            Role::Unintroduced { .. } | Role::Listener => None,
        }
    }

    /// What is awaited of the peer; its end always is.
    pub fn interest(&self) -> Interest {
        Interest { read: self.muted.is_none(), write: false }
    }

    /// Another descriptor of the socket.
    pub fn socket(&self) -> std::io::Result<UnixStream> {
        self.socket.try_clone()
    }

    /// Receives a packet, if one is there.
    pub fn receive(&self) -> Result<Option<Packet>, Closed> {
        match local_socket::carries_descriptors(&self.socket) {
            Ok(false) => {}
            Ok(true) => return Err(Closed(Some("a descriptor came with a packet".to_owned()))),
            Err(error) if matches!(error.errno, Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(_) => return Err(Closed(None)),
        }
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

    /// Reads what the peer has sent, which can send nothing more, up to the first packet that comes
    /// with descriptors. Returns the socket if there is one: only another thread may close it.
    pub fn drained(self) -> (Role, Option<Draining>) {
        let Self { socket, role, .. } = self;
        let _ = socket.shutdown(Shutdown::Read);
        let mut byte = [0];
        let has_descriptors = loop {
            match local_socket::carries_descriptors(&socket) {
                Ok(true) => break true,
                Ok(false) => {}
                Err(_) => break false,
            }
            match local_socket::receive(&socket, &mut byte, false) {
                Ok(received) if received.count > 0 => {}
                _ => break false,
            }
        };
        (role, has_descriptors.then(|| Draining(socket)))
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
        if self.session_mut().is_some_and(|session| std::mem::take(&mut session.notifies)) {
            let _ = local_socket::send(&self.socket, &NOTICE, &[]);
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A socket in whose queue are descriptors. Dropping it closes them, then the socket: a listener's
/// other descriptor of it must not be the last while they are there.
#[derive(Debug)]
pub(crate) struct Draining(UnixStream);

impl Drop for Draining {
    fn drop(&mut self) {
        // It does not wait for more: the peer can send nothing.
        while local_socket::receive(&self.0, &mut [0], false).is_ok_and(|found| found.count > 0) {}
    }
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
    /// A copy of the slot of the last item.
    slot: Vec<u8>,
    /// The last item is not accepted yet.
    held: bool,
    /// Until when none of its items is taken.
    pub rests: Option<Moment>,
    /// Receipts that the client has read.
    read: u64,
    /// Items that wait for a receipt.
    waiting: BTreeMap<u64, Waiting>,
    pub counts: Counts,
    pub meter: SlackMeter,
    notifies: bool,
    /// Bytes of its rings and of its frames.
    pub shared_bytes: usize,
    /// Frames that it has.
    pub frames: u32,
}

/// An item that waits for a receipt.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrival: Arrival,
    /// It arrived too late to be delivered in time.
    is_late: bool,
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
        // The limit of locked memory counts the first ring when the second is made.
        let (of_items, items_are_secret) = shared_ring::create(&shapes.items)?;
        let items = ReadEnd::map(&of_items, &shapes.items)?;
        let (of_receipts, receipts_are_secret) = shared_ring::create(&shapes.receipts)?;
        let receipts = WriteEnd::map(&of_receipts, &shapes.receipts)?;
        let session = Self {
            client,
            name: wanted.name,
            room: shapes.room() as u32,
            payload_bytes: wanted.payload_bytes,
            items,
            receipts,
            slot: vec![0; shapes.items.bytes()],
            held: false,
            rests: None,
            read: 0,
            waiting: BTreeMap::new(),
            counts: Counts::default(),
            meter: SlackMeter::default(),
            notifies: false,
            shared_bytes: shapes.bytes(),
            frames: 0,
        };
        Ok((session, [of_items, of_receipts], items_are_secret.and(receipts_are_secret).err()))
    }

    /// Copies the next item, unless one is held.
    pub fn next(&mut self) -> Result<Option<Submitted<&[u8]>>, Closed> {
        if !self.held && !self.items.pop(&mut self.slot) {
            return match self.items.is_broken() {
                true => Err(Closed(Some("the indices of its ring are not possible".to_owned()))),
                false => Ok(None),
            };
        }
        self.held = false;
        Ok(Some(Submitted::read(self.client, &self.slot)?))
    }

    /// Holds the last item, which is tried again at an instant.
    pub fn hold(&mut self, until: Moment) {
        self.held = true;
        self.rests = self.rests.max(Some(until));
    }

    /// Whether an item is there; otherwise, the client sends a notice of the next one.
    pub fn request_notice(&mut self) -> bool {
        self.items.request_notice()
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
        let is_late = arrival.is_late(item.due, lead);
        self.waiting.insert(item.sequence, Waiting { arrival, is_late });
    }

    /// Whether the item of a receipt had arrived too late to be delivered in time.
    pub fn was_late(&self, receipt: &Receipt) -> bool {
        self.waiting.get(&receipt.sequence).is_some_and(|waiting| waiting.is_late)
    }

    /// Items that wait for a receipt.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Passes on a receipt.
    pub fn answer(&mut self, receipt: Receipt) -> Result<(), Closed> {
        let was_late = self.was_late(&receipt);
        count(&mut self.counts, receipt.outcome, was_late);
        let arrival = self.waiting.remove(&receipt.sequence).map(|waiting| waiting.arrival);
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

/// Counts a receipt, of an item that arrived too late to be in time or not.
pub(crate) fn count(counts: &mut Counts, outcome: Outcome, was_late: bool) {
    counts.delivered_late += u64::from(outcome == Outcome::Delivered && was_late);
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use super::*;

    /// A peer, and its connection.
    fn pair() -> (UnixStream, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let (listener, _file) = local_socket::listen_packets(&path).unwrap();
        let near = local_socket::connect_packets(&path, Duration::from_secs(20)).unwrap();
        let (far, _) = listener.accept().unwrap();
        far.set_nonblocking(true).unwrap();
        let peer = PeerCredentials { process: 0, user: 0, group: 0, groups: Vec::new() };
        (near, Connection::new(far, peer, Moment::from_nanos(0)))
    }

    #[test]
    fn a_descriptor_of_a_peer_is_not_closed_by_the_thread_that_reads() {
        let (near, connection) = pair();
        let (mut read, write) = std::io::pipe().unwrap();
        local_socket::send(&near, &NOTICE, &[]).unwrap();
        local_socket::send(&near, &NOTICE, &[write.as_fd()]).unwrap();
        drop(write);
        assert_eq!(connection.receive(), Ok(Some(Packet::Notice)));
        let Err(Closed(Some(reason))) = connection.receive() else { panic!("it was received") };
        assert!(reason.contains("descriptor"), "{reason}");
        let (_, draining) = connection.drained();
        let is_open = || !tactus_sys::wait::wait_readable(read.as_fd(), Duration::ZERO).unwrap();
        assert!(is_open(), "it is in the queue of the socket");
        drop(draining.expect("another thread closes it"));
        assert_eq!(read.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn the_socket_of_a_decent_peer_is_closed_at_once() {
        let (near, connection) = pair();
        local_socket::send(&near, &NOTICE, &[]).unwrap();
        let (_, draining) = connection.drained();
        assert!(draining.is_none());
        assert_eq!((&near).read(&mut [0]).unwrap(), 0, "the end, not an error");
    }
}
