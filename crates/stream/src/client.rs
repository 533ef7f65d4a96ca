//! A blocking client.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use tactus_delivery::format::{FRAME_NUMBER_BYTES, Format};
use tactus_delivery::item::{BranchId, Epoch, IfLate, Item, Moment, StreamId};
use tactus_delivery::receipt::Receipt;
use tactus_fifo::shared_ring::{ReadEnd, Shape, WriteEnd};
use tactus_sys::shared_memory::SharedBytes;
use tactus_sys::wait::wait_readable;
use tactus_sys::{Errno, clock, local_socket};

use crate::error::{ConnectError, Ended, RequestError, SubmitError};
use crate::message::{
    DeviceInfo, NOTICE, REPLY_BYTES, REQUEST_BYTES, Reply, Request, Status, VERSION, Wanted,
    Welcome, shown,
};
use crate::slack::{Slack, SlackMeter};
use crate::slot::{HEADER_BYTES, RECEIPT_BYTES, ReceiptSlot, Submitted};

/// Where the server listens.
pub const SOCKET: &str = "/run/tactus/streamd.sock";

/// How long the server may take for a reply.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a client submits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draft<'a> {
    /// Where it goes.
    pub stream: StreamId,
    /// The branch that it belongs to.
    pub branch: BranchId,
    /// When it is to be delivered, on the clock of [`Client::now`].
    pub due: Moment,
    /// What happens if it is late.
    pub if_late: IfLate,
    /// What is delivered.
    pub payload: &'a [u8],
}

/// Memory for a frame of pictures, which the server's display reads.
#[derive(Debug)]
pub struct Frame {
    number: u32,
    bytes: SharedBytes,
}

impl Frame {
    /// The payload of the item that shows it.
    pub const fn payload(&self) -> [u8; FRAME_NUMBER_BYTES] {
        self.number.to_ne_bytes()
    }

    /// The pixels, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes.bytes_mut()
    }
}

/// A client of the delivery server.
///
/// Items go through shared memory: [`submit`](Self::submit) makes a system call only if the server
/// sleeps, and never waits. The server takes items in the order in which they were submitted; an
/// item that is due is delivered at once, as its [`IfLate`] says.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tactus_model::time::Nanos;
/// use tactus_stream::{BranchId, Client, Draft, IfLate, SOCKET, Wanted};
///
/// let mut client = Client::connect(SOCKET, &Wanted::named("example"))?;
/// let stream = client.open("piano")?;
/// let due = Client::now() + Nanos::from_millis(20);
/// let (branch, if_late) = (BranchId(0), IfLate::Deliver);
/// let number = client.submit(&Draft { stream, branch, due, if_late, payload: &[0x90, 60, 100] })?;
/// let receipt = client.receipt(Some(Duration::from_secs(1)))?;
/// assert_eq!(receipt.map(|receipt| receipt.sequence), Some(number));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client {
    line: Line,
    welcome: Welcome,
    items: WriteEnd,
    receipts: ReadEnd,
    slot: Vec<u8>,
    /// The devices of the open streams, by their places among those of the welcome.
    streams: BTreeMap<StreamId, usize>,
    next_stream: u32,
    epochs: BTreeMap<BranchId, Epoch>,
    submitted: u64,
    answered: u64,
    meter: SlackMeter,
}

impl Client {
    /// Connects to the server at `socket`, usually [`SOCKET`].
    ///
    /// # Errors
    /// Nobody listens there, or the server refuses what is wanted.
    pub fn connect(socket: impl AsRef<Path>, wanted: &Wanted) -> Result<Self, ConnectError> {
        let mut line = Line::connect(socket.as_ref())?;
        let hello = Request::Hello { version: VERSION, wanted: wanted.clone() };
        let Reply::Welcome(welcome) = line.request(&hello)? else {
            return Err(RequestError::Protocol("its reply is not a welcome".to_owned()).into());
        };
        let shape = |bytes| {
            let shape = Shape::new(bytes, welcome.items as usize);
            shape.map_err(|error| RequestError::Protocol(error.to_string()))
        };
        let slot_bytes = HEADER_BYTES + welcome.payload_bytes as usize;
        let (items, receipts) = (shape(slot_bytes)?, shape(RECEIPT_BYTES)?);
        let files = std::mem::take(&mut line.files);
        let [of_items, of_receipts]: [OwnedFd; 2] = files.try_into().map_err(|files: Vec<_>| {
            RequestError::Protocol(format!("{} descriptors came with its reply", files.len()))
        })?;
        Ok(Self {
            line,
            items: WriteEnd::map(of_items, &items).map_err(ConnectError::Memory)?,
            receipts: ReadEnd::map(of_receipts, &receipts).map_err(ConnectError::Memory)?,
            welcome,
            slot: vec![0; slot_bytes],
            streams: BTreeMap::new(),
            next_stream: 0,
            epochs: BTreeMap::new(),
            submitted: 0,
            answered: 0,
            meter: SlackMeter::default(),
        })
    }

    /// The present instant on the clock of due times.
    pub fn now() -> Moment {
        clock::now()
    }

    /// The devices of the server.
    pub fn devices(&self) -> &[DeviceInfo] {
        &self.welcome.devices
    }

    /// What the server grants: the room for items, the horizon.
    pub const fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Opens a stream to a device.
    ///
    /// # Errors
    /// There is no such device, or the client has too many streams.
    pub fn open(&mut self, device: &str) -> Result<StreamId, RequestError> {
        let found = self.welcome.devices.iter().position(|other| other.name == device);
        let Some(place) = found else {
            let names = self.welcome.devices.iter().map(|device| device.name.as_str());
            let names: Vec<&str> = names.collect();
            let nearest = tactus_model::text::nearest(device, &names).map(str::to_owned);
            return Err(RequestError::NoDevice { name: device.to_owned(), nearest });
        };
        let stream = StreamId(self.next_stream);
        self.done(&Request::Open { stream, device: device.to_owned() })?;
        self.next_stream += 1;
        self.streams.insert(stream, place);
        Ok(stream)
    }

    /// The device of an open stream.
    pub fn device(&self, stream: StreamId) -> Option<&DeviceInfo> {
        self.streams.get(&stream).map(|place| &self.welcome.devices[*place])
    }

    /// Asks for memory for one more frame of a stream to a device that takes frames of pictures. The
    /// payload of an item is the [number](Frame::payload) of its frame, whose pixels must not change
    /// until the item has its receipt.
    ///
    /// # Errors
    /// The device takes no frames, the client has too many, or the server has no memory.
    pub fn frame(&mut self, stream: StreamId) -> Result<Frame, RequestError> {
        let protocol = |error: &str| RequestError::Protocol(error.to_owned());
        let format = self.device(stream).map(|device| device.format);
        let Reply::Frame { number } = self.line.request(&Request::Frame { stream })? else {
            return Err(protocol("its reply is for another request"));
        };
        let file = self.line.files.pop().filter(|_| self.line.files.is_empty());
        let file = file.ok_or_else(|| protocol("a frame came without one descriptor"))?;
        let bytes = format.and_then(Format::frame_bytes);
        let bytes = bytes.ok_or_else(|| protocol("a frame of a device that takes none"))?;
        let bytes = SharedBytes::open(file, bytes);
        let bytes = bytes.map_err(|error| protocol(&format!("the memory of a frame: {error}")))?;
        Ok(Frame { number, bytes })
    }

    /// Submits an item, and returns its number, which comes back in its receipt. Numbers grow by
    /// one from 0. Never waits, and never reads the connection: a server that has ended is noticed by
    /// [`receipt`](Self::receipt), and its ring fills.
    ///
    /// # Errors
    /// The item gets no number and no receipt. Some errors are
    /// [transient](SubmitError::is_transient).
    pub fn submit(&mut self, draft: &Draft<'_>) -> Result<u64, SubmitError> {
        let Draft { stream, branch, due, if_late, payload } = *draft;
        self.line.check()?;
        let device = self.device(stream).ok_or(SubmitError::NoStream(stream))?;
        device.format.check(payload)?;
        let Welcome { client, items, payload_bytes, horizon, .. } = self.welcome;
        if payload.len() > payload_bytes as usize {
            return Err(SubmitError::TooLong { bytes: payload.len(), most: payload_bytes });
        }
        let now = Self::now();
        if due > now + horizon {
            let from = due.as_nanos() - horizon.as_nanos();
            return Err(SubmitError::TooFarAhead { horizon, from: Moment::from_nanos(from) });
        }
        let full = SubmitError::Full { items };
        if self.outstanding() >= u64::from(items) {
            return Err(full);
        }
        let epoch = self.epochs.get(&branch).copied().unwrap_or_default();
        let sequence = self.submitted;
        let item = Item { client, sequence, stream, branch, epoch, due, if_late, payload };
        let written = Submitted { item, at: now }.write(&mut self.slot);
        written.map_err(|_| SubmitError::TooLong { bytes: payload.len(), most: payload_bytes })?;
        let waits = self.items.push(&self.slot).map_err(|_| full)?;
        self.submitted += 1;
        if waits {
            self.line.notify();
        }
        Ok(sequence)
    }

    /// Cuts a branch: of the items that were submitted so far, none that is due at `at` or later is
    /// delivered, in any stream. Items submitted from now on belong to a new epoch.
    ///
    /// # Errors
    /// The client has too many branches.
    pub fn cut(&mut self, branch: BranchId, at: Moment) -> Result<(), RequestError> {
        let epoch = self.epochs.get(&branch).copied().unwrap_or_default().next();
        self.done(&Request::Cut { branch, epoch, at })?;
        self.epochs.insert(branch, epoch);
        Ok(())
    }

    /// Lets items of a stream be delivered again that had stopped for a late item.
    ///
    /// # Errors
    /// There is no such stream.
    pub fn resume(&mut self, stream: StreamId) -> Result<(), RequestError> {
        self.done(&Request::Resume { stream })
    }

    /// Closes a stream. Its items that wait are not delivered; each gets its receipt.
    ///
    /// # Errors
    /// There is no such stream.
    pub fn close(&mut self, stream: StreamId) -> Result<(), RequestError> {
        self.done(&Request::Close { stream })?;
        self.streams.remove(&stream);
        Ok(())
    }

    /// Takes the next receipt, in the order in which items were answered. Waits for at most
    /// `timeout`, or for as long as it takes; [`Duration::ZERO`] does not wait.
    ///
    /// # Errors
    /// The connection has ended, and every receipt was read.
    pub fn receipt(&mut self, timeout: Option<Duration>) -> Result<Option<Receipt>, Ended> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(receipt) = self.take_receipt()? {
                return Ok(Some(receipt));
            }
            self.line.check()?;
            // A notice that is taken here is for a receipt that is found below.
            self.line.clear();
            if self.receipts.request_notice() || self.line.ended.is_some() {
                continue;
            }
            let left = end.map_or(PATIENCE, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            // It fails only without memory; then this asks again.
            let _ = wait_readable(self.as_fd(), left);
        }
    }

    fn take_receipt(&mut self) -> Result<Option<Receipt>, Ended> {
        let mut bytes = [0; RECEIPT_BYTES];
        if !self.receipts.pop(&mut bytes) {
            return Ok(None);
        }
        let Some(answered) = ReceiptSlot::read(self.welcome.client, &bytes) else {
            return Err(Ended { reason: Some("its receipts cannot be read".to_owned()) });
        };
        self.answered += 1;
        let receipt = answered.receipt;
        if let Some(arrival) = answered.arrival {
            let lead = self.device(receipt.stream).map(|device| device.lead).unwrap_or_default();
            self.meter.arrived(arrival, receipt.due, lead);
        }
        Ok(Some(receipt))
    }

    /// Items that have no receipt which was read.
    pub const fn outstanding(&self) -> u64 {
        self.submitted.saturating_sub(self.answered)
    }

    /// How early the items of the last minute arrived at the queues of their devices, by the
    /// receipts that were read; `None` without any.
    pub fn slack(&mut self) -> Option<Slack> {
        self.meter.slack(Self::now())
    }

    /// The present state of the server.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn status(&mut self) -> Result<Status, RequestError> {
        status_on(&mut self.line)
    }

    fn done(&mut self, request: &Request) -> Result<(), RequestError> {
        match self.line.request(request)? {
            Reply::Done => Ok(()),
            _ => Err(RequestError::Protocol("its reply is for another request".to_owned())),
        }
    }
}

/// It can be read when receipts may have come, or the connection has ended.
impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.stream.as_fd()
    }
}

/// Requests the state of the server at `socket`, without becoming a client.
///
/// # Errors
/// Nobody listens there, or the server refuses.
pub fn status(socket: impl AsRef<Path>) -> Result<Status, ConnectError> {
    Ok(status_on(&mut Line::connect(socket.as_ref())?)?)
}

fn status_on(line: &mut Line) -> Result<Status, RequestError> {
    match line.request(&Request::Status)? {
        Reply::Status(status) => Ok(status),
        _ => Err(RequestError::Protocol("its reply is not a status".to_owned())),
    }
}

/// The connection.
#[derive(Debug)]
pub(crate) struct Line {
    stream: UnixStream,
    /// Descriptors that came with a reply.
    files: Vec<OwnedFd>,
    /// The server has ended it.
    ended: Option<Ended>,
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Line {
    pub(crate) fn connect(socket: &Path) -> Result<Self, ConnectError> {
        let failed = |error| ConnectError::Socket { path: socket.to_owned(), error };
        let stream = local_socket::connect_packets(socket, PATIENCE).map_err(failed)?;
        stream.set_nonblocking(true).map_err(failed)?;
        Ok(Self { stream, files: Vec::new(), ended: None })
    }

    pub(crate) fn check(&self) -> Result<(), Ended> {
        self.ended.clone().map_or(Ok(()), Err)
    }

    /// Rings the bell of the server. It fails if earlier notices were not heard, or if the server
    /// has ended, which is found when something is read.
    fn notify(&self) {
        let _ = local_socket::send(&self.stream, &NOTICE, &[]);
    }

    /// Takes all notices.
    fn clear(&mut self) {
        let mut buffer = [0; REQUEST_BYTES];
        while self.ended.is_none() && self.receive(&mut buffer).is_some() {}
    }

    /// Receives a packet, if one is there; a notice has one byte.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let received = match local_socket::receive(&self.stream, buffer, true) {
            // Notices were unheard when the server ended. What it said before comes after this.
            Err(error) if error.errno == Errno::CONNRESET => {
                local_socket::receive(&self.stream, buffer, true)
            }
            received => received,
        };
        match received {
            Ok(received) if received.count > 0 => {
                self.files.extend(received.descriptors);
                if let Ok(Reply::Ended(reason)) = serde_json::from_slice(&buffer[..received.count])
                {
                    self.ended = Some(Ended { reason: Some(shown(&reason)) });
                }
                Some(received.count)
            }
            Err(error) if matches!(error.errno, Errno::AGAIN | Errno::INTR) => None,
            _ => {
                self.ended.get_or_insert(Ended { reason: None });
                None
            }
        }
    }

    /// Sends a request, and waits for its reply.
    pub(crate) fn request(&mut self, request: &Request) -> Result<Reply, RequestError> {
        self.check()?;
        let protocol = |error: &dyn std::fmt::Display| RequestError::Protocol(error.to_string());
        let packet = serde_json::to_vec(request).map_err(|error| protocol(&error))?;
        if packet.len() > REQUEST_BYTES {
            let reason = format!("a request has more than {REQUEST_BYTES} bytes");
            return Err(RequestError::Refused(reason));
        }
        // A server that ends the connection may have said why.
        let _ = local_socket::send(&self.stream, &packet, &[]);
        let end = Instant::now() + PATIENCE;
        let mut buffer = vec![0; REPLY_BYTES];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.receive(&mut buffer) {
                Some(count) if count == NOTICE.len() => {}
                Some(count) => {
                    let reply = serde_json::from_slice(&buffer[..count]);
                    return match reply.map_err(|error| protocol(&error))? {
                        Reply::Refused(reason) => Err(RequestError::Refused(shown(&reason))),
                        Reply::Ended(reason) => Err(Ended { reason: Some(shown(&reason)) }.into()),
                        reply => Ok(reply),
                    };
                }
                None => {
                    self.check()?;
                    if left.is_zero() {
                        let late = std::io::Error::from(ErrorKind::TimedOut);
                        return Err(protocol(&format_args!("no reply: {late}")));
                    }
                    let _ = wait_readable(self.stream.as_fd(), left);
                }
            }
        }
    }
}
