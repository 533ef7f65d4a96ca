//! Takes the content of the buffers, whichever mechanism filled them.

use tactus_model::cpus::CpuList;
use tactus_model::recording::{ChainId, Event, Lost, ProcessId, ThreadId};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};

use super::idle_thread::IdleThread;
use crate::decode::{Decoder, NewThread};

/// Events, losses and threads from the records of the buffers, one buffer after the
/// other.
pub(super) struct Intake {
    pub(super) decoder: Decoder,
    /// For each CPU: its number, its last event, and its reported losses.
    cpus: Vec<OneCpu>,
    /// The CPU whose buffer is being drained, as an index into `cpus`.
    index: usize,
    /// What was read of each event.
    read: Vec<Read>,
    /// Events of the current CPU that are not in blocks yet.
    pub(super) events: Vec<Event>,
    pub(super) losses: Vec<Lost>,
    /// New threads by their time; added to the dictionary once all buffers are drained.
    new_threads: Vec<(u64, NewThread)>,
    pub(super) undecoded: u64,
}

/// How much of an event was read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    pub(super) records: u64,
    /// The sum of the weights, which the kernel's count consists of.
    pub(super) weight: u64,
}

struct OneCpu {
    cpu: u32,
    last: Instant<Monotonic>,
    lost: u64,
    idle_thread: IdleThread,
}

/// An occurrence of a tracepoint, as a buffer holds it.
pub(super) struct Sample<'a> {
    pub(super) time: u64,
    /// The weight: what it adds to the kernel's count of the event; 1 for most events.
    pub(super) weight: u64,
    /// The tracepoint's own record.
    pub(super) raw: &'a [u8],
}

impl Intake {
    /// Starts at `started`, with no events read from any of `cpus`.
    pub(super) fn new(
        decoder: Decoder,
        cpus: &CpuList,
        event_count: usize,
        started: Instant<Monotonic>,
        buffer_size: usize,
    ) -> Self {
        Self {
            decoder,
            cpus: cpus
                .iter()
                .map(|cpu| OneCpu {
                    cpu,
                    last: started,
                    lost: 0,
                    idle_thread: IdleThread::default(),
                })
                .collect(),
            index: 0,
            read: vec![Read::default(); event_count],
            // Most records are longer than 48 bytes.
            events: Vec::with_capacity(buffer_size / 48),
            losses: Vec::new(),
            new_threads: Vec::new(),
            undecoded: 0,
        }
    }

    /// Moves to the CPU with this index.
    pub(super) fn stand_at(&mut self, index: usize) {
        self.index = index;
    }

    /// The number of the current CPU.
    pub(super) fn cpu(&self) -> u32 {
        self.cpus[self.index].cpu
    }

    /// Takes an occurrence of a tracepoint.
    #[inline]
    pub(super) fn sample(&mut self, sample: &Sample<'_>, chain: Option<ChainId>) {
        let cpu = &mut self.cpus[self.index];
        match self.decoder.decode(sample.time, cpu.cpu, chain, sample.raw) {
            Ok((event_index, event)) => {
                cpu.idle_thread.take(&event.kind);
                let read = &mut self.read[event_index];
                read.records += 1;
                read.weight = read.weight.wrapping_add(sample.weight);
                self.events.push(event);
            }
            Err(_) => self.undecoded += 1,
        }
    }

    /// Takes the call chain of the last event.
    pub(super) fn chain_of_last(&mut self, addresses: impl Iterator<Item = u64>) {
        let chain = self.decoder.names().chain(addresses);
        if let Some(event) = self.events.last_mut() {
            event.chain = chain;
        }
    }

    /// The time of the last event read from this CPU.
    pub(super) fn last(&self) -> Instant<Monotonic> {
        let before = self.cpus[self.index].last;
        self.events.last().map_or(before, |event| event.at.max(before))
    }

    /// Takes a loss of `count` events in a window of this CPU's time.
    pub(super) fn lost(&mut self, from: Instant<Monotonic>, to: Instant<Monotonic>, count: u64) {
        let cpu = &mut self.cpus[self.index];
        self.losses.push(Lost { cpu: cpu.cpu, from, to: to.max(from), count });
        cpu.lost += count;
    }

    /// The number of lost events of this CPU that were reported.
    pub(super) fn lost_so_far(&self) -> u64 {
        self.cpus[self.index].lost
    }

    /// A shortfall for each CPU whose idle thread has no events.
    pub(super) fn mute_idle_threads(&self) -> impl Iterator<Item = Shortfall> + '_ {
        self.cpus.iter().filter_map(|cpu| cpu.idle_thread.shortfall(cpu.cpu))
    }

    /// Takes a new thread.
    pub(super) fn new_thread(&mut self, time: u64, thread: NewThread) {
        self.new_threads.push((time, thread));
    }

    /// Takes that `thread` belongs to `process`.
    pub(super) fn thread_of(&mut self, process: i32, thread: i32) {
        let dictionary = self.decoder.names().dictionary_mut();
        dictionary.set_process(ThreadId(thread), ProcessId(process));
    }

    /// How much of each event was read, by the decoder's index.
    pub(super) fn read(&self) -> &[Read] {
        &self.read
    }

    /// Sorts the events of the current CPU and notes the last.
    pub(super) fn sort(&mut self) {
        // An interrupt may have written its record before the event that it
        // interrupted, which has an older time stamp.
        self.events.sort_by_key(|event| event.at);
        let last = self.last();
        self.cpus[self.index].last = last;
    }

    /// Adds the processes of new threads, once every buffer is drained: the creator of
    /// a thread may itself be new and from another CPU.
    pub(super) fn add_new_threads(&mut self) {
        self.new_threads.sort_by_key(|(time, _)| *time);
        for (_, new) in std::mem::take(&mut self.new_threads) {
            let dictionary = self.decoder.names().dictionary_mut();
            let process = if new.same_process {
                dictionary.process_of(ThreadId(new.maker))
            } else {
                Some(ProcessId(new.thread))
            };
            if let Some(process) = process {
                dictionary.set_process(ThreadId(new.thread), process);
            }
        }
    }
}
