//! What the delivery of messages needs besides its loop: the line, the receiver, the client.

use std::fs::File;
use std::thread;
use std::time::{Duration, Instant as StdInstant};

use tactus_delivery::item::Moment;
use tactus_model::cpus::CpuList;
use tactus_model::midi::{MidiProbe, Via};
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::result::Shortfall;
use tactus_model::time::{Clock, Monotonic, Nanos};
use tactus_sys::pty::Pty;
use tactus_sys::sleep::Sleeper;
use tactus_sys::{Errno, SysError, clock};

use super::client::HandedOver;
use super::judge::judged;
use super::library::Library;
use super::receiver::Receiver;
use super::server::Server;
use super::{END, Messages, MidiError, OVERTIME, REHEARSAL};
use crate::apparatus::{Destination, Measured};
use crate::schedule::Schedule;

/// How long the first byte may take on a busy machine.
const FIRST_ARRIVAL_MAX: Duration = Duration::from_secs(30);

/// The line that the messages of one delivery take, with its receiver and who delivers.
pub(crate) struct Port {
    window: Nanos,
    messages: Option<Messages>,
    is_evaluated: bool,
    ended: Moment,
    // In this order: the end of the line ends the receiver.
    deliverer: Deliverer,
    receiver: Receiver,
}

/// Who keeps messages until their time.
enum Deliverer {
    Library(Box<Library>),
    Server(Box<Server>),
}

impl Port {
    /// Makes the line and starts the receiver, and the client of a library, or the server with this
    /// policy on these CPUs. Returns what was not granted.
    ///
    /// # Errors
    /// There is no pseudo-terminal, nothing comes out of it, or the server does not start.
    pub(crate) fn open(
        midi: &MidiProbe,
        window: Nanos,
        scheduling: Scheduling,
        cpus: &CpuList,
    ) -> Result<(Self, Option<Shortfall>), MidiError> {
        let (mut deliverer, line) = Deliverer::open(midi, scheduling, cpus)?;
        let receiver = Receiver::start(line)?;
        let shortfall = receiver.schedule()?;
        rehearse(&mut deliverer, &receiver)?;
        let ended = Moment::from_nanos(0);
        let port = Self { window, messages: None, is_evaluated: false, ended, deliverer, receiver };
        Ok((port, shortfall))
    }

    /// Announces a window that opens at `start`, with messages by `schedule`. The receiver keeps its
    /// samples in `kept`.
    pub(crate) fn begin(&mut self, start: u64, schedule: Schedule, kept: Destination) {
        let start = Moment::from_nanos(start);
        let messages = Messages { start, schedule, until: start + self.window + OVERTIME };
        self.is_evaluated = matches!(kept, Destination::Memory(_));
        self.receiver.begin(messages.clone(), kept);
        match &mut self.deliverer {
            Deliverer::Library(library) => library.begin(messages.clone(), self.is_evaluated),
            Deliverer::Server(server) => server.begin(messages.clone(), self.is_evaluated),
        }
        self.messages = Some(messages);
    }

    /// The thread in which samples end.
    pub(crate) const fn receiver(&self) -> ThreadId {
        self.receiver.thread()
    }

    /// Whether a server writes the messages, not the measured thread.
    pub(crate) const fn is_of_server(&self) -> bool {
        matches!(self.deliverer, Deliverer::Server(_))
    }

    /// Delivers the messages of the window.
    ///
    /// # Errors
    /// Those of the sleeper, the line and the server.
    pub(crate) fn deliver<C: Clock>(
        &mut self,
        sleeper: &mut impl Sleeper<C>,
    ) -> Result<(), MidiError> {
        match (&mut self.deliverer, &self.messages) {
            (Deliverer::Library(library), Some(messages)) => {
                library.deliver(sleeper, messages.until)?;
            }
            (Deliverer::Server(server), _) => server.deliver(sleeper)?,
            (Deliverer::Library(_), None) => {}
        }
        self.ended = clock::now::<Monotonic>();
        Ok(())
    }

    /// The samples of the window, and what else its messages showed; `None` if a viewer has them.
    ///
    /// # Errors
    /// Those of the line and the server.
    pub(crate) fn received(mut self) -> Result<Option<Measured>, MidiError> {
        self.deliverer.write(END)?;
        let stamped_by = (!self.is_of_server()).then(|| self.receiver());
        let received = self.receiver.end();
        let handed_over = self.deliverer.end();
        let evaluated = self.messages.filter(|_| self.is_evaluated);
        Ok(evaluated.map(|messages| {
            let (taken, found) = judged(&messages, received, &handed_over, stamped_by, self.ended);
            Measured { messages: Some(found), ..taken.into() }
        }))
    }
}

impl Deliverer {
    /// Starts it, and returns the other end of its line too.
    fn open(
        midi: &MidiProbe,
        scheduling: Scheduling,
        cpus: &CpuList,
    ) -> Result<(Self, File), MidiError> {
        match midi.via {
            Via::Library => {
                let pty = Pty::open()?;
                pty.make_raw()?;
                Ok((Self::Library(Box::new(Library::start(pty.terminal, midi)?)), pty.line))
            }
            Via::Server => {
                let (server, line) = Server::start(midi, scheduling, cpus)?;
                Ok((Self::Server(Box::new(server)), line))
            }
        }
    }

    /// Writes a byte that is no message.
    fn write(&mut self, byte: u8) -> Result<(), MidiError> {
        match self {
            Self::Library(library) => Ok(library.write(byte)?),
            Self::Server(server) => server.write(byte),
        }
    }

    fn end(self) -> HandedOver {
        match self {
            Self::Library(library) => library.end(),
            Self::Server(server) => server.end(),
        }
    }
}

/// Writes until something arrives: the code of both ends is then in memory.
fn rehearse(deliverer: &mut Deliverer, receiver: &Receiver) -> Result<(), MidiError> {
    let begun = StdInstant::now();
    while !receiver.is_rehearsed() {
        if begun.elapsed() > FIRST_ARRIVAL_MAX {
            return Err(SysError::new("read", Errno::TIMEDOUT).into());
        }
        deliverer.write(REHEARSAL)?;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
