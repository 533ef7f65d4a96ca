//! The ordinary side: opens channels by name.

use std::io::ErrorKind;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use tactus_sys::peer_memory::{ReadableWords, WritableWords};
use tactus_sys::wait::wait_readable;
use tactus_sys::{Errno, SysError, local_socket};

use crate::latest::{LatestReader, LatestWriter};
use crate::layout::{Layout, reader, writer};
use crate::message::{Introduction, MESSAGE_BYTES, Reply, Request, Role, VERSION};
use crate::ring::{RingReader, RingWriter};
use crate::{Element, Ended, Items, NotWritten, OpenError, Received, Sent, Separation, element};

/// How long the broker may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the broker gives a peer.
#[derive(Debug)]
pub struct Introduced {
    /// Notices come and doorbells go here, one byte each. It ends with the real-time side.
    pub stream: UnixStream,
    /// The parameters.
    pub introduction: Introduction,
    /// The memory of the real-time side, if the peer reads any; then that of the peer, if it writes
    /// any.
    pub files: Vec<OwnedFd>,
}

/// Requests a channel of the broker at `socket`.
///
/// # Errors
/// There is no broker, or it refuses.
pub fn introduce(socket: &Path, request: &Request) -> Result<Introduced, OpenError> {
    let failed = |error| OpenError::Socket { path: socket.display().to_string(), error };
    let stream = local_socket::connect(socket, PATIENCE).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let line = tactus_wire::encode(request, MESSAGE_BYTES)
        .map_err(|error| OpenError::Protocol(error.to_string()))?;
    // A broker that does not permit this user may have answered and closed already.
    let _ = local_socket::send(&stream, &line, &[]);
    let (line, files) = receive(&stream).map_err(|error| match error {
        Failed::Socket(error) => failed(error),
        Failed::TooLong => OpenError::Protocol("its reply is too long".to_owned()),
    })?;
    let reply = tactus_wire::parse(&line);
    match reply.map_err(|error| OpenError::Protocol(error.to_string()))? {
        Reply::Refused(refusal) => Err(refusal.into()),
        Reply::Introduced(introduction) => {
            stream.set_nonblocking(true).map_err(failed)?;
            Ok(Introduced { stream, introduction, files })
        }
    }
}

/// A connection on which notices come.
#[derive(Debug)]
struct Line {
    stream: UnixStream,
    introduction: Introduction,
    /// The other side has closed it.
    has_ended: bool,
}

impl Line {
    /// Opens a channel. Returns its memory: first that of the real-time side.
    fn open(
        socket: &Path,
        name: &str,
        items: &Items,
        role: Role,
    ) -> Result<(Self, Vec<OwnedFd>), OpenError> {
        let (name, element, bytes) = (name.to_owned(), items.layout.clone(), items.bytes);
        let request = Request { version: VERSION, name, role, element, bytes };
        let Introduced { stream, introduction, files } = introduce(socket, &request)?;
        Ok((Self { stream, introduction, has_ended: false }, files))
    }

    /// The layout of the channel, by the introduction.
    fn layout(&self, items: &Items) -> Result<Layout, OpenError> {
        let capacity = self.introduction.capacity;
        match Layout::ring(items, capacity) {
            Ok(layout) if layout.capacity == capacity => Ok(layout),
            _ => Err(OpenError::Protocol(format!("it has {capacity} slots"))),
        }
    }

    /// Takes all notices.
    fn clear(&mut self) {
        let mut notices = [0; 256];
        loop {
            match local_socket::receive(&self.stream, &mut notices, false) {
                Ok(received) if received.count == notices.len() => {}
                Ok(received) => {
                    self.has_ended |= received.count == 0;
                    return;
                }
                Err(error) => {
                    self.has_ended |= !matches!(error.errno, Errno::AGAIN | Errno::INTR);
                    return;
                }
            }
        }
    }

    fn wait(&self, timeout: Option<Duration>) -> Result<bool, SysError> {
        // Years, which poll(2) rounds down to weeks.
        wait_readable(self.stream.as_fd(), timeout.unwrap_or(Duration::from_secs(1 << 30)))
    }
}

/// Why no reply came.
enum Failed {
    Socket(std::io::Error),
    TooLong,
}

/// Receives a line and the descriptors that come with it.
fn receive(stream: &UnixStream) -> Result<(Vec<u8>, Vec<OwnedFd>), Failed> {
    let (mut line, mut files, mut buffer) = (Vec::new(), Vec::new(), [0; MESSAGE_BYTES]);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let received =
            local_socket::receive(stream, &mut buffer, true).map_err(|error| {
                match error.errno {
                    Errno::AGAIN => Failed::Socket(ErrorKind::TimedOut.into()),
                    errno => Failed::Socket(errno.into()),
                }
            })?;
        files.extend(received.descriptors);
        line.extend_from_slice(&buffer[..received.count]);
        if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            // Notices may follow; whoever opens a channel looks into it first.
            line.truncate(end);
            return Ok((line, files));
        }
        if received.count == 0 {
            return Err(Failed::Socket(ErrorKind::UnexpectedEof.into()));
        }
        if Instant::now() >= deadline {
            return Err(Failed::Socket(ErrorKind::TimedOut.into()));
        }
        if line.len() > MESSAGE_BYTES {
            return Err(Failed::TooLong);
        }
    }
}

/// The descriptors that belong to a role.
fn files<const N: usize>(files: Vec<OwnedFd>) -> Result<[OwnedFd; N], OpenError> {
    files.try_into().map_err(|files: Vec<_>| {
        OpenError::Protocol(format!("{} descriptors came with its reply", files.len()))
    })
}

/// Reads the items of a real-time [`Sender`](crate::Sender).
///
/// Its descriptor can be read when items may have arrived, or at the end. It is reset by
/// [`try_read`](Self::try_read) once that returns `None`.
#[derive(Debug)]
pub struct FifoReader<T: ?Sized> {
    line: Line,
    peer: ReadableWords,
    ring: RingReader,
    items: PhantomData<fn() -> Box<T>>,
}

impl<T: Element> FifoReader<T> {
    /// Opens the FIFO `name` of the broker at `socket`. The items that wait in it come first.
    ///
    /// # Errors
    /// There is no broker, or it refuses.
    pub fn open(socket: impl AsRef<Path>, name: &str) -> Result<Self, OpenError> {
        Self::introduced(socket.as_ref(), name, &Items::of::<T>())
    }

    /// Takes the next item, if there is one. Never waits.
    ///
    /// # Errors
    /// The real-time side has ended, and everything was read.
    pub fn try_read(&mut self) -> Result<Option<T>, Ended> {
        let mut taken = Ok(false);
        let item = element::filled(|item| {
            taken = self.take(item);
            taken == Ok(true)
        });
        taken.map(|_| item)
    }

    /// Takes the next item, and waits for it.
    ///
    /// # Errors
    /// The real-time side has ended, and everything was read.
    pub fn read(&mut self) -> Result<T, Ended> {
        loop {
            if let Some(item) = self.try_read()? {
                return Ok(item);
            }
            self.wait(None).map_err(|_| Ended)?;
        }
    }

    /// Calls `handler` with each item as it arrives, until it breaks.
    ///
    /// # Errors
    /// The real-time side has ended, and everything was read.
    pub fn on_arrival<B>(
        &mut self,
        mut handler: impl FnMut(T) -> std::ops::ControlFlow<B>,
    ) -> Result<B, Ended> {
        loop {
            if let std::ops::ControlFlow::Break(result) = handler(self.read()?) {
                return Ok(result);
            }
        }
    }
}

impl FifoReader<[u8]> {
    /// Opens a FIFO of items that are known at run time.
    ///
    /// # Errors
    /// There is no broker, or it refuses.
    pub fn open_of(socket: impl AsRef<Path>, name: &str, items: &Items) -> Result<Self, OpenError> {
        Self::introduced(socket.as_ref(), name, items)
    }

    /// Takes the next item, if there is one, and returns whether there was. Never waits.
    ///
    /// # Errors
    /// The real-time side has ended, and everything was read.
    ///
    /// # Panics
    /// The item has another size than those of the channel.
    pub fn try_read_bytes(&mut self, item: &mut [u8]) -> Result<bool, Ended> {
        self.take(item)
    }
}

impl<T: ?Sized> FifoReader<T> {
    fn introduced(socket: &Path, name: &str, items: &Items) -> Result<Self, OpenError> {
        let (line, received) = Line::open(socket, name, items, Role::ReadFifo)?;
        let layout = line.layout(items)?;
        let [peer, own] = files(received)?;
        let peer = ReadableWords::map(peer, layout.words())?;
        let own = WritableWords::map(own, reader::COUNT)?;
        let ring = RingReader::new(own, layout, line.introduction.start);
        Ok(Self { line, peer, ring, items: PhantomData })
    }

    fn take(&mut self, item: &mut [u8]) -> Result<bool, Ended> {
        if self.ring.pop(&self.peer, item) {
            return Ok(true);
        }
        // The sequence loses no notice: those that come after this are for later items.
        self.line.clear();
        let has_ended = self.line.has_ended || self.peer.load(writer::CLOSED) != 0;
        if self.ring.request_notice(Some(&self.peer)) {
            return Ok(self.ring.pop(&self.peer, item));
        }
        if has_ended { Err(Ended) } else { Ok(false) }
    }

    /// Waits until items may have arrived, or the real-time side has ended, for `timeout` at most;
    /// a signal may end the wait too. Returns whether `timeout` is not over.
    ///
    /// # Errors
    /// Those of [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool, SysError> {
        self.line.wait(timeout)
    }

    /// What became of the items since this was opened.
    pub const fn counts(&self) -> Received {
        Received::of(&self.ring.index)
    }

    /// The index of the first item that this could read: those before it were for others.
    pub const fn start(&self) -> u64 {
        self.line.introduction.start
    }

    /// Items written by the real-time side since it began, and items that it could not write.
    pub fn offered(&self) -> (u64, u64) {
        (self.peer.load(writer::WRITTEN), self.peer.load(writer::REFUSED))
    }

    /// How far the sides are separated.
    pub const fn separation(&self) -> Separation {
        self.line.introduction.separation
    }
}

impl<T: ?Sized> AsFd for FifoReader<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.stream.as_fd()
    }
}

/// Writes items for a real-time [`Receiver`](crate::Receiver).
#[derive(Debug)]
pub struct FifoWriter<T: ?Sized> {
    line: Line,
    peer: ReadableWords,
    ring: RingWriter,
    items: PhantomData<fn(&T)>,
}

impl<T: Element> FifoWriter<T> {
    /// Opens the FIFO `name` of the broker at `socket`.
    ///
    /// # Errors
    /// There is no broker, or it refuses.
    pub fn open(socket: impl AsRef<Path>, name: &str) -> Result<Self, OpenError> {
        Self::introduced(socket.as_ref(), name, &Items::of::<T>())
    }

    /// Writes an item. Never waits. The real-time side gets it even if this process ends now.
    ///
    /// # Errors
    /// The FIFO is full, or the real-time side has ended.
    pub fn write(&mut self, item: &T) -> Result<(), NotWritten> {
        self.push(bytemuck::bytes_of(item))
    }
}

impl FifoWriter<[u8]> {
    /// Opens a FIFO of items that are known at run time.
    ///
    /// # Errors
    /// There is no broker, or it refuses.
    pub fn open_of(socket: impl AsRef<Path>, name: &str, items: &Items) -> Result<Self, OpenError> {
        Self::introduced(socket.as_ref(), name, items)
    }

    /// Writes an item. Never waits. The real-time side gets it even if this process ends now.
    ///
    /// # Errors
    /// The FIFO is full, or the real-time side has ended.
    ///
    /// # Panics
    /// The item has another size than those of the channel.
    pub fn write_bytes(&mut self, item: &[u8]) -> Result<(), NotWritten> {
        self.push(item)
    }
}

impl<T: ?Sized> FifoWriter<T> {
    fn introduced(socket: &Path, name: &str, items: &Items) -> Result<Self, OpenError> {
        let (line, received) = Line::open(socket, name, items, Role::WriteFifo)?;
        let layout = line.layout(items)?;
        let [peer, own] = files(received)?;
        let peer = ReadableWords::map(peer, reader::COUNT)?;
        let ring = RingWriter::new(WritableWords::map(own, layout.words())?, layout);
        Ok(Self { line, peer, ring, items: PhantomData })
    }

    fn push(&mut self, item: &[u8]) -> Result<(), NotWritten> {
        // Before it takes this session, the reader has read nothing of it.
        let is_taken = self.peer.load(reader::SESSION) == self.line.introduction.session;
        self.ring.look(if is_taken { self.peer.load(reader::READ) } else { 0 });
        if self.peer.load(reader::CLOSED) != 0 {
            return Err(Ended.into());
        }
        if let Err(full) = self.ring.push(item) {
            self.line.clear();
            return Err(if self.line.has_ended { Ended.into() } else { full.into() });
        }
        if self.ring.reader_waits(&self.peer) {
            // It fails if earlier doorbells were not heard, or if the other side has ended; then
            // the FIFO fills.
            let _ = local_socket::send(&self.line.stream, &[1], &[]);
        }
        Ok(())
    }

    /// What became of the items since this was opened.
    pub const fn counts(&self) -> Sent {
        Sent::of(&self.ring.index)
    }

    /// How far the sides are separated.
    pub const fn separation(&self) -> Separation {
        self.line.introduction.separation
    }
}

/// Reads the latest value of a real-time [`BlockWriter`](crate::BlockWriter).
#[derive(Debug)]
pub struct SharedReader<T: ?Sized> {
    line: Line,
    peer: ReadableWords,
    latest: LatestReader,
    items: PhantomData<fn() -> Box<T>>,
}

impl<T: Element> SharedReader<T> {
    /// Opens the block `name` of the broker at `socket`.
    ///
    /// # Errors
    /// There is no broker, or it refuses.
    pub fn open(socket: impl AsRef<Path>, name: &str) -> Result<Self, OpenError> {
        Self::introduced(socket.as_ref(), name, &Items::of::<T>())
    }

    /// The latest value; `None` before the first. Never waits, and never returns a mixture of two
    /// values.
    ///
    /// # Errors
    /// The real-time side has ended.
    pub fn read(&mut self) -> Result<Option<T>, Ended> {
        Ok(self.refreshed()?.map(bytemuck::pod_read_unaligned))
    }
}

impl SharedReader<[u8]> {
    /// Opens a block of a value that is known at run time.
    ///
    /// # Errors
    /// There is no broker, or it refuses.
    pub fn open_of(socket: impl AsRef<Path>, name: &str, items: &Items) -> Result<Self, OpenError> {
        Self::introduced(socket.as_ref(), name, items)
    }

    /// The latest value; `None` before the first. Never waits, and never returns a mixture of two
    /// values.
    ///
    /// # Errors
    /// The real-time side has ended.
    pub fn read_bytes(&mut self) -> Result<Option<&[u8]>, Ended> {
        self.refreshed()
    }
}

impl<T: ?Sized> SharedReader<T> {
    fn introduced(socket: &Path, name: &str, items: &Items) -> Result<Self, OpenError> {
        let (line, received) = Line::open(socket, name, items, Role::ReadBlock)?;
        let layout = line.layout(items)?;
        let [peer] = files(received)?;
        let peer = ReadableWords::map(peer, layout.words())?;
        Ok(Self { line, peer, latest: LatestReader::new(layout), items: PhantomData })
    }

    fn refreshed(&mut self) -> Result<Option<&[u8]>, Ended> {
        self.latest.refresh(&self.peer);
        self.line.clear();
        let has_ended = self.line.has_ended || self.peer.load(writer::CLOSED) != 0;
        if has_ended { Err(Ended) } else { Ok(self.latest.value()) }
    }

    /// How far the sides are separated.
    pub const fn separation(&self) -> Separation {
        self.line.introduction.separation
    }
}

/// Writes the latest value for a real-time [`BlockReader`](crate::BlockReader).
#[derive(Debug)]
pub struct SharedWriter<T: ?Sized> {
    line: Line,
    latest: LatestWriter,
    items: PhantomData<fn(&T)>,
}

impl<T: Element> SharedWriter<T> {
    /// Opens the block `name` of the broker at `socket`.
    ///
    /// # Errors
    /// There is no broker, or it refuses.
    pub fn open(socket: impl AsRef<Path>, name: &str) -> Result<Self, OpenError> {
        Self::introduced(socket.as_ref(), name, &Items::of::<T>())
    }

    /// Replaces the value. Never waits.
    ///
    /// # Errors
    /// The real-time side has ended.
    pub fn write(&mut self, value: &T) -> Result<(), Ended> {
        self.replace(bytemuck::bytes_of(value))
    }
}

impl SharedWriter<[u8]> {
    /// Opens a block of a value that is known at run time.
    ///
    /// # Errors
    /// There is no broker, or it refuses.
    pub fn open_of(socket: impl AsRef<Path>, name: &str, items: &Items) -> Result<Self, OpenError> {
        Self::introduced(socket.as_ref(), name, items)
    }

    /// Replaces the value. Never waits.
    ///
    /// # Errors
    /// The real-time side has ended.
    ///
    /// # Panics
    /// The value has another size than the channel.
    pub fn write_bytes(&mut self, value: &[u8]) -> Result<(), Ended> {
        self.replace(value)
    }
}

impl<T: ?Sized> SharedWriter<T> {
    fn introduced(socket: &Path, name: &str, items: &Items) -> Result<Self, OpenError> {
        let (line, received) = Line::open(socket, name, items, Role::WriteBlock)?;
        let layout = line.layout(items)?;
        let [own] = files(received)?;
        let latest = LatestWriter::new(WritableWords::map(own, layout.words())?, layout);
        Ok(Self { line, latest, items: PhantomData })
    }

    fn replace(&mut self, value: &[u8]) -> Result<(), Ended> {
        self.line.clear();
        if self.line.has_ended {
            return Err(Ended);
        }
        self.latest.write(value);
        Ok(())
    }

    /// How far the sides are separated.
    pub const fn separation(&self) -> Separation {
        self.line.introduction.separation
    }
}
