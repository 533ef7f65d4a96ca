//! A client of an input.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use tactus_midi::{Heard, Kinds};
use tactus_sys::wait::wait_readable;

use crate::client::Line;
use crate::error::{ConnectError, Ended, RequestError};
use crate::heard::{self, PACKET_BYTES};
use crate::message::{Reply, Request, VERSION};

/// How long one wait lasts if there is no timeout.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Listens to a MIDI input of the server.
///
/// Each listener has a queue in the kernel, of a few hundred short messages. A full queue loses
/// messages of this listener only, and [`Heard::lost`] says how many; the ends of notes are not
/// lost, they come later. A program that needs short messages at once and long ones when it has time
/// opens two listeners, one for [`Kinds::NORMAL`] and one for system exclusive messages: the `get`
/// and `getx` of 1993.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tactus_stream::{Kinds, Listener, SOCKET};
///
/// let mut keys = Listener::connect(SOCKET, "keys", Kinds::NORMAL)?;
/// while let Some(heard) = keys.message(Some(Duration::from_secs(10)))? {
///     println!("{} at {}", heard.message, heard.began.as_nanos());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Listener {
    line: Line,
    packet: Vec<u8>,
}

impl Listener {
    /// Connects to an input of the server at `socket`, for messages of these kinds.
    ///
    /// # Errors
    /// Nobody listens there, or the server has no such input.
    pub fn connect(
        socket: impl AsRef<Path>,
        input: &str,
        kinds: Kinds,
    ) -> Result<Self, ConnectError> {
        let mut line = Line::connect(socket.as_ref())?;
        let input = input.to_owned();
        match line.request(&Request::Listen { version: VERSION, input, kinds: kinds.bits() })? {
            Reply::Done => Ok(Self { line, packet: vec![0; PACKET_BYTES] }),
            _ => Err(RequestError::Protocol("its reply is for another request".to_owned()).into()),
        }
    }

    /// Takes the next message. Waits for at most `timeout`, or for as long as it takes;
    /// [`Duration::ZERO`] does not wait.
    ///
    /// # Errors
    /// The server has ended the connection. Notes that sound have no end.
    pub fn message(&mut self, timeout: Option<Duration>) -> Result<Option<Heard>, Ended> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(count) = self.line.receive(&mut self.packet) {
                match heard::read(&self.packet[..count]) {
                    Some(heard) => return Ok(Some(heard)),
                    None => continue,
                }
            }
            self.line.check()?;
            let left = end.map_or(PATIENCE, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            // It fails only without memory; then this asks again.
            let _ = wait_readable(self.as_fd(), left);
        }
    }
}

/// It can be read when messages may have come, or the connection has ended.
impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}
