//! The thread that empties the rings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use tactus_model::policy::Scheduling;
use tactus_model::recording::{Event, EventAccount, Lost, ProcessId, ThreadId};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::SysError;
use tactus_sys::perf::{RawRecord, Ring, Waker, wait};

use super::open::Opened;
use super::options::DrainerOptions;
use super::symbols::Symbols;
use crate::codec::{Block, DictionaryMark, EventBlock, encode_dictionary, encode_losses};
use crate::decode::{Decoder, PerfRecord, RecordShape, addresses};
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

/// How long the drainer sleeps when the keeper has no room; the rings are above
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
            let (leaders, sleep) = if has_room {
                (&*self.opened.leaders, self.options.longest_sleep)
            } else {
                (&[][..], NO_ROOM_SLEEP)
            };
            wait(leaders, &self.waker, sleep)?;
            let order = match self.orders.try_recv() {
                Ok(order) => Some(order),
                Err(TryRecvError::Empty) => None,
                // Whoever held the recording is gone.
                Err(TryRecvError::Disconnected) => Some(Order::Stop),
            };
            if matches!(order, Some(Order::Stop)) {
                self.opened.disable()?;
            }
            if has_room || order.is_some() {
                let parcel = drain.all(&mut self.opened);
                send(&self.parcels, &self.held, parcel);
            }
            match order {
                None => {}
                Some(Order::Save(save)) => drop(self.parcels.send(Parcel::Save(save))),
                Some(Order::Stop) => break,
            }
        }
        let ended = tactus_sys::clock::now::<Monotonic>();
        let (accounts, last) = drain.accounts(&self.opened, ended)?;
        send(&self.parcels, &self.held, Parcel::Blocks { blocks: last, complete_until: ended });
        let cpu_time = tactus_sys::usage::of_this_thread()?.cpu_time - cpu_time_before;
        let summary = RecordingSummary {
            started: self.started,
            ended,
            accounts,
            absent: std::mem::take(&mut self.opened.absent),
            loss_windows: drain.loss_windows,
            undecoded: drain.undecoded,
            refused_names: drain.decoder.names().dictionary().refused(),
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
            mend: None,
        });
    }
    let scheduling = Scheduling::Fifo(options.priority);
    if let Err(error) = tactus_sys::sched::set(scheduling) {
        shortfalls.push(Shortfall {
            asked: format!("the recorder's thread as {scheduling}"),
            granted: "time sharing: on a busy machine events may be lost".to_owned(),
            reason: error.to_string(),
            mend: Some("ulimit -r 99   # or: sudo setcap cap_sys_nice+ep the program".to_owned()),
        });
    }
    shortfalls
}

/// What goes on from one drain to the next.
struct Drain {
    decoder: Decoder,
    shape: RecordShape,
    symbols: Arc<Symbols>,
    mark: DictionaryMark,
    /// Functions that have their names.
    named: usize,
    /// By processor: its number, its last event, its losses told so far.
    cpus: Vec<OneCpu>,
    /// By event: what was read of it.
    read: Vec<Read>,
    events: Vec<Event>,
    losses: Vec<Lost>,
    loss_windows: u64,
    undecoded: u64,
    cost: RecordingCost,
    complete_until: Instant<Monotonic>,
}

/// What was read of an event.
#[derive(Clone, Copy, Default)]
struct Read {
    records: u64,
    /// Their weights together; the kernel's count is of these.
    weight: u64,
}

struct OneCpu {
    cpu: u32,
    last: Instant<Monotonic>,
    lost: u64,
}

impl Drain {
    fn new(opened: &mut Opened, started: Instant<Monotonic>, symbols: Arc<Symbols>) -> Self {
        let mut decoder = std::mem::take(&mut opened.decoder);
        super::threads::tell_processes(decoder.names().dictionary_mut());
        let ring_size = opened.rings.first().map_or(0, Ring::size) as u64;
        Self {
            decoder,
            shape: RecordShape { call_chain: opened.call_chains },
            symbols,
            mark: DictionaryMark::default(),
            named: 1,
            cpus: opened.cpus.iter().map(|cpu| OneCpu { cpu, last: started, lost: 0 }).collect(),
            read: vec![Read::default(); opened.names.len()],
            // Most records are longer than 48 bytes.
            events: Vec::with_capacity(ring_size as usize / 48),
            losses: Vec::new(),
            loss_windows: 0,
            undecoded: 0,
            cost: RecordingCost { ring_size, ..RecordingCost::default() },
            complete_until: started,
        }
    }

    /// Drains every ring once.
    fn all(&mut self, opened: &mut Opened) -> Parcel {
        let began = tactus_sys::clock::now::<Monotonic>();
        let mut blocks = Vec::new();
        for (index, ring) in opened.rings.iter_mut().enumerate() {
            self.one(index, ring);
            // An interrupt may have put its record before that of the event it
            // interrupted, whose stamp is older.
            self.events.sort_by_key(|event| event.at);
            let cpu = &mut self.cpus[index];
            if let Some(last) = self.events.last() {
                cpu.last = cpu.last.max(last.at);
            }
            blocks.extend(EventBlock::encode(cpu.cpu, &self.events));
            self.cost.events += self.events.len() as u64;
            self.events.clear();
        }
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
        Parcel::Blocks { blocks: ordered, complete_until }
    }

    /// Takes the records of one ring into `events` and `losses`.
    fn one(&mut self, index: usize, ring: &mut Ring) {
        self.cost.fullest_ring = self.cost.fullest_ring.max(ring.unread() as u64);
        let drained = ring.drain(|record| self.take(index, record));
        self.cost.ring_bytes += drained.bytes;
        self.undecoded += u64::from(drained.garbled > 0);
    }

    fn take(&mut self, index: usize, record: RawRecord<'_>) {
        let cpu = self.cpus[index].cpu;
        match PerfRecord::parse(record.kind, record.body, self.shape) {
            Ok(PerfRecord::Sample { time, weight, chain, raw }) => {
                let chain = if chain.is_empty() {
                    None
                } else {
                    self.decoder.names().chain(addresses(chain))
                };
                match self.decoder.decode(time, cpu, chain, raw) {
                    Ok((event_index, event)) => {
                        let read = &mut self.read[event_index];
                        read.records += 1;
                        read.weight = read.weight.wrapping_add(weight);
                        self.events.push(event);
                    }
                    Err(_) => self.undecoded += 1,
                }
            }
            Ok(PerfRecord::Lost { time, count }) => {
                let before = self.events.last().map(|event| event.at);
                let from = before.unwrap_or(self.cpus[index].last);
                let to = Instant::from_nanos(time);
                self.losses.push(Lost { cpu, from, to: to.max(from), count });
                self.cpus[index].lost += count;
            }
            Ok(PerfRecord::Fork { process, thread }) => {
                let dictionary = self.decoder.names().dictionary_mut();
                dictionary.set_process(ThreadId(thread), ProcessId(process));
            }
            Ok(PerfRecord::Other) => {}
            Err(_) => self.undecoded += 1,
        }
    }

    /// Blocks of what the dictionary has gained, with the names of new functions.
    fn names_told(&mut self) -> Vec<Block> {
        let dictionary = self.decoder.names().dictionary_mut();
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
        self.loss_windows += self.losses.len() as u64;
        let block = (!self.losses.is_empty()).then(|| encode_losses(&self.losses));
        self.losses.clear();
        block
    }

    /// The account of every event, and blocks of losses that no record in a ring told of.
    fn accounts(
        &mut self,
        opened: &Opened,
        ended: Instant<Monotonic>,
    ) -> Result<(Vec<EventAccount>, Vec<Block>), SysError> {
        let mut counts = vec![(0_u64, Some(0_u64)); opened.names.len()];
        for (index, tracepoints) in opened.tracepoints.iter().enumerate() {
            let mut lost_here = opened.leaders[index].count()?.lost.unwrap_or(0);
            for (event, (counted, lost)) in tracepoints.iter().zip(&mut counts) {
                let count = event.count()?;
                *counted = counted.wrapping_add(count.counted);
                *lost = lost.zip(count.lost).map(|(all, here)| all + here);
                lost_here += count.lost.unwrap_or(0);
            }
            // A loss at the very end has no record: nothing fitted behind it.
            let cpu = &self.cpus[index];
            if let Some(count @ 1..) = lost_here.checked_sub(cpu.lost) {
                self.losses.push(Lost { cpu: cpu.cpu, from: cpu.last, to: ended, count });
            }
        }
        let accounts = opened
            .names
            .iter()
            .zip(&self.read)
            .zip(counts)
            .map(|((event, read), (counted, lost))| account(event, *read, counted, lost))
            .collect();
        Ok((accounts, self.losses_told().into_iter().collect()))
    }
}

/// The account of one event of which the kernel counted a weight of `counted`.
fn account(event: &str, read: Read, counted: u64, lost: Option<u64>) -> EventAccount {
    let Read { records, weight } = read;
    // Of an event that is weighed the kernel counts weights, not occurrences;
    // those are known only by what was read and lost.
    let counted = if weight == records { counted } else { records + lost.unwrap_or(0) };
    // Kernels before 6.0 do not count losses; what was not read was lost.
    let lost = lost.unwrap_or(counted.saturating_sub(records));
    EventAccount { event: event.to_owned(), counted, read: records, lost }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(read: Read, counted: u64, lost: Option<u64>, unwritten: u64) {
        let account = account("event", read, counted, lost);
        assert_eq!(account.unwritten(), unwritten, "{account:?}");
        assert_eq!(account.balances(), unwritten == 0, "{account:?}");
    }

    #[test]
    fn what_the_kernel_counted_and_did_not_write_is_told() {
        let plain = Read { records: 10, weight: 10 };
        check(plain, 10, Some(0), 0);
        check(plain, 13, Some(3), 0);
        check(plain, 13, Some(2), 1);
        check(plain, 13, None, 0);
        let weighed = Read { records: 10, weight: 5_000 };
        check(weighed, 5_000, Some(0), 0);
        check(weighed, 5_700, Some(2), 0);
    }
}
