//! Connections that wait for their server for a limited time. Those of x11rb wait for ever, e.g. if the
//! server is stopped.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tactus_sys::wait::{wait_readable, wait_readable_or_writable, wait_writable};
use x11rb::errors::ConnectError;
use x11rb::reexports::x11rb_protocol::parse_display::parse_display;
use x11rb::reexports::x11rb_protocol::xauth::get_auth;
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

/// A connection whose every wait has a limit. After one that was too long, it fails with
/// [`TimedOut`](io::ErrorKind::TimedOut). It is for requests and replies: a wait for an event has
/// the limit too.
pub type PatientConnection = RustConnection<Patient>;

/// The stream of such a connection.
#[derive(Debug)]
pub struct Patient {
    stream: DefaultStream,
    patience: Duration,
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
        let stream = Patient { stream, patience };
        let connection =
            RustConnection::connect_to_stream_with_auth_info(stream, screen, proof.0, proof.1)?;
        return Ok((connection, screen));
    }
    Err(failed)
}

impl Patient {
    /// A stream whose waits last `patience` at most.
    pub(crate) fn of(stream: UnixStream, patience: Duration) -> io::Result<Self> {
        let (stream, _) = DefaultStream::from_unix_stream(stream)?;
        Ok(Self { stream, patience })
    }
}

impl Stream for Patient {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let deadline = Instant::now() + self.patience;
        let fd = self.stream.as_fd();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let is_ready = match (mode.readable(), mode.writable()) {
                (true, true) => wait_readable_or_writable(fd, left),
                (true, false) => wait_readable(fd, left),
                (false, _) => wait_writable(fd, left),
            };
            match is_ready.map_err(io::Error::other)? {
                true => return Ok(()),
                false if left.is_zero() => return Err(io::ErrorKind::TimedOut.into()),
                // A signal ends no wait.
                false => {}
            }
        }
    }

    fn read(&self, bytes: &mut [u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
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
