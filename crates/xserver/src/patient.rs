//! Connections that wait for their server for a limited time. Those of x11rb wait for ever, e.g. if the
//! server is stopped.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tactus_sys::wait::{wait_readable, wait_readable_or_writable, wait_writable};
use x11rb::errors::{ConnectError, ConnectionError, ReplyOrIdError};
use x11rb::reexports::x11rb_protocol::parse_display::parse_display;
use x11rb::reexports::x11rb_protocol::xauth::get_auth;
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

/// A connection whose every wait has a limit. After one that was too long, it fails with
/// [`TimedOut`](io::ErrorKind::TimedOut). It is for requests and replies: a wait for an event has
/// the limit too, so who waits for a person waits for its [descriptor](AsFd) and polls then.
pub type PatientConnection = RustConnection<Patient>;

/// How long a display may take to answer.
pub const ANSWER_MOST: Duration = Duration::from_secs(5);

/// The stream of such a connection.
#[derive(Debug)]
pub struct Patient {
    stream: DefaultStream,
    patience: Duration,
    is_cut: Arc<AtomicBool>,
}

/// Ends the waits of a connection, from any thread: they then fail as after a wait that was too long.
/// Nothing more can be sent.
#[derive(Debug)]
pub struct HangUp {
    /// Another descriptor of the connection. Shutting it down is the same call for TCP.
    socket: UnixStream,
    is_cut: Arc<AtomicBool>,
}

impl HangUp {
    /// What ends the waits of this connection.
    ///
    /// # Errors
    /// Too many files are open.
    pub fn of(connection: &PatientConnection) -> io::Result<Self> {
        let Patient { stream, is_cut, .. } = connection.stream();
        let socket = UnixStream::from(stream.as_fd().try_clone_to_owned()?);
        Ok(Self { socket, is_cut: Arc::clone(is_cut) })
    }

    /// Ends the waits, present and later ones.
    pub fn hang_up(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
        // A server that has ended has hung up.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Whether a request failed because the server did not answer in time.
pub fn is_silence(error: &ReplyOrIdError) -> bool {
    match error {
        ReplyOrIdError::ConnectionError(ConnectionError::IoError(error)) => is_timeout(error),
        _ => false,
    }
}

/// Whether connecting failed because the server did not answer in time.
pub fn is_silence_at_first(error: &ConnectError) -> bool {
    matches!(error, ConnectError::IoError(error) if is_timeout(error))
}

fn is_timeout(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}

/// Connects to a display, that of DISPLAY by default. Returns the number of its screen too.
///
/// # Errors
/// There is none, it refuses us, or does not answer within `patience`.
pub fn connect(
    name: Option<&str>,
    patience: Duration,
) -> Result<(PatientConnection, usize), ConnectError> {
    let parsed = parse_display(name)?;
    let screen = usize::from(parsed.screen);
    let mut failed = ConnectError::from(io::Error::from(io::ErrorKind::NotFound));
    for address in parsed.connect_instruction() {
        let (stream, (family, host)) = match DefaultStream::connect(&address) {
            Ok(connected) => connected,
            Err(error) => {
                failed = error.into();
                continue;
            }
        };
        // A server may demand no proof.
        let proof = get_auth(family, &host, parsed.display).ok().flatten().unwrap_or_default();
        let connection = connect_by(stream, screen, proof, patience)?;
        return Ok((connection, screen));
    }
    Err(failed)
}

/// Connects by a stream that is open; `proof` is what shows that we may, a name and data.
///
/// # Errors
/// The server refuses us, or does not answer within `patience`.
pub fn connect_by(
    stream: DefaultStream,
    screen: usize,
    proof: (Vec<u8>, Vec<u8>),
    patience: Duration,
) -> Result<PatientConnection, ConnectError> {
    let stream = Patient { stream, patience, is_cut: Arc::default() };
    RustConnection::connect_to_stream_with_auth_info(stream, screen, proof.0, proof.1)
}

impl Patient {
    /// How long its waits may last.
    pub const fn patience(&self) -> Duration {
        self.patience
    }

    /// Fails after the end of waiting.
    fn look(&self) -> io::Result<()> {
        match self.is_cut.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }
}

impl AsFd for Patient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Stream for Patient {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let deadline = Instant::now() + self.patience;
        let fd = self.stream.as_fd();
        loop {
            self.look()?;
            let left = deadline.saturating_duration_since(Instant::now());
            let is_ready = match (mode.readable(), mode.writable()) {
                (true, true) => wait_readable_or_writable(fd, left),
                (true, false) => wait_readable(fd, left),
                (false, _) => wait_writable(fd, left),
            };
            match is_ready.map_err(io::Error::other)? {
                true => return self.look(),
                false if left.is_zero() => return Err(io::ErrorKind::TimedOut.into()),
                // A signal ends no wait.
                false => {}
            }
        }
    }

    fn read(&self, bytes: &mut [u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.look()?;
        self.stream.read(bytes, fds)
    }

    fn write(&self, bytes: &[u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.write(bytes, fds)
    }

    fn write_vectored(
        &self,
        bytes: &[IoSlice<'_>],
        fds: &mut Vec<RawFdContainer>,
    ) -> io::Result<usize> {
        self.stream.write_vectored(bytes, fds)
    }
}
