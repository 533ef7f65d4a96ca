//! The thread that empties the buffers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::SysError;
use tactus_sys::wait::{Waker, wait};

use super::intake::Intake;
use super::mechanism::{Buffers, Opened};
use super::options::DrainerOptions;
use super::symbols::Symbols;
use crate::codec::{Block, DictionaryMark, EventBlock, encode_dictionary, encode_losses};
use crate::summary::{RecordingCost, RecordingSummary};

/// What the drainer hands to the keeper.
#[derive(Debug)]
pub(super) enum Parcel {
    /// Blocks; every event up to `complete_until` is in these or earlier ones.
    Blocks { blocks: Vec<Block>, complete_until: Instant<Monotonic> },
    /// What was asked of the keeper, in its place among the blocks.
    Save(super::keeper::Save),
    /// Nothing more will come.
    End(Box<RecordingSummary>),
}

/// What is asked of the drainer.
#[derive(Debug)]
pub(super) enum Order {
    /// Drain now, then have the keeper save.
    Save(super::keeper::Save),
    /// Drain a last time and end.
    Stop,
}

/// Bytes that the drainer has handed out and the keeper has not yet put away.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: AtomicU64,
    pub(super) limit: u64,
}

pub(super) struct Drainer {
    pub(super) opened: Opened,
    pub(super) started: Instant<Monotonic>,
    pub(super) symbols: Arc<Symbols>,
    pub(super) options: DrainerOptions,
    pub(super) waker: Arc<Waker>,
    pub(super) orders: Receiver<Order>,
    pub(super) parcels: Sender<Parcel>,
    pub(super) held: Arc<Held>,
}

/// How long the drainer sleeps when the keeper has no room; the buffers are above
/// their watermark then, and waiting for them would not wait.
const NO_ROOM_SLEEP: Nanos = Nanos::from_millis(50);

impl Drainer {
    /// Drains until told to stop, and gives account.
    ///
    /// # Errors
    /// A call failed that never should.
    pub(super) fn run(mut self) -> Result<(), SysError> {
        let shortfalls = prepare(&self.options);
        self.opened.shortfalls.extend(shortfalls);
        let cpu_time_before = tactus_sys::usage::of_this_thread()?.cpu_time;
        let mut drain = Drain::new(&mut self.opened, self.started, self.symbols);
        loop {
            let has_room = self.held.bytes.load(Ordering::Relaxed) < self.held.limit;
            let (to_poll, sleep) = if has_room {
                (self.opened.buffers.to_poll(), self.options.longest_sleep)
            } else {
                (Vec::new(), NO_ROOM_SLEEP)
            };
            wait(&to_poll, &self.waker, sleep)?;
            let order = match self.orders.try_recv() {
                Ok(order) => Some(order),
                Err(TryRecvError::Empty) => None,
                // Whoever held the recording is gone.
                Err(TryRecvError::Disconnected) => Some(Order::Stop),
            };
            if matches!(order, Some(Order::Stop)) {
                self.opened.buffers.disable()?;
            }
            if has_room || order.is_some() {
                let parcel = drain.all(&mut *self.opened.buffers)?;
                send(&self.parcels, &self.held, parcel);
            }
            match order {
                None => {}
                Some(Order::Save(save)) => drop(self.parcels.send(Parcel::Save(save))),
                Some(Order::Stop) => break,
            }
        }
        let ended = tactus_sys::clock::now::<Monotonic>();
        let accounts = self.opened.buffers.account(&mut drain.intake, ended)?;
        let last = drain.losses_told().into_iter().collect();
        send(&self.parcels, &self.held, Parcel::Blocks { blocks: last, complete_until: ended });
        self.opened.shortfalls.extend(drain.intake.mute_idle_threads());
        let cpu_time = tactus_sys::usage::of_this_thread()?.cpu_time - cpu_time_before;
        let summary = RecordingSummary {
            started: self.started,
            ended,
            accounts: accounts.events,
            processors: accounts.processors,
            absent: std::mem::take(&mut self.opened.absent),
            loss_windows: drain.loss_windows,
            undecoded: drain.intake.undecoded,
            refused_names: drain.intake.decoder.names().dictionary().refused(),
            cost: RecordingCost { drain_time: cpu_time, ..drain.cost },
            shortfalls: std::mem::take(&mut self.opened.shortfalls),
        };
        drop(self.parcels.send(Parcel::End(Box::new(summary))));
        Ok(())
    }
}

/// Counts the blocks before the keeper can put them away.
fn send(parcels: &Sender<Parcel>, held: &Held, parcel: Parcel) {
    if let Parcel::Blocks { blocks, .. } = &parcel {
        let bytes: usize = blocks.iter().map(|block| block.bytes().len()).sum();
        held.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
    // A keeper that is gone has told why; draining goes on until the end is asked for.
    drop(parcels.send(parcel));
}

/// Gives the calling thread its processors, then its priority; tells what was not granted.
fn prepare(options: &DrainerOptions) -> Vec<Shortfall> {
    let mut shortfalls = Vec::new();
    if let Some(cpus) = &options.cpus
        && let Err(error) = tactus_sys::affinity::set(cpus)
    {
        shortfalls.push(Shortfall {
            asked: format!("the recorder's thread on processors {cpus}"),
            granted: "any processor".to_owned(),
            reason: error.to_string(),
            fix: None,
        });
    }
    let scheduling = Scheduling::Fifo(options.priority);
    if let Err(error) = tactus_sys::sched::set(scheduling) {
        shortfalls.push(Shortfall {
            asked: format!("the recorder's thread as {scheduling}"),
            granted: "time sharing: on a busy machine events may be lost".to_owned(),
            reason: error.to_string(),
            fix: Some("ulimit -r 99   # or: sudo setcap cap_sys_nice+ep the program".to_owned()),
        });
    }
    shortfalls
}

/// What goes on from one drain to the next.
struct Drain {
    intake: Intake,
    cpus: CpuList,
    symbols: Arc<Symbols>,
    mark: DictionaryMark,
    /// Functions that have their names.
    named: usize,
    loss_windows: u64,
    cost: RecordingCost,
    complete_until: Instant<Monotonic>,
}

impl Drain {
    fn new(opened: &mut Opened, started: Instant<Monotonic>, symbols: Arc<Symbols>) -> Self {
        let mut decoder = std::mem::take(&mut opened.decoder);
        super::threads::tell_processes(decoder.names().dictionary_mut());
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
    fn all(&mut self, buffers: &mut dyn Buffers) -> Result<Parcel, SysError> {
        let began = tactus_sys::clock::now::<Monotonic>();
        let mut blocks = Vec::new();
        for (index, cpu) in self.cpus.iter().enumerate() {
            self.intake.stand_at(index);
            let bytes = buffers.drain(index, &mut self.intake)?;
            self.cost.ring_bytes += bytes;
            self.cost.fullest_ring = self.cost.fullest_ring.max(bytes);
            self.intake.sort();
            let events = &mut self.intake.events;
            blocks.extend(EventBlock::encode(cpu, events));
            self.cost.events += events.len() as u64;
            events.clear();
        }
        self.intake.tell_new_threads();
        // Names stand before what refers to them.
        let mut ordered = self.names_told();
        ordered.append(&mut blocks);
        ordered.extend(self.losses_told());
        // What was stamped before the last drain began has found its place by now.
        let complete_until = self.complete_until;
        self.complete_until = began;
        self.cost.drains += 1;
        self.cost.kept_bytes += ordered.iter().map(|block| block.bytes().len() as u64).sum::<u64>();
        let took = tactus_sys::clock::now::<Monotonic>() - began;
        self.cost.longest_drain = self.cost.longest_drain.max(took);
        Ok(Parcel::Blocks { blocks: ordered, complete_until })
    }

    /// Blocks of what the dictionary has gained, with the names of new functions.
    fn names_told(&mut self) -> Vec<Block> {
        let dictionary = self.intake.decoder.names().dictionary_mut();
        for index in self.named..dictionary.functions().len() {
            let function = tactus_model::recording::FunctionId::from_index(index as u32);
            if let Some(name) = self.symbols.name(dictionary.function(function).address) {
                dictionary.name_function(function, name);
            }
        }
        self.named = dictionary.functions().len();
        encode_dictionary(dictionary, &mut self.mark)
    }

    fn losses_told(&mut self) -> Option<Block> {
        let losses = &mut self.intake.losses;
        self.loss_windows += losses.len() as u64;
        let block = (!losses.is_empty()).then(|| encode_losses(losses));
        losses.clear();
        block
    }
}
