//! A blocking client.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tactus_model::time::Nanos;
use tactus_sys::pidfd::PidFd;
use tactus_sys::{SysError, local_socket, thread};

use crate::message::{
    Call, ChangeCall, FitCall, FollowCall, FollowReply, GrantReply, INTERFACE, REPLY_BYTES, Reason,
    ReleaseCall, Reply, ReserveCall, StatusCall, cut, encode, parameters,
};
use crate::{Event, Fit, Grant, Need, Refusal, ReserveId, Status};

/// The socket of the manager of this machine.
pub const SOCKET: &str = "/run/tactus/qos.sock";

/// A connection to the manager. Its reserves end with it.
///
/// ```no_run
/// use tactus_model::time::Nanos;
/// use tactus_qos::{Connection, Need, SOCKET};
///
/// # fn main() -> Result<(), tactus_qos::NotAnswered> {
/// let mut manager = Connection::open(SOCKET.as_ref())?;
/// let need = Need::new(Nanos::from_millis(10), Nanos::from_millis(2));
/// let grant = manager.reserve_this_thread(need)?;
/// println!("{} in every {}: {}", grant.cost, grant.period, grant.promise);
/// // The periodic work, for as long as `manager` lives.
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    received: Vec<u8>,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum NotAnswered {
    /// The need does not fit, or the kernel refuses it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another error of the manager.
    #[error("{reason}")]
    Error {
        /// Its name with its interface.
        name: String,
        /// The reason, as a sentence.
        reason: String,
    },
    /// The connection fails, or there is no manager.
    #[error("cannot reach the QoS manager: {0}")]
    Connection(io::Error),
    /// This thread has no descriptor.
    #[error("cannot open a pidfd of the calling thread: {0}")]
    Thread(SysError),
    /// The peer speaks another protocol.
    #[error("the peer is not a QoS manager of this version: {0}")]
    Protocol(String),
}

/// Its text has the cause, so the cause is no source of it.
impl From<io::Error> for NotAnswered {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl Connection {
    /// Connects to the manager at `socket`, usually [`SOCKET`].
    ///
    /// # Errors
    /// There is no manager, or this user may not connect.
    pub fn open(socket: &Path) -> Result<Self, NotAnswered> {
        Ok(UnixStream::connect(socket)?.into())
    }

    /// Reserves CPU time for the calling thread. Waits until the time is there.
    ///
    /// # Errors
    /// The need does not fit, or the kernel is older than 6.9 and this is not the first thread of
    /// its process.
    pub fn reserve_this_thread(&mut self, need: Need) -> Result<Grant, NotAnswered> {
        let thread = PidFd::of_thread(thread::current_id());
        // Linux before 6.9 has descriptors of processes only: of their first threads.
        let is_first = thread::current_id().0.cast_unsigned() == std::process::id();
        let thread = match thread {
            Err(_) if is_first => PidFd::of_process(std::process::id()),
            opened => opened,
        };
        self.reserve(thread.map_err(NotAnswered::Thread)?.as_fd(), need)
    }

    /// Reserves CPU time for the thread of a pidfd, e.g. of a
    /// [`PidFd`]. Waits until the time is there.
    ///
    /// # Errors
    /// The need does not fit, or the thread is not this user's.
    pub fn reserve(&mut self, thread: BorrowedFd<'_>, need: Need) -> Result<Grant, NotAnswered> {
        let call = ReserveCall { need, descriptor: Some(0), thread: None };
        self.send("Reserve", &call, false, Some(thread))?;
        let reply: GrantReply = self.receive()?;
        reply.grant.ok_or_else(|| NotAnswered::Protocol("a reply without a grant".to_owned()))
    }

    /// Changes a reserve of this user, of this connection or another. Returns the present grant;
    /// more can follow when others have returned it.
    ///
    /// # Errors
    /// The need does not fit, and the reserve keeps what it has; or it is not this user's.
    pub fn change(&mut self, reserve: ReserveId, need: Need) -> Result<Option<Grant>, NotAnswered> {
        self.send("Change", &ChangeCall { reserve, need }, false, None)?;
        self.receive().map(|reply: GrantReply| reply.grant)
    }

    /// Ends a reserve of this user.
    ///
    /// # Errors
    /// The reserve is not this user's.
    pub fn release(&mut self, reserve: ReserveId) -> Result<(), NotAnswered> {
        self.send("Release", &ReleaseCall { reserve }, false, None)?;
        self.receive().map(|_: Value| ())
    }

    /// The largest minimum that would be admitted now.
    ///
    /// # Errors
    /// The period and the deadline are impossible.
    pub fn fit(&mut self, period: Nanos, deadline: Option<Nanos>) -> Result<Fit, NotAnswered> {
        self.send("Fit", &FitCall { period, deadline }, false, None)?;
        self.receive()
    }

    /// Who has what.
    ///
    /// # Errors
    /// The connection fails.
    pub fn status(&mut self) -> Result<Status, NotAnswered> {
        self.send("Status", &StatusCall::default(), false, None)?;
        self.receive()
    }

    /// Who has what, again every so often.
    ///
    /// # Errors
    /// The connection fails.
    pub fn watch_status(mut self, every: Nanos) -> Result<Replies<Status>, NotAnswered> {
        self.send("Status", &StatusCall { every: Some(every) }, true, None)?;
        Ok(Replies::of(self))
    }

    /// What happens to one reserve of this user, or to all; with their use of CPU time if
    /// `every` is given.
    ///
    /// # Errors
    /// The connection fails.
    pub fn follow(
        mut self,
        reserve: Option<ReserveId>,
        every: Option<Nanos>,
    ) -> Result<impl Iterator<Item = Result<Event, NotAnswered>>, NotAnswered> {
        self.send("Follow", &FollowCall { reserve, every }, true, None)?;
        let replies: Replies<FollowReply> = Replies::of(self);
        Ok(replies.map(|reply| reply.map(|reply| reply.event)))
    }

    /// Sends a call.
    fn send(
        &mut self,
        method: &str,
        parameters: &impl Serialize,
        more: bool,
        descriptor: Option<BorrowedFd<'_>>,
    ) -> Result<(), NotAnswered> {
        let parameters = serde_json::to_value(parameters).map_err(protocol)?;
        let method = format!("{INTERFACE}.{method}");
        let call = Call { method, parameters, more, oneway: false, upgrade: false };
        let bytes = encode(&call);
        // A descriptor comes with the first bytes.
        let descriptors = descriptor.as_slice();
        let mut sent = local_socket::send(&self.stream, &bytes, descriptors).map_err(connection)?;
        while sent < bytes.len() {
            sent += local_socket::send(&self.stream, &bytes[sent..], &[]).map_err(connection)?;
        }
        Ok(())
    }

    /// Receives the next reply.
    fn receive<T: DeserializeOwned>(&mut self) -> Result<T, NotAnswered> {
        self.receive_one().map(|(reply, _)| reply)
    }

    /// Receives a reply, and whether more follow.
    fn receive_one<T: DeserializeOwned>(&mut self) -> Result<(T, bool), NotAnswered> {
        let message = loop {
            if let Some(message) = cut(&mut self.received) {
                break message;
            }
            self.fill()?;
        };
        let reply: Reply = serde_json::from_slice(&message).map_err(protocol)?;
        match reply.error {
            Some(name) => Err(error(name, reply.parameters)),
            None => Ok((parameters(reply.parameters).map_err(protocol)?, reply.continues)),
        }
    }

    fn fill(&mut self) -> Result<(), NotAnswered> {
        if self.received.len() > REPLY_BYTES {
            return Err(NotAnswered::Protocol(format!("a reply of more than {REPLY_BYTES} bytes")));
        }
        let mut buffer = [0; 16 << 10];
        let received = local_socket::receive(&self.stream, &mut buffer, false);
        let count = received.map_err(connection)?.count;
        if count == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.received.extend_from_slice(&buffer[..count]);
        Ok(())
    }
}

impl From<UnixStream> for Connection {
    fn from(stream: UnixStream) -> Self {
        Self { stream, received: Vec::new() }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Replies to one call, until the manager ends them.
#[derive(Debug)]
pub struct Replies<T> {
    /// `None` after the last reply.
    connection: Option<Connection>,
    of: std::marker::PhantomData<T>,
}

impl<T> Replies<T> {
    const fn of(connection: Connection) -> Self {
        Self { connection: Some(connection), of: std::marker::PhantomData }
    }
}

impl<T: DeserializeOwned> Iterator for Replies<T> {
    type Item = Result<T, NotAnswered>;

    fn next(&mut self) -> Option<Self::Item> {
        let received = self.connection.as_mut()?.receive_one();
        if !matches!(received, Ok((_, true))) {
            self.connection = None;
        }
        Some(received.map(|(reply, _)| reply))
    }
}

fn connection(error: SysError) -> NotAnswered {
    io::Error::from(error.errno).into()
}

fn protocol(error: serde_json::Error) -> NotAnswered {
    NotAnswered::Protocol(error.to_string())
}

fn error(name: String, parameters: Value) -> NotAnswered {
    if name == format!("{INTERFACE}.Refused")
        && let Ok(refusal) = serde_json::from_value::<Refusal>(parameters.clone())
    {
        return refusal.into();
    }
    let reason = serde_json::from_value::<Reason>(parameters.clone())
        .map_or_else(|_| format!("{name} {parameters}"), |reason| reason.reason);
    NotAnswered::Error { name, reason }
}
