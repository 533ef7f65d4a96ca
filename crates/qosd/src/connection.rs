//! One connection: bytes to calls, replies to bytes, and the limits of both.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use tactus_model::time::Nanos;
use tactus_qos::message::{CALL_BYTES, Call, REPLY_BYTES, Reply, cut, encode};
use tactus_qos::{Event, ReserveId};
use tactus_sys::closer::Closer;
use tactus_sys::poller::Interest;
use tactus_sys::{Errno, SysError, local_socket};

use crate::{Client, Moment};

/// How long a call may take to arrive after its first byte.
pub const CALL_TIME: Nanos = Nanos::from_secs(2);

/// How long a client may leave replies unread.
pub const REPLY_TIME: Nanos = Nanos::from_secs(10);

/// Bytes of events that a client may leave unread, beside one reply.
pub const EVENT_BYTES: usize = 64 << 10;

/// Descriptors of a user that wait to be closed; beyond it, the user can send none.
const CLOSING_MOST: usize = 16;

/// Descriptors that wait for their call.
const DESCRIPTORS_MOST: usize = 4;

/// Why a connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The client has closed it.
    #[error("the client has closed it")]
    Gone,
    /// A call is too long.
    #[error("a call has more than {CALL_BYTES} bytes")]
    TooLong,
    /// A call stays incomplete.
    #[error("a call is incomplete after {CALL_TIME}")]
    TooSlow,
    /// Replies stay unread.
    #[error("the client does not read its replies")]
    Unread,
    /// More descriptors came than calls use.
    #[error("the client sends descriptors that no call uses")]
    Descriptors,
    /// The system fails.
    #[error(transparent)]
    System(#[from] SysError),
}

/// Why a message is not a call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotACall {
    /// It is too long.
    #[error("it has more than {CALL_BYTES} bytes")]
    TooLong,
    /// It is not JSON, or not of this form.
    #[error(transparent)]
    Syntax(serde_json::Error),
}

/// What a connection is busy with; it reads no further call meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Not at all.
    Idle,
    /// A reserve has not had its first grant.
    Awaits {
        /// The reserve.
        reserve: ReserveId,
        /// Whether changes are wanted too.
        more: bool,
    },
    /// Each change of a reserve is a reply.
    Holds(ReserveId),
    /// Events are replies.
    Follows {
        /// One reserve, or all that the user may follow.
        reserve: Option<ReserveId>,
        /// From one report of the use to the next.
        every: Option<Nanos>,
    },
    /// The status is a reply every so often.
    Watches {
        /// From one to the next.
        every: Nanos,
        /// When the next is due.
        next: Moment,
    },
    /// A call waits because its user has requested too many changes.
    Deferred {
        /// The call.
        call: Box<Call>,
        /// Until when.
        until: Moment,
    },
    /// The connection closes when its last reply is sent.
    Ending,
}

/// A connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: UnixStream,
    pub client: Client,
    /// The peer's process.
    pub process: i32,
    pub busy: Busy,
    received: Vec<u8>,
    /// When the first byte of an incomplete call came.
    began: Option<Moment>,
    /// Bytes of all calls that were cut off.
    taken: u64,
    /// Each with the number of bytes that had come when it came.
    descriptors: Vec<(u64, OwnedFd)>,
    closer: Closer<OwnedFd>,
    unsent: Vec<u8>,
    /// Since when nothing of `unsent` was taken.
    stuck: Option<Moment>,
    /// What the poller awaits.
    pub awaited: Interest,
}

impl Connection {
    /// A connection; `stream` must not wait.
    pub const fn new(
        stream: UnixStream,
        client: Client,
        process: i32,
        closer: Closer<OwnedFd>,
    ) -> Self {
        Self {
            stream,
            client,
            process,
            busy: Busy::Idle,
            received: Vec::new(),
            began: None,
            taken: 0,
            descriptors: Vec::new(),
            closer,
            unsent: Vec::new(),
            stuck: None,
            awaited: Interest::READ,
        }
    }

    /// Receives once, what is there.
    ///
    /// # Errors
    /// The connection is to be closed.
    pub fn receive(&mut self, now: Moment) -> Result<(), Closed> {
        let mut buffer = [0; CALL_BYTES];
        let accepts = self.closer.waiting(self.client.user) < CLOSING_MOST;
        let received = match local_socket::receive(&self.stream, &mut buffer, accepts) {
            Err(error) if error.errno == Errno::AGAIN => return Ok(()),
            Err(error) if error.errno == Errno::CONNRESET => return Err(Closed::Gone),
            received => received?,
        };
        if received.count == 0 {
            return Err(Closed::Gone);
        }
        self.received.extend_from_slice(&buffer[..received.count]);
        let come = self.taken + self.received.len() as u64;
        self.descriptors.extend(received.descriptors.into_iter().map(|fd| (come, fd)));
        if received.lost_descriptors || self.descriptors.len() > DESCRIPTORS_MOST {
            return Err(Closed::Descriptors);
        }
        self.began.get_or_insert(now);
        if !self.has_call() && self.received.len() > CALL_BYTES {
            return Err(Closed::TooLong);
        }
        Ok(())
    }

    /// Whether a whole call was received.
    pub fn has_call(&self) -> bool {
        self.received.contains(&0)
    }

    /// The next call, if a whole one was received; or why it is none.
    pub fn next_call(&mut self, now: Moment) -> Option<Result<Call, NotACall>> {
        let message = cut(&mut self.received)?;
        // With its NUL.
        self.taken += message.len() as u64 + 1;
        if self.received.is_empty() {
            // Nothing is kept for the time of silence.
            (self.received, self.began) = (Vec::new(), None);
        } else {
            self.began = Some(now);
        }
        if message.len() > CALL_BYTES {
            return Some(Err(NotACall::TooLong));
        }
        Some(serde_json::from_slice(&message).map_err(NotACall::Syntax))
    }

    /// Closes the descriptors that came with the calls so far: what a call does not use is nobody's.
    pub fn finish_call(&mut self) {
        let taken = self.taken;
        for (_, descriptor) in self.descriptors.extract_if(.., |(come, _)| *come <= taken) {
            self.closer.close(self.client.user, descriptor);
        }
    }

    /// Takes the descriptor with this index.
    pub fn take_descriptor(&mut self, index: usize) -> Option<OwnedFd> {
        (index < self.descriptors.len()).then(|| self.descriptors.remove(index).1)
    }

    /// Closes what the client sent in the place of a pidfd.
    pub fn discard(&self, descriptor: OwnedFd) {
        self.closer.close(self.client.user, descriptor);
    }

    /// Whether it can take a call.
    pub fn is_ready(&self) -> bool {
        self.busy == Busy::Idle && self.unsent.is_empty()
    }

    /// Sends a reply, now or when the client reads.
    ///
    /// # Errors
    /// The connection is to be closed.
    pub fn reply(&mut self, reply: &Reply, now: Moment) -> Result<(), Closed> {
        let bytes = encode(reply);
        let is_event = reply.continues && !self.unsent.is_empty();
        if bytes.len() > REPLY_BYTES || (is_event && self.unsent.len() > EVENT_BYTES) {
            return Err(Closed::Unread);
        }
        self.unsent.extend_from_slice(&bytes);
        self.flush(now)
    }

    /// Sends what the client takes.
    ///
    /// # Errors
    /// The connection is to be closed.
    pub fn flush(&mut self, now: Moment) -> Result<(), Closed> {
        while !self.unsent.is_empty() {
            match local_socket::send(&self.stream, &self.unsent, &[]) {
                Ok(count) => {
                    self.unsent.drain(..count);
                    self.stuck = None;
                }
                Err(error) if error.errno == Errno::AGAIN => {
                    self.stuck.get_or_insert(now);
                    return Ok(());
                }
                Err(error) if matches!(error.errno, Errno::PIPE | Errno::CONNRESET) => {
                    return Err(Closed::Gone);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.unsent = Vec::new();
        match self.busy {
            Busy::Ending => Err(Closed::Gone),
            _ => Ok(()),
        }
    }

    /// What it waits for.
    pub fn interest(&self) -> Interest {
        Interest { read: self.is_ready() && !self.has_call(), write: !self.unsent.is_empty() }
    }

    /// When it has something to do without the client: it is overdue, or a status is due.
    pub fn next_due(&self) -> Option<Moment> {
        let call = self.began.filter(|_| self.is_ready() && !self.has_call());
        let limits = [call.map(|began| began + CALL_TIME), self.stuck.map(|at| at + REPLY_TIME)];
        let own = match self.busy {
            Busy::Watches { next, .. } if self.unsent.is_empty() => Some(next),
            Busy::Deferred { until, .. } => Some(until),
            _ => None,
        };
        limits.into_iter().flatten().chain(own).min()
    }

    /// Checks the limits on time.
    ///
    /// # Errors
    /// A call is incomplete, or replies are unread, for too long.
    pub fn check_time(&self, now: Moment) -> Result<(), Closed> {
        if self.stuck.is_some_and(|stuck| now >= stuck + REPLY_TIME) {
            return Err(Closed::Unread);
        }
        let is_incomplete = self.is_ready() && !self.has_call();
        if is_incomplete && self.began.is_some_and(|began| now >= began + CALL_TIME) {
            return Err(Closed::TooSlow);
        }
        Ok(())
    }

    /// Whether an event of a reserve of `user` is for this connection.
    pub fn follows(&self, event: &Event, user: u32) -> bool {
        let Busy::Follows { reserve, every } = self.busy else { return false };
        let is_wanted = match event {
            Event::Used(_) => every.is_some(),
            _ => true,
        };
        let may = self.client.user == 0 || self.client.user == user;
        is_wanted && may && reserve.is_none_or(|reserve| reserve == event.reserve())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.taken = u64::MAX;
        self.finish_call();
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
