//! The thread that empties the buffers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_sys::SysError;
use tactus_sys::wait::{Waker, wait};

use super::intake::Intake;
use super::level::{self, Level};
use super::mechanism::{Buffers, Opened};
use super::options::DrainerOptions;
use super::pace::Pace;
use super::quota::QuotaWatch;
use super::symbols::Symbols;
use crate::codec::{Block, DictionaryMark, EventBlock, encode_dictionary, encode_losses};
use crate::summary::{RecordingCost, RecordingSummary};

/// What the drainer sends to the writer.
#[derive(Debug)]
pub(super) enum Parcel {
    /// Blocks; every event up to `complete_until` is in these or in earlier ones.
    Blocks { blocks: Vec<Block>, complete_until: Instant<Monotonic> },
    /// A request to the writer, in its place among the blocks.
    Save(super::writer::Save),
    /// The end.
    End(Box<RecordingSummary>),
}

/// A request to the drainer.
#[derive(Debug)]
pub(super) enum DrainRequest {
    /// Drain now, then let the writer save.
    Save(super::writer::Save),
    /// Drain a last time and end.
    Stop,
}

/// Bytes that the drainer has sent and the writer has not stored yet.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: AtomicU64,
    pub(super) limit: u64,
}

pub(super) struct Drainer {
    pub(super) opened: Opened,
    pub(super) started: Instant<Monotonic>,
    pub(super) drain: Drain,
    pub(super) options: DrainerOptions,
    pub(super) waker: Arc<Waker>,
    pub(super) level: Arc<Level>,
    pub(super) requests: Receiver<DrainRequest>,
    pub(super) parcels: Sender<Parcel>,
    pub(super) held: Arc<Held>,
    pub(super) quotas: QuotaWatch,
}

/// How long the drainer sleeps if the writer has no space.
const NO_ROOM_SLEEP: Nanos = Nanos::from_millis(50);

/// The number of events that are packed in a turn.
const EVENTS_A_TURN: usize = 2048;

/// The drainer's policy while no buffer is too full.
const ORDINARY: Scheduling = Scheduling::Other { nice: 0 };

/// What a drainer leaves.
pub(super) struct Ended {
    pub(super) result: Result<(), SysError>,
    /// To be dropped after everything else that uses their descriptors.
    pub(super) buffers: Box<dyn Buffers>,
}

impl Drainer {
    /// Drains until a request to stop, then sends the summary.
    pub(super) fn run(mut self) -> Ended {
        let result = self.drain_to_the_end();
        Ended { result, buffers: self.opened.buffers }
    }

    fn drain_to_the_end(&mut self) -> Result<(), SysError> {
        // The watcher of the level reports what is refused.
        level::pin(&self.options)?;
        be_ordinary()?;
        let cpu_time_before = tactus_sys::usage::of_this_thread()?.cpu_time;
        loop {
            let has_room = self.held.bytes.load(Ordering::Relaxed) < self.held.limit;
            let sleep = if has_room { self.options.longest_sleep } else { NO_ROOM_SLEEP };
            wait(&[], &self.waker, sleep)?;
            self.quotas.look();
            let request = match self.requests.try_recv() {
                Ok(request) => Some(request),
                Err(TryRecvError::Empty) => None,
                // The owner of the recording is gone.
                Err(TryRecvError::Disconnected) => Some(DrainRequest::Stop),
            };
            let stops = matches!(request, Some(DrainRequest::Stop));
            if stops {
                self.opened.buffers.disable()?;
            }
            if has_room || request.is_some() {
                self.drain_once(stops)?;
            }
            match request {
                None => {}
                Some(DrainRequest::Save(save)) => drop(self.parcels.send(Parcel::Save(save))),
                Some(DrainRequest::Stop) => break,
            }
        }
        let ended = tactus_sys::clock::now::<Monotonic>();
        let accounts = self.opened.buffers.account(&mut self.drain.intake, ended)?;
        let last = self.drain.new_losses().into_iter().collect();
        send(&self.parcels, &self.held, Parcel::Blocks { blocks: last, complete_until: ended });
        self.opened.shortfalls.extend(self.drain.intake.mute_idle_threads());
        let cpu_time = tactus_sys::usage::of_this_thread()?.cpu_time - cpu_time_before;
        let summary = RecordingSummary {
            started: self.started,
            ended,
            accounts: accounts.events,
            cpus: accounts.cpus,
            absent: std::mem::take(&mut self.opened.absent),
            loss_windows: self.drain.loss_windows,
            undecoded: self.drain.intake.undecoded,
            refused_names: self.drain.intake.decoder.names().dictionary().refused(),
            cost: RecordingCost { drain_time: cpu_time, ..self.drain.cost },
            shortfalls: std::mem::take(&mut self.opened.shortfalls),
            quotas: self.quotas.end(),
        };
        drop(self.parcels.send(Parcel::End(Box::new(summary))));
        Ok(())
    }

    /// Drains every buffer once, at the last time without pauses.
    fn drain_once(&mut self, is_last: bool) -> Result<(), SysError> {
        let was_high = self.level.is_high();
        let size = self.opened.buffers.size();
        let mut pace = if is_last { Pace::in_haste() } else { Pace::new(size) };
        let parcel = self.drain.all(&mut *self.opened.buffers, &mut pace)?;
        send(&self.parcels, &self.held, parcel);
        if was_high {
            self.level.fell();
        }
        be_ordinary()
    }
}

/// Makes the calling thread an ordinary one: the watcher of the level may have raised its priority.
fn be_ordinary() -> Result<(), SysError> {
    ThreadRef::Calling.schedule(ORDINARY).map(drop)
}

/// Counts the blocks before the writer can store them.
fn send(parcels: &Sender<Parcel>, held: &Held, parcel: Parcel) {
    if let Parcel::Blocks { blocks, .. } = &parcel {
        let bytes: usize = blocks.iter().map(|block| block.bytes().len()).sum();
        held.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
    // A writer that has ended returns its error to the owner; draining continues until
    // the request to stop.
    drop(parcels.send(parcel));
}

/// The state between two drains.
pub(super) struct Drain {
    intake: Intake,
    cpus: CpuList,
    symbols: Arc<Symbols>,
    mark: DictionaryMark,
    /// The number of functions that have been looked up.
    named: usize,
    loss_windows: u64,
    cost: RecordingCost,
    complete_until: Instant<Monotonic>,
}

impl Drain {
    /// Starts at `started`, when the events were enabled: it also looks at all present threads.
    pub(super) fn new(
        opened: &mut Opened,
        started: Instant<Monotonic>,
        symbols: Arc<Symbols>,
    ) -> Self {
        let mut decoder = std::mem::take(&mut opened.decoder);
        super::threads::add_processes(decoder.names().dictionary_mut());
        let (cpus, size) = (opened.cpus.clone(), opened.buffers.size());
        Self {
            intake: Intake::new(decoder, &cpus, opened.names.len(), started, size),
            cpus,
            symbols,
            mark: DictionaryMark::default(),
            named: 1,
            loss_windows: 0,
            cost: RecordingCost { ring_size: size as u64, ..RecordingCost::default() },
            complete_until: started,
        }
    }

    /// Drains every buffer once.
    fn all(&mut self, buffers: &mut dyn Buffers, pace: &mut Pace) -> Result<Parcel, SysError> {
        let began = tactus_sys::clock::now::<Monotonic>();
        let mut blocks = Vec::new();
        for (index, cpu) in self.cpus.iter().enumerate() {
            self.intake.stand_at(index);
            pace.next_buffer();
            let bytes = buffers.drain(index, &mut self.intake, pace)?;
            self.cost.ring_bytes += bytes;
            self.cost.fullest_ring = self.cost.fullest_ring.max(bytes);
            self.intake.sort();
            let events = &mut self.intake.events;
            for turn in events.chunks(EVENTS_A_TURN) {
                blocks.extend(EventBlock::encode(cpu, turn));
                pace.look();
            }
            self.cost.events += events.len() as u64;
            events.clear();
        }
        self.intake.add_new_threads();
        // Names must precede the events that refer to them.
        let mut ordered = self.new_names();
        ordered.append(&mut blocks);
        ordered.extend(self.new_losses());
        // Events stamped before the last drain began are in order by now.
        let complete_until = self.complete_until;
        self.complete_until = began;
        self.cost.drains += 1;
        self.cost.kept_bytes += ordered.iter().map(|block| block.bytes().len() as u64).sum::<u64>();
        let took = tactus_sys::clock::now::<Monotonic>() - began;
        self.cost.longest_drain = self.cost.longest_drain.max(took);
        Ok(Parcel::Blocks { blocks: ordered, complete_until })
    }

    /// Blocks of the dictionary's new entries, with the names of new functions.
    fn new_names(&mut self) -> Vec<Block> {
        let dictionary = self.intake.decoder.names().dictionary_mut();
        self.symbols.name_functions(dictionary, self.named);
        self.named = dictionary.functions().len();
        encode_dictionary(dictionary, &mut self.mark)
    }

    fn new_losses(&mut self) -> Option<Block> {
        let losses = &mut self.intake.losses;
        self.loss_windows += losses.len() as u64;
        let block = (!losses.is_empty()).then(|| encode_losses(losses));
        losses.clear();
        block
    }
}
