//! What the output thread needs besides its loop: the line, the receiver, the client.

use std::thread;
use std::time::{Duration, Instant as StdInstant};

use tactus_delivery::item::Moment;
use tactus_model::midi::MidiProbe;
use tactus_model::result::{MessageFindings, Shortfall};
use tactus_model::time::{Clock, Monotonic, Nanos};
use tactus_sys::pty::Pty;
use tactus_sys::sleep::Sleeper;
use tactus_sys::{Errno, SysError, clock};

use super::judge::judged;
use super::library::Library;
use super::receiver::Receiver;
use super::{END, Messages, OVERTIME, REHEARSAL};
use crate::schedule::Schedule;
use crate::task::Destination;
use crate::timer::TakenSamples;

/// How long the first byte may take on a busy machine.
const FIRST_ARRIVAL_MAX: Duration = Duration::from_secs(30);

/// The surroundings of one output thread.
pub(crate) struct Site {
    window: Nanos,
    messages: Option<Messages>,
    is_evaluated: bool,
    ended: Moment,
    // In this order: the end of the line ends the receiver.
    library: Library,
    receiver: Receiver,
}

impl Site {
    /// Makes the line and starts the receiver and the client. Returns what was not granted.
    ///
    /// # Errors
    /// There is no pseudo-terminal, or nothing comes out of it.
    pub(crate) fn open(
        midi: &MidiProbe,
        window: Nanos,
    ) -> Result<(Self, Option<Shortfall>), SysError> {
        let pty = Pty::open()?;
        pty.make_raw()?;
        let receiver = Receiver::start(pty.line)?;
        let shortfall = receiver.schedule()?;
        let mut library = Library::start(pty.terminal, midi)?;
        rehearse(&mut library, &receiver)?;
        let ended = Moment::from_nanos(0);
        let site = Self { window, messages: None, is_evaluated: false, ended, library, receiver };
        Ok((site, shortfall))
    }

    /// Announces a window that opens at `start`, with messages by `schedule`. The receiver keeps its
    /// samples in `kept`.
    pub(crate) fn begin(&mut self, start: u64, schedule: Schedule, kept: Destination) {
        let start = Moment::from_nanos(start);
        let messages = Messages { start, schedule, until: start + self.window + OVERTIME };
        self.is_evaluated = matches!(kept, Destination::Memory(_));
        self.receiver.begin(messages.clone(), kept);
        self.library.begin(messages.clone(), self.is_evaluated);
        self.messages = Some(messages);
    }

    /// Delivers the messages of the window.
    ///
    /// # Errors
    /// Those of the sleeper and of the line.
    pub(crate) fn deliver<C: Clock>(
        &mut self,
        sleeper: &mut impl Sleeper<C>,
    ) -> Result<(), SysError> {
        if let Some(messages) = &self.messages {
            self.library.deliver(sleeper, messages.until)?;
        }
        self.ended = clock::now::<Monotonic>();
        Ok(())
    }

    /// The samples of the window, and what else its messages showed; `None` if a viewer has them.
    ///
    /// # Errors
    /// Those of the line.
    pub(crate) fn received(mut self) -> Result<Option<(TakenSamples, MessageFindings)>, SysError> {
        self.library.write(END)?;
        let received = self.receiver.end()?;
        let handed_over = self.library.end();
        let evaluated = self.messages.filter(|_| self.is_evaluated);
        let judged = |messages| judged(&messages, received, &handed_over, self.ended);
        Ok(evaluated.map(judged))
    }
}

/// Writes until something arrives: the code of both ends is then in memory.
fn rehearse(library: &mut Library, receiver: &Receiver) -> Result<(), SysError> {
    let begun = StdInstant::now();
    while !receiver.is_rehearsed() {
        if begun.elapsed() > FIRST_ARRIVAL_MAX {
            return Err(SysError::new("read", Errno::TIMEDOUT));
        }
        library.write(REHEARSAL)?;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
