//! Changing the capacity of a running program from another process.
//!
//! The process that supervises it listens at a Unix socket in the abstract namespace, whose name
//! contains the process ID of the program. Both ends check who is at the other.

use std::io::{BufReader, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tactus_model::reserve::Capacity;
use tactus_sys::local_socket::peer_credentials;
use tactus_sys::process::effective_user;
use tactus_wire::{MessageReader, MessageWriter, WireError};

use super::Signal;

/// The longest message, in bytes.
const MESSAGE: usize = 64 << 10;

/// The longest wait for a message of the other end. A change of several full threads waits a
/// period for each.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest wait for the message of a client.
const CLIENT_PATIENCE: Duration = Duration::from_secs(1);

/// Another capacity for threads of a running program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The name by which the threads got their capacity; `None` if all have the same.
    pub thread: Option<String>,
    /// The new capacity.
    pub capacity: Capacity,
}

/// The reply to a [`Change`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    Changed,
    Refused(String),
    /// The program runs under the reserve of another user.
    OtherUser,
}

/// Why a capacity was not changed.
#[derive(Debug, thiserror::Error)]
pub enum NotAdjusted {
    /// The process does not run under `tactus reserve`.
    #[error("process {0} does not run under `tactus reserve`")]
    NotReserved(u32),
    /// The reserve belongs to another user.
    #[error(
        "the reserve of process {0} belongs to another user, who alone may change it, and root"
    )]
    OtherUser(u32),
    /// The capacity is refused; the program keeps what it has.
    #[error("{0}; the program keeps its capacity")]
    Refused(String),
    /// The exchange failed.
    #[error("no reply from the supervisor of the process: {0}")]
    Wire(#[from] WireError),
}

fn address(process: u32) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("tactus-reserve-{process}"))
}

/// Changes a capacity of the program with this process ID, which runs under a reserve of this
/// user; root may change any.
///
/// # Errors
/// There is no such program, it is another user's, or the change is refused.
pub fn adjust(process: u32, change: &Change) -> Result<(), NotAdjusted> {
    let connect = || UnixStream::connect_addr(&address(process)?);
    let stream = connect().map_err(|_| NotAdjusted::NotReserved(process))?;
    let user = peer_credentials(stream.as_fd()).map(|peer| peer.user).ok();
    // Any user may take the name of a socket that does not exist.
    if user.is_none_or(|user| user != 0 && user != effective_user() && effective_user() != 0) {
        return Err(NotAdjusted::OtherUser(process));
    }
    let exchange = || -> Result<Reply, WireError> {
        stream.set_read_timeout(Some(PATIENCE))?;
        // Another user's supervisor replies and hangs up without reading.
        let written = MessageWriter::new(&stream, MESSAGE).write(change);
        let reply = MessageReader::new(BufReader::new(&stream), MESSAGE).read();
        if reply.is_err() {
            written?;
        }
        reply
    };
    match exchange()? {
        Reply::Changed => Ok(()),
        Reply::Refused(reason) => Err(NotAdjusted::Refused(reason)),
        Reply::OtherUser => Err(NotAdjusted::OtherUser(process)),
    }
}

/// Listens for changes. Dropping it lets no more in.
pub(super) struct Door {
    process: u32,
    is_closed: Arc<AtomicBool>,
}

impl Door {
    /// Listens in a thread of its own; `None` if the name is taken or there are no more threads.
    pub(super) fn open(process: u32, signals: Sender<Signal>) -> Option<Self> {
        let listener = UnixListener::bind_addr(&address(process).ok()?).ok()?;
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let listen = move || {
            for stream in listener.incoming().flatten() {
                if closed.load(Ordering::Acquire) || serve(&stream, &signals).is_none() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("tactus-door".to_owned()).spawn(listen).ok()?;
        Some(Self { process, is_closed })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Release);
        // A connection without a message wakes the thread.
        let _ = address(self.process).and_then(|address| UnixStream::connect_addr(&address));
    }
}

/// Serves one client; `None` once the supervisor is gone. One client at a time, each for a limited
/// time, so that nobody keeps the others out for long.
fn serve(stream: &UnixStream, signals: &Sender<Signal>) -> Option<()> {
    let user = peer_credentials(stream.as_fd()).map(|peer| peer.user).ok();
    let _ = stream.set_write_timeout(Some(CLIENT_PATIENCE));
    let reply = match user.is_some_and(|user| user == 0 || user == effective_user()) {
        true => answer(stream, signals)?,
        false => Some(Reply::OtherUser),
    };
    // A client that is gone needs no reply.
    let _ = reply.map(|reply| MessageWriter::new(stream, MESSAGE).write(&reply));
    Some(())
}

/// What a client sends within [`CLIENT_PATIENCE`], however it divides it.
struct Prompt<'s> {
    stream: &'s UnixStream,
    until: Instant,
}

impl Read for Prompt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

/// The reply to a client of this user; none to one that sends nothing.
fn answer(stream: &UnixStream, signals: &Sender<Signal>) -> Option<Option<Reply>> {
    let prompt = Prompt { stream, until: Instant::now() + CLIENT_PATIENCE };
    Some(match MessageReader::new(BufReader::new(prompt), MESSAGE).read::<Change>() {
        Ok(change) => {
            let (sender, replies) = channel();
            signals.send(Signal::Change(change, sender)).ok()?;
            Some(match replies.recv().ok()? {
                Ok(()) => Reply::Changed,
                Err(reason) => Reply::Refused(reason),
            })
        }
        Err(WireError::Closed) => None,
        Err(error) => Some(Reply::Refused(error.to_string())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(capacity: &str) -> Change {
        Change { thread: None, capacity: capacity.parse().unwrap() }
    }

    #[test]
    fn a_process_without_a_reserve_is_named() {
        let refused = adjust(u32::MAX, &change("1ms/10ms")).unwrap_err();
        let text = "process 4294967295 does not run under `tactus reserve`";
        assert_eq!(refused.to_string(), text);
    }

    #[test]
    fn a_client_that_sends_byte_by_byte_does_not_keep_others_out() {
        let (signals, requests) = channel();
        let process = 0xE000_0000 + std::process::id();
        let _door = Door::open(process, signals).unwrap();
        let mut slow = UnixStream::connect_addr(&address(process).unwrap()).unwrap();
        let trickle = std::thread::spawn(move || {
            use std::io::Write as _;
            // Until the door closes the connection.
            while slow.write_all(b" ").is_ok() {
                std::thread::sleep(CLIENT_PATIENCE / 10);
            }
        });
        let client = std::thread::spawn(move || adjust(process, &change("1ms/10ms")));
        let Ok(Signal::Change(_, reply)) = requests.recv() else { panic!() };
        reply.send(Ok(())).unwrap();
        client.join().unwrap().unwrap();
        trickle.join().unwrap();
    }

    #[test]
    fn a_request_reaches_the_supervisor_and_its_reply_the_client() {
        let (signals, requests) = channel();
        let process = 0xF000_0000 + std::process::id();
        let door = Door::open(process, signals).unwrap();
        let client = std::thread::spawn(move || {
            let of = |text: &str| adjust(process, &change(text));
            (of("1ms/10ms"), of("9ms/10ms").map_err(|refused| refused.to_string()))
        });
        for answer in [Ok(()), Err("too much".to_owned())] {
            let Ok(Signal::Change(_, reply)) = requests.recv() else { panic!() };
            reply.send(answer).unwrap();
        }
        let (first, second) = client.join().unwrap();
        first.unwrap();
        assert_eq!(second, Err("too much; the program keeps its capacity".to_owned()));
        // A client that sends something else is refused and keeps nobody out.
        let stream = UnixStream::connect_addr(&address(process).unwrap()).unwrap();
        MessageWriter::new(&stream, MESSAGE).write(&"everything").unwrap();
        let reply = MessageReader::new(BufReader::new(&stream), MESSAGE).read::<Reply>();
        assert!(matches!(reply, Ok(Reply::Refused(_))), "{reply:?}");
        drop(door);
        // The thread closes the socket as soon as it is woken.
        let until = std::time::Instant::now() + PATIENCE;
        while UnixStream::connect_addr(&address(process).unwrap()).is_ok() {
            assert!(std::time::Instant::now() < until, "the door stays open");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
