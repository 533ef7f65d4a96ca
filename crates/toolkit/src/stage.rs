//! A score and its connection to the server.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::time::Duration;

use tactus_delivery::item::{BranchId, Moment, StreamId};
use tactus_model::time::Nanos;
use tactus_score::draft::Written;
use tactus_score::perform::{Host, Next, Submitted};
use tactus_score::score::StreamInfo;
use tactus_score::{Fault, Lead, Performance, Played, ReactionId, Score};
use tactus_stream::{Client, Draft, Format, SubmitError};
use tactus_sys::poller::{Interest, Poller};

use crate::error::StageError;
use crate::watchdog;

/// How long after the beginning of a performance its logical time begins: the first items need a
/// look-ahead as others do.
const PRELUDE: Nanos = Nanos::from_millis(100);

/// The most bytes of an input.
const INPUT_BYTES: usize = 1024;

/// The key of the server among awaited descriptors; inputs have their index.
const SERVER: u64 = u64::MAX;

/// Performs a score: a client of the delivery server, with inputs.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tactus_toolkit::{Client, Report, Lead, Nanos, SOCKET, Score, Stage, Wanted};
///
/// let score = Score::new();
/// let piano = score.midi("piano");
/// score.spawn("melody", async move |s| {
///     for key in [60, 64, 67, 72] {
///         s.play(piano.note(key, 90))?;
///         s.after(Nanos::from_millis(250)).await;
///     }
///     Ok(())
/// })?;
/// let client = Client::connect(SOCKET, &Wanted::named("arpeggio"))?;
/// let mut stage = Stage::new(client, score, Lead::Measured)?;
/// stage.run(|report| {
///     if let Report::Played(played) = report {
///         println!("{:?}", played.receipt);
///     }
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stage {
    host: LiveHost,
    performance: Performance,
    poller: Poller,
    /// `None` after its end.
    inputs: Vec<Option<Source>>,
}

/// Where inputs come from.
#[derive(Debug)]
struct Source {
    file: File,
    reaction: ReactionId,
}

/// What a performance reports while it runs.
#[derive(Clone, Copy, Debug)]
pub enum Report<'a> {
    /// An item has its receipt.
    Played(&'a Played),
    /// A task ended because of a problem.
    Fault(&'a Fault),
    /// The source of a reaction's inputs has ended.
    SourceEnded(ReactionId),
}

impl Stage {
    /// Opens the streams of a score. Its logical time begins a tenth of a second from now.
    ///
    /// # Errors
    /// Fails if a device does not exist, or does not take what the score writes.
    pub fn new(mut client: Client, score: Score, lead: Lead) -> Result<Self, StageError> {
        let open = |stream: &StreamInfo| open(&mut client, stream);
        let streams = score.streams().iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let poller = Poller::new()?;
        poller.add(&client, SERVER, Interest::READ)?;
        let performance = Performance::new(score, lead, Client::now() + PRELUDE);
        let host = LiveHost { client, streams };
        Ok(Self { host, performance, poller, inputs: Vec::new() })
    }

    /// The same, which keeps a line for each item and cut.
    #[must_use]
    pub fn with_transcript(mut self) -> Self {
        self.performance = self.performance.with_transcript();
        self
    }

    /// Calls `report`, in a thread of its own, with the name of a task that runs for
    /// [`PATIENCE`](crate::watchdog::PATIENCE) without waiting: all others wait for it.
    pub fn watch(&self, report: impl Fn(&str) + Send + 'static) {
        watchdog::start(&self.performance.score().busy(), report);
    }

    /// What has happened so far.
    pub const fn performance(&self) -> &Performance {
        &self.performance
    }

    /// What has happened, without the connection.
    pub fn into_performance(self) -> Performance {
        self.performance
    }

    /// Reads inputs for a reaction of the score: a terminal, a serial line, a raw MIDI device, or
    /// a socket of datagrams. What one reading yields is one input; its time is that at which the
    /// reading began.
    ///
    /// # Errors
    /// Fails if the source cannot be awaited, such as a regular file.
    ///
    /// # Panics
    /// Panics if the score has no such reaction.
    pub fn listen(
        &mut self,
        reaction: ReactionId,
        source: impl Into<OwnedFd>,
    ) -> Result<(), StageError> {
        assert!(self.performance.score().has_reaction(reaction), "there is no {reaction:?}");
        let file = File::from(source.into());
        self.poller.add(&file, self.inputs.len() as u64, Interest::READ)?;
        self.inputs.push(Some(Source { file, reaction }));
        Ok(())
    }

    /// Performs until every task has ended and every item has its receipt.
    ///
    /// # Errors
    /// Fails if the server ends the connection, or refuses an item or a cut for good.
    pub fn run(&mut self, mut report: impl FnMut(Report<'_>)) -> Result<(), StageError> {
        loop {
            let stepped = self.performance.step(Client::now(), &mut self.host);
            let next = match stepped {
                Ok(next) => next,
                Err(failed) => {
                    // What the server answered before it ended.
                    self.answer(&mut report)?;
                    return Err(self.named(failed));
                }
            };
            self.performance.take_faults().iter().for_each(|fault| report(Report::Fault(fault)));
            if self.answer(&mut report)? {
                // There may be room for more items.
                continue;
            }
            let timeout = match next {
                Next::Ended => return Ok(()),
                Next::Event => None,
                Next::At(next) => Some(Duration::from(next - Client::now())),
            };
            let ready = self.poller.wait(timeout)?;
            let at = Client::now();
            for ready in ready {
                if ready.key != SERVER {
                    self.hear(ready.key as usize, at, &mut report);
                }
            }
        }
    }

    /// Takes the receipts that have come; whether there were any.
    fn answer(&mut self, report: &mut impl FnMut(Report<'_>)) -> Result<bool, StageError> {
        let mut any = false;
        // The last call, which finds none, requests a notice of the next.
        while let Some(receipt) = self.host.client.receipt(Some(Duration::ZERO))? {
            any = true;
            if let Some(played) = self.performance.answered(receipt) {
                report(Report::Played(&played));
            }
        }
        Ok(any)
    }

    /// Reads an input that is ready.
    fn hear(&mut self, index: usize, at: Moment, report: &mut impl FnMut(Report<'_>)) {
        let Some(Some(source)) = self.inputs.get_mut(index) else { return };
        let mut bytes = [0; INPUT_BYTES];
        match source.file.read(&mut bytes) {
            Ok(count) if count > 0 => self.performance.input(source.reaction, at, &bytes[..count]),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // A terminal whose other end is closed fails.
            Ok(_) | Err(_) => {
                let reaction = source.reaction;
                // Its descriptor leaves the poller when it is closed.
                self.inputs[index] = None;
                report(Report::SourceEnded(reaction));
            }
        }
    }

    fn named(&self, failed: HostError) -> StageError {
        let score = self.performance.score();
        match failed {
            HostError::Cut(error) => error.into(),
            HostError::Item(_, _, SubmitError::Ended(ended)) => ended.into(),
            HostError::Item(stream, branch, error) => StageError::Item {
                branch: score.branch_name(branch),
                device: score.streams()[stream.0 as usize].device.clone(),
                error,
            },
        }
    }
}

/// Opens a stream, if its device takes what the score writes.
fn open(client: &mut Client, stream: &StreamInfo) -> Result<StreamId, StageError> {
    let opened = client.open(&stream.device)?;
    match client.device(opened).map(|device| device.format) {
        Some(takes) if takes != stream.format && !matches!(takes, Format::Bytes { .. }) => {
            let (device, takes, writes) =
                (stream.device.clone(), takes.takes(), stream.format.takes());
            Err(StageError::Format { device, takes, writes })
        }
        _ => Ok(opened),
    }
}

/// The server, as the performance sees it.
#[derive(Debug)]
struct LiveHost {
    client: Client,
    /// The streams of the score at the server.
    streams: Vec<StreamId>,
}

enum HostError {
    Item(StreamId, BranchId, SubmitError),
    Cut(tactus_stream::RequestError),
}

impl Host for LiveHost {
    type Error = HostError;

    fn submit(&mut self, item: &Written, due: Moment) -> Result<Submitted, HostError> {
        let draft = Draft {
            stream: self.streams[item.stream.0 as usize],
            branch: item.branch,
            due,
            if_late: item.if_late,
            payload: &item.payload,
        };
        match self.client.submit(&draft) {
            Ok(number) => Ok(Submitted::Accepted(number)),
            Err(SubmitError::TooFarAhead { from, .. }) => Ok(Submitted::TooEarly(from)),
            Err(SubmitError::Full { .. }) => Ok(Submitted::Full),
            Err(error) => Err(HostError::Item(item.stream, item.branch, error)),
        }
    }

    fn cut(&mut self, branch: BranchId, at: Moment) -> Result<(), HostError> {
        self.client.cut(branch, at).map_err(HostError::Cut)
    }

    fn needed_lead(&mut self) -> Option<Nanos> {
        self.client.slack().map(|slack| slack.recommended_lead())
    }
}
