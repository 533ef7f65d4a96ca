//! Takes up what the buffers hold, whichever mechanism filled them.

use tactus_model::cpus::CpuList;
use tactus_model::recording::{ChainId, Event, Lost, ProcessId, ThreadId};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};

use super::idle_thread::IdleThread;
use crate::decode::{Decoder, NewThread};

/// Events, losses and threads, from the records of one buffer after the other.
pub(super) struct Intake {
    pub(super) decoder: Decoder,
    /// By processor: its number, its last event, its losses told so far.
    cpus: Vec<OneCpu>,
    /// The processor whose buffer is drained, an index into `cpus`.
    index: usize,
    /// By event: what was read of it.
    read: Vec<Read>,
    /// Those of the current processor that were not yet put into blocks.
    pub(super) events: Vec<Event>,
    pub(super) losses: Vec<Lost>,
    /// Threads that were made, by when; told once all buffers are drained.
    new_threads: Vec<(u64, NewThread)>,
    pub(super) undecoded: u64,
}

/// What was read of an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    pub(super) records: u64,
    /// Their weights together; the kernel's count is of these.
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
    /// What it adds to the kernel's count of the event: 1, but for few events.
    pub(super) weight: u64,
    /// The tracepoint's own record.
    pub(super) raw: &'a [u8],
}

impl Intake {
    /// Begins at `started`, when no event has yet been read of any of `cpus`.
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

    /// Goes to the processor of this index.
    pub(super) fn stand_at(&mut self, index: usize) {
        self.index = index;
    }

    /// The number of the processor that it stands at.
    pub(super) fn cpu(&self) -> u32 {
        self.cpus[self.index].cpu
    }

    /// Takes an occurrence of a tracepoint.
    #[inline]
    pub(super) fn sample(&mut self, sample: &Sample<'_>, chain: Option<ChainId>) {
        let processor = &mut self.cpus[self.index];
        match self.decoder.decode(sample.time, processor.cpu, chain, sample.raw) {
            Ok((event_index, event)) => {
                processor.idle_thread.take(&event.kind);
                let read = &mut self.read[event_index];
                read.records += 1;
                read.weight = read.weight.wrapping_add(sample.weight);
                self.events.push(event);
            }
            Err(_) => self.undecoded += 1,
        }
    }

    /// Takes the call chain of the event that was taken last.
    pub(super) fn chain_of_last(&mut self, addresses: impl Iterator<Item = u64>) {
        let chain = self.decoder.names().chain(addresses);
        if let Some(event) = self.events.last_mut() {
            event.chain = chain;
        }
    }

    /// The last event of this processor that was read.
    pub(super) fn last(&self) -> Instant<Monotonic> {
        let before = self.cpus[self.index].last;
        self.events.last().map_or(before, |event| event.at.max(before))
    }

    /// Takes that `count` events were lost in a window of this processor's time.
    pub(super) fn lost(&mut self, from: Instant<Monotonic>, to: Instant<Monotonic>, count: u64) {
        let cpu = &mut self.cpus[self.index];
        self.losses.push(Lost { cpu: cpu.cpu, from, to: to.max(from), count });
        cpu.lost += count;
    }

    /// How many lost events of this processor were told.
    pub(super) fn lost_so_far(&self) -> u64 {
        self.cpus[self.index].lost
    }

    /// The processors of whose idle thread the kernel told nothing.
    pub(super) fn mute_idle_threads(&self) -> impl Iterator<Item = Shortfall> + '_ {
        self.cpus.iter().filter_map(|processor| processor.idle_thread.shortfall(processor.cpu))
    }

    /// Takes that a thread was made.
    pub(super) fn new_thread(&mut self, time: u64, thread: NewThread) {
        self.new_threads.push((time, thread));
    }

    /// Takes that `thread` is of `process`.
    pub(super) fn thread_of(&mut self, process: i32, thread: i32) {
        let dictionary = self.decoder.names().dictionary_mut();
        dictionary.set_process(ThreadId(thread), ProcessId(process));
    }

    /// What was read of each event, by the decoder's index.
    pub(super) fn read(&self) -> &[Read] {
        &self.read
    }

    /// Puts the events of the current processor in order and notes the last.
    pub(super) fn sort(&mut self) {
        // An interrupt may have put its record before that of the event it
        // interrupted, whose stamp is older.
        self.events.sort_by_key(|event| event.at);
        let last = self.last();
        self.cpus[self.index].last = last;
    }

    /// Tells the processes of new threads, when every buffer was drained: who made
    /// a thread may itself have been made on another processor.
    pub(super) fn tell_new_threads(&mut self) {
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
