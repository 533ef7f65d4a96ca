//! A recorder for programs that always run: the kernel overwrites the oldest events, and nothing
//! reads them until they are wanted.
//!
//! It has no threads and costs only what the kernel needs to write an event. A
//! [`Recorder`](super::Recorder) that keeps the last seconds reads and packs every event, which
//! costs several times as much, but reaches further back on a busy machine. Only tracefs has such
//! buffers here.

use std::ops::Range;
use std::sync::Arc;

use tactus_model::recording::{About, LateWakeup};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};

use super::error::RecordError;
use super::intake::Intake;
use super::mechanism::{Buffers, Opened};
use super::open::{Prepared, open_traced};
use super::options::Options;
use super::pace::Pace;
use super::recorder::about;
use super::symbols::Symbols;
use super::tracefs::Traced;
use crate::codec::{Block, DictionaryMark, EventBlock, encode_dictionary, encode_losses, preamble};
use crate::file::{about_block, summary_block};
use crate::summary::{RecordingCost, RecordingSummary};

/// A recording in buffers that the kernel overwrites. Dropping it ends the recording.
pub struct OverwritingRecorder {
    opened: Opened<Traced>,
    about: About,
    symbols: Arc<Symbols>,
}

/// The newest events, as a file of a recording holds them.
#[derive(Debug)]
pub struct Newest {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// Its accounts and costs.
    pub summary: RecordingSummary,
}

/// The number of events that are packed into a block.
const EVENTS_A_BLOCK: usize = 2048;

impl OverwritingRecorder {
    /// Opens the events, and records from then on. `options` say what, and the size of the
    /// buffers; its drainer and where it keeps events do not matter.
    ///
    /// # Errors
    /// This process may not have an instance of tracefs, or none of the events can be recorded.
    pub fn start(options: Options) -> Result<Self, RecordError> {
        let prepared = Prepared::new(&options).map_err(RecordError::of_instance)?;
        let opened = open_traced(&options, prepared)?;
        let symbols = options.symbols.unwrap_or_else(|| Arc::new(Symbols::read()));
        opened.buffers.overwrite()?;
        opened.buffers.enable()?;
        let started = tactus_sys::clock::now::<Monotonic>();
        let about = about(&opened, started, options.observers);
        Ok(Self { opened, about, symbols })
    }

    /// What the recording covers, as if nothing had been overwritten.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// What the machine did not grant.
    pub fn shortfalls(&self) -> &[Shortfall] {
        &self.opened.shortfalls
    }

    /// The size of the buffers of all CPUs together, in bytes.
    pub fn memory(&self) -> u64 {
        self.opened.buffers.size() as u64 * self.about.cpus.iter().count() as u64
    }

    /// The number of events that the kernel has recorded until now.
    ///
    /// # Errors
    /// None known.
    pub fn counted(&self) -> Result<u64, RecordError> {
        Ok(self.opened.buffers.counted()?)
    }

    /// Takes the newest events out of the buffers. What happens meanwhile is not recorded; what
    /// happens afterwards is. `late` gets the time that the events cover, and returns the late
    /// wakeup for which they are taken.
    ///
    /// # Errors
    /// None known.
    pub fn take(
        &mut self,
        late: impl FnOnce(Range<Instant<Monotonic>>) -> Option<LateWakeup>,
    ) -> Result<Newest, RecordError> {
        self.opened.buffers.disable()?;
        let ended = tactus_sys::clock::now::<Monotonic>();
        let drained = self.drain(ended);
        self.opened.buffers.enable()?;
        let next = tactus_sys::clock::now::<Monotonic>();
        let Drained { mut intake, events, started, mut cost } = drained?;
        self.about.started = next;
        let about = About { started, saved_for: late(started..ended), ..self.about.clone() };

        intake.add_new_threads();
        let dictionary = intake.decoder.names().dictionary_mut();
        super::threads::add_processes(dictionary);
        self.symbols.name_functions(dictionary, 1);
        let mut blocks = encode_dictionary(dictionary, &mut DictionaryMark::default());
        blocks.extend(events);
        if !intake.losses.is_empty() {
            blocks.push(encode_losses(&intake.losses));
        }
        cost.kept_bytes = blocks.iter().map(|block| block.bytes().len() as u64).sum();
        cost.longest_drain = next - ended;
        let summary = RecordingSummary {
            started,
            ended,
            // The kernel does not count by event, and no CPU's account balances: it has lost what
            // was overwritten.
            accounts: Vec::new(),
            cpus: Vec::new(),
            absent: self.opened.absent.clone(),
            loss_windows: intake.losses.len() as u64,
            undecoded: intake.undecoded,
            refused_names: intake.decoder.names().dictionary().refused(),
            cost,
            shortfalls: self.opened.shortfalls.clone(),
            quotas: None,
        };
        let mut bytes = preamble().to_vec();
        for block in [about_block(&about)].iter().chain(&blocks).chain([&summary_block(&summary)]) {
            bytes.extend_from_slice(block.bytes());
        }
        Ok(Newest { bytes, summary })
    }

    /// Reads the buffers, which are disabled.
    fn drain(&mut self, ended: Instant<Monotonic>) -> Result<Drained, RecordError> {
        let Opened { buffers, cpus, decoder, names, .. } = &mut self.opened;
        let size = buffers.size();
        let mut intake = Intake::new(decoder.anew(), cpus, names.len(), self.about.started, 0);
        let mut cost = RecordingCost { ring_size: size as u64, drains: 1, ..Default::default() };
        let (mut events, mut started) = (Vec::new(), self.about.started);
        // Nothing is lost meanwhile, so other threads may run.
        let mut pace = Pace::new(usize::MAX);
        for (index, cpu) in cpus.iter().enumerate() {
            intake.stand_at(index);
            pace.next_buffer();
            let (bytes, are_replaced) = buffers.drain_newest(index, &mut intake, &mut pace)?;
            intake.sort();
            if are_replaced {
                // From the first event that is left, this CPU's events are complete.
                let first = intake.events.first().map_or(ended, |event| event.at);
                started = started.max(first);
            }
            for some in intake.events.chunks(EVENTS_A_BLOCK) {
                events.extend(EventBlock::encode(cpu, some));
            }
            cost.events += intake.events.len() as u64;
            cost.ring_bytes += bytes;
            cost.fullest_ring = cost.fullest_ring.max(bytes);
            intake.events.clear();
        }
        Ok(Drained { intake, events, started, cost })
    }
}

/// What was in the buffers.
struct Drained {
    intake: Intake,
    /// Blocks of events.
    events: Vec<Block>,
    /// From when on the events of all CPUs are complete.
    started: Instant<Monotonic>,
    cost: RecordingCost,
}
