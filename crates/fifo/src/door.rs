//! The thread of the broker that peers talk to.
//!
//! Each peer may be hostile. So everything it can cause has a limit: connections, bytes and time
//! of a request, connections and introductions a second, and doorbells a second. A connection that is too fast is
//! not awaited for a while.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tactus_sys::poller::{Interest, Poller, Ready};
use tactus_sys::wait::Waker;
use tactus_sys::{SysError, local_socket};

use crate::Separation;
use crate::book::Book;
use crate::channel::{Channel, PeerMemory};
use crate::guests::{Guest, Guests, PeerReport};
use crate::message::{Introduction, MESSAGE_BYTES, Refusal, Reply, Request, Role};
use crate::ration::Ration;

/// The most connections of all users, and of one.
const CONNECTIONS_MAX: usize = 128;
const CONNECTIONS_OF_USER_MAX: usize = 32;

/// How long a request may take to arrive.
const REQUEST_TIME: Duration = Duration::from_secs(2);

/// From one introduction to the next: it maps memory, which interrupts the other threads of the
/// process.
const INTRODUCTION_GAP: Duration = Duration::from_millis(5);

/// From one doorbell to the next, times the number of connections: all doorbells together take a
/// few per cent of a CPU.
const DOORBELL_GAP: Duration = Duration::from_micros(100);

/// From one connection to the next, of all users: those who may not connect also take time at the
/// broker's priority.
const ACCEPT_GAP: Duration = Duration::from_millis(1);

/// How long the broker accepts no connections after it failed to, e.g. for want of descriptors.
const FAILED_ACCEPT_GAP: Duration = Duration::from_millis(100);

const LISTENER: u64 = 0;
const STOP: u64 = 1;
/// The first connection.
const CONNECTIONS: u64 = 2;

/// A connection.
#[derive(Debug)]
struct Connection {
    stream: Arc<UnixStream>,
    user: u32,
    process: i32,
    separation: Separation,
    state: State,
    /// Until when nothing that the peer sends is awaited.
    muted: Option<Instant>,
}

/// What a connection is for.
#[derive(Debug)]
enum State {
    /// The request has not come completely.
    Requests { received: Vec<u8>, since: Instant },
    /// The peer has this channel.
    Introduced(usize),
}

/// The connection is to be closed.
#[derive(Debug)]
struct Closed;

/// Listens for peers and introduces them.
#[derive(Debug)]
pub(crate) struct Door {
    listener: UnixListener,
    /// Until when no connections are accepted.
    closed: Option<Instant>,
    poller: Poller,
    book: Book,
    channels: Vec<Channel>,
    guests: Arc<Guests>,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// Of each user that had a channel.
    rations: BTreeMap<u32, Arc<Ration>>,
    /// When the next introduction is possible.
    introduces: Instant,
}

impl Door {
    pub fn new(
        listener: UnixListener,
        stop: Arc<Waker>,
        book: Book,
        channels: Vec<Channel>,
        guests: Arc<Guests>,
    ) -> Result<Self, SysError> {
        let poller = Poller::new()?;
        poller.add(&listener, LISTENER, Interest::READ)?;
        poller.add(&*stop, STOP, Interest::READ)?;
        Ok(Self {
            listener,
            closed: None,
            poller,
            book,
            channels,
            guests,
            connections: BTreeMap::new(),
            next: CONNECTIONS,
            rations: BTreeMap::new(),
            introduces: Instant::now(),
        })
    }

    /// Serves peers until the broker ends.
    pub fn run(mut self) {
        while !self.guests.are_leaving() {
            let due = self.next_due().map(|due| due.saturating_duration_since(Instant::now()));
            // The call has no errors that another call would not have.
            let Ok(ready) = self.poller.wait(due) else { return };
            let now = Instant::now();
            for ready in ready {
                self.serve(ready, now);
            }
            self.continue_due(now);
        }
    }

    fn serve(&mut self, ready: Ready, now: Instant) {
        match ready.key {
            LISTENER => self.accept(now),
            STOP => {}
            key => {
                if self.hear(key, ready, now).is_err() {
                    self.close(key);
                }
            }
        }
    }

    /// When there is something to do without a peer.
    fn next_due(&self) -> Option<Instant> {
        let limits = self.connections.values().flat_map(|connection| {
            let request = match connection.state {
                State::Requests { since, .. } => Some(since + REQUEST_TIME),
                State::Introduced(_) => None,
            };
            [connection.muted, request]
        });
        limits.chain([self.closed]).flatten().min()
    }

    /// Listens again to those that were muted, and closes those whose time is over.
    fn continue_due(&mut self, now: Instant) {
        if self.closed.is_some_and(|until| until <= now) {
            self.closed = None;
            let _ = self.poller.change(&self.listener, LISTENER, Interest::READ);
        }
        let mut closed = Vec::new();
        for (key, connection) in &mut self.connections {
            if connection.muted.is_some_and(|until| until <= now) {
                connection.muted = None;
                // The descriptor is in the poller until the connection is closed.
                let _ = self.poller.change(&*connection.stream, *key, Interest::READ);
            }
            let is_late = |since: Instant| since + REQUEST_TIME <= now;
            match connection.state {
                State::Requests { since, .. } if is_late(since) => closed.push(*key),
                _ => {}
            }
        }
        closed.into_iter().for_each(|key| self.close(key));
    }

    fn accept(&mut self, now: Instant) {
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // A connection that cannot be accepted stays ready.
            Err(_) => return self.stop_accepting(now + FAILED_ACCEPT_GAP),
        };
        self.stop_accepting(now + ACCEPT_GAP);
        let Ok(peer) = local_socket::peer_credentials(stream.as_fd()) else { return };
        if stream.set_nonblocking(true).is_err() {
            return;
        }
        let admitted = self.book.admit(peer.user).and_then(|separation| {
            let of_user = self.connections.values().filter(|other| other.user == peer.user).count();
            if self.connections.len() >= CONNECTIONS_MAX || of_user >= CONNECTIONS_OF_USER_MAX {
                return Err(Refusal::Busy { reason: "too many connections".to_owned() });
            }
            Ok(separation)
        });
        let separation = match admitted {
            Ok(separation) => separation,
            Err(refusal) => {
                let _ = send(&stream, &Reply::Refused(refusal), &[]);
                return;
            }
        };
        let key = self.next;
        self.next += 1;
        if self.poller.add(&stream, key, Interest::READ).is_err() {
            return;
        }
        let state = State::Requests { received: Vec::new(), since: now };
        let (stream, process) = (Arc::new(stream), peer.process);
        let connection =
            Connection { stream, user: peer.user, process, separation, state, muted: None };
        self.connections.insert(key, connection);
    }

    fn stop_accepting(&mut self, until: Instant) {
        self.closed = Some(until);
        let _ = self.poller.change(&self.listener, LISTENER, Interest::default());
    }

    /// Reads what a peer sends.
    fn hear(&mut self, key: u64, ready: Ready, now: Instant) -> Result<(), Closed> {
        let gap = DOORBELL_GAP * self.connections.len().try_into().unwrap_or(u32::MAX);
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        if ready.hung_up {
            return Err(Closed);
        }
        match &mut connection.state {
            State::Introduced(channel) => {
                receive(&connection.stream, &mut Vec::new())?;
                if let PeerMemory::Writer(_, arrivals) = &self.channels[*channel].peer {
                    arrivals.send();
                }
                self.mute(key, now + gap);
            }
            State::Requests { received, .. } => {
                if now < self.introduces {
                    let until = self.introduces;
                    self.mute(key, until);
                    return Ok(());
                }
                receive(&connection.stream, received)?;
                match line(received) {
                    Ok(None) => {}
                    Ok(Some(line)) => {
                        self.introduces = now + INTRODUCTION_GAP;
                        return self.answer(key, &line);
                    }
                    Err(refusal) => {
                        let _ = send(&connection.stream, &Reply::Refused(refusal), &[]);
                        return Err(Closed);
                    }
                }
            }
        }
        Ok(())
    }

    fn mute(&mut self, key: u64, until: Instant) {
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.muted = Some(until);
            let _ = self.poller.change(&*connection.stream, key, Interest::default());
        }
    }

    /// Answers a request.
    fn answer(&mut self, key: u64, line: &[u8]) -> Result<(), Closed> {
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        // No notice comes before the reply, and none for a later item is missing.
        let mut guests = self.guests.lock();
        let introduced =
            introduce(&self.book, &mut self.channels, &guests, (key, connection.user), line);
        let (number, start, file) = match introduced {
            Ok(introduced) => introduced,
            Err(refusal) => {
                let _ = send(&connection.stream, &Reply::Refused(refusal), &[]);
                return Err(Closed);
            }
        };
        let (channel, offered) = (&self.channels[number], &self.book.channels()[number]);
        let Connection { process, user, separation, .. } = *connection;
        let introduction =
            Introduction { capacity: channel.layout.capacity, start, session: key, separation };
        // A block that a peer writes has nothing to read.
        let own = (offered.role != Role::WriteBlock).then(|| channel.file.as_fd());
        let files: Vec<_> = own.into_iter().chain(file.as_ref().map(AsFd::as_fd)).collect();
        send(&connection.stream, &Reply::Introduced(introduction), &files)?;
        connection.state = State::Introduced(number);
        let stream = Arc::clone(&connection.stream);
        let report = PeerReport { name: offered.name.clone(), process, user, separation };
        let ration = Arc::clone(self.rations.entry(user).or_default());
        guests.push(Guest { key, channel: number, stream, ration, report });
        Ok(())
    }

    fn close(&mut self, key: u64) {
        self.guests.lock().retain(|guest| guest.key != key);
        if let Some(connection) = self.connections.remove(&key) {
            let _ = self.poller.remove(&*connection.stream);
        }
    }
}

/// Finds the channel of a request, and memory for the peer. Returns the number of the
/// channel, the index of the first item, and the memory.
fn introduce(
    book: &Book,
    channels: &mut [Channel],
    guests: &[Guest],
    (key, user): (u64, u32),
    line: &[u8],
) -> Result<(usize, u64, Option<OwnedFd>), Refusal> {
    let request = Request::read(line)?;
    let number = book.find(&request)?;
    let channel = &mut channels[number];
    let is_shared = matches!(channel.peer, PeerMemory::None);
    if let Some(other) = guests.iter().find(|other| other.channel == number && !is_shared) {
        let PeerReport { process, user, .. } = other.report;
        return Err(Refusal::InUse { name: request.name, process, user });
    }
    // The number of the connection is never used again.
    let welcomed = channel.welcome(key, user);
    let (start, file) = welcomed.map_err(|error| Refusal::Busy { reason: error.to_string() })?;
    Ok((number, start, file))
}

/// Receives once, what is there, up to one byte more than a message.
fn receive(stream: &UnixStream, received: &mut Vec<u8>) -> Result<(), Closed> {
    let mut buffer = [0; MESSAGE_BYTES + 1];
    let mut reading = stream;
    match reading.read(&mut buffer[..MESSAGE_BYTES + 1 - received.len()]) {
        Ok(0) => Err(Closed),
        Ok(count) => {
            received.extend_from_slice(&buffer[..count]);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(_) => Err(Closed),
    }
}

/// The line that was received, if it is complete.
fn line(received: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let end = received.iter().position(|byte| *byte == b'\n');
    if end.is_none() && received.len() > MESSAGE_BYTES {
        let reason = format!("it is longer than {MESSAGE_BYTES} bytes");
        return Err(Refusal::Invalid { reason });
    }
    Ok(end.map(|end| received[..end].to_vec()))
}

/// Sends a message in one piece: the buffer of a connection has room for many.
fn send(stream: &UnixStream, reply: &Reply, files: &[BorrowedFd<'_>]) -> Result<(), Closed> {
    let line = tactus_wire::encode(reply, MESSAGE_BYTES).map_err(|_| Closed)?;
    match local_socket::send(stream, &line, files) {
        Ok(count) if count == line.len() => Ok(()),
        _ => Err(Closed),
    }
}
