//! The thread that stores blocks in a file or in memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use tactus_model::recording::About;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::whole_file::{Readers, WholeFile, is_left_part};

use super::copies::Copies;
use super::drainer::{Held, Parcel};
use super::error::RecordError;
use super::options::Keep;
use crate::codec::{Block, BlockKind, EventBlockHead, MAGIC, decode_losses, preamble};
use crate::file::{about_block, summary_block};
use crate::summary::{RecordingCost, RecordingSummary};

/// A request to write the content of a flight recorder to a file.
#[derive(Debug)]
pub(super) struct Save {
    pub(super) path: PathBuf,
    /// Receives the result.
    pub(super) done: Sender<Result<(), RecordError>>,
}

pub(super) struct Writer {
    pub(super) about: About,
    pub(super) parcels: Receiver<Parcel>,
    pub(super) held: Arc<Held>,
    pub(super) store: Store,
    /// For a concurrent reader, if there is one.
    pub(super) copies: Option<Copies>,
    /// Whether nobody wants the recording, whose command could not start.
    pub(super) unwanted: Arc<AtomicBool>,
}

/// Where blocks are stored.
pub(super) enum Store {
    File(RecordingBegun),
    Memory(Memory),
}

/// A recording that is written as it comes. Its part remains if it does not get to its end.
pub(super) struct RecordingBegun {
    file: WholeFile,
    path: PathBuf,
    part: Option<PathBuf>,
}

impl RecordingBegun {
    fn new(path: &Path, about: &About) -> io::Result<Self> {
        require_regular(path)?;
        let mut file = WholeFile::create_with_part(path, Readers::Owner)?;
        file.write_all(&preamble())?;
        file.write_all(about_block(about).bytes())?;
        file.flush()?;
        // From here on it can be read.
        let part = file.keep_part().map(Path::to_owned);
        Ok(Self { file, path: path.to_owned(), part })
    }

    /// Writes blocks so that a kill loses none of them.
    fn put(&mut self, blocks: &[Block]) -> Result<(), RecordError> {
        let mut write = || {
            blocks.iter().try_for_each(|block| self.file.write_all(block.bytes()))?;
            self.file.flush()
        };
        let written = write();
        written.map_err(|error| self.failed(error))
    }

    fn finish(mut self, last: &Block) -> Result<(), RecordError> {
        self.put(std::slice::from_ref(last))?;
        let Self { file, path, part } = self;
        file.finish().map_err(|error| RecordError::Write { path, error, part })
    }

    fn failed(&self, error: io::Error) -> RecordError {
        RecordError::Write { path: self.path.clone(), error, part: self.part.clone() }
    }
}

/// Blocks in memory, the oldest first.
#[derive(Default)]
pub(super) struct Memory {
    /// How far back to reach; unlimited if `None`.
    last: Option<Nanos>,
    limit: u64,
    bytes: u64,
    /// Names are never dropped: later events refer to them.
    dictionary: Vec<Block>,
    blocks: VecDeque<Block>,
    /// Events up to this time are incomplete.
    forgotten_until: Option<Instant<Monotonic>>,
}

/// The result of a recording.
pub(super) struct Kept {
    pub(super) summary: RecordingSummary,
    /// The recording as a file would hold it, if it is stored in memory.
    pub(super) bytes: Option<Vec<u8>>,
}

impl Store {
    /// Opens the store that `keep` names.
    pub(super) fn open(keep: &Keep, about: &About) -> Result<Self, RecordError> {
        Ok(match keep {
            Keep::File(path) => Self::File(RecordingBegun::new(path, about).map_err(failed(path))?),
            Keep::Memory { .. } => Self::Memory(Memory::default()),
            Keep::Flight { last, limit } => {
                Self::Memory(Memory { last: Some(*last), limit: *limit, ..Memory::default() })
            }
        })
    }
}

/// Begins the file of a saved recording, which its owner alone may read: it contains addresses of
/// the kernel.
fn create(path: &Path) -> io::Result<WholeFile> {
    require_regular(path)?;
    WholeFile::create(path, Readers::Owner)
}

/// Refuses a pipe, a device and a directory as the file of a recording, which is read again at its
/// end.
///
/// # Errors
/// There is such a thing at `path`.
pub fn require_regular(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(there) if !there.is_file() => Err(io::Error::other("it is not a regular file")),
        _ => Ok(()),
    }
}

/// The recordings in a directory that did not get to their ends, e.g. because their recorder was
/// killed, in alphabetical order.
pub fn left_parts(directory: &Path) -> Vec<PathBuf> {
    let begins_as_one = |path: &Path| {
        let mut beginning = [0; MAGIC.len()];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
        read.is_ok() && beginning == MAGIC
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let parts = entries.map(|entry| entry.path()).filter(|path| is_left_part(path));
    let mut parts: Vec<PathBuf> = parts.filter(|path| begins_as_one(path)).collect();
    parts.sort();
    parts
}

fn failed(path: &Path) -> impl Fn(io::Error) -> RecordError {
    move |error| RecordError::Write { path: path.to_owned(), error, part: None }
}

impl Writer {
    /// Stores everything that arrives, until the end.
    pub(super) fn run(mut self) -> Result<Kept, RecordError> {
        while let Ok(parcel) = self.parcels.recv() {
            match parcel {
                Parcel::Blocks { blocks, complete_until } => {
                    if let Some(copies) = &mut self.copies {
                        copies.send(&blocks, complete_until);
                    }
                    self.put(blocks)?;
                }
                Parcel::Save(save) => {
                    // A requester that no longer waits does not need the result.
                    let _ = save.done.send(self.save(&save.path));
                }
                Parcel::End(summary) => {
                    self.copies.iter().for_each(|copies| copies.end(&summary));
                    return self.end(*summary);
                }
            }
        }
        Err(RecordError::Ended("drainer"))
    }

    fn put(&mut self, blocks: Vec<Block>) -> Result<(), RecordError> {
        match &mut self.store {
            Store::File(file) => {
                file.put(&blocks)?;
                self.held.bytes.fetch_sub(length(&blocks), Ordering::Relaxed);
            }
            Store::Memory(memory) => {
                let forgotten = memory.put(blocks);
                self.held.bytes.fetch_sub(forgotten, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn save(&self, path: &Path) -> Result<(), RecordError> {
        let Store::Memory(memory) = &self.store else { return Ok(()) };
        let write = || {
            let mut file = create(path)?;
            let about = memory.about(&self.about);
            memory.write(&about, &mut file)?;
            file.write_all(summary_block(&memory.summary(&about)).bytes())?;
            file.finish()
        };
        write().map_err(failed(path))
    }

    fn end(self, summary: RecordingSummary) -> Result<Kept, RecordError> {
        let last = summary_block(&summary);
        let bytes = match self.store {
            Store::File(file) if self.unwanted.load(Ordering::Relaxed) => {
                file.file.discard();
                None
            }
            Store::File(file) => {
                file.finish(&last)?;
                None
            }
            Store::Memory(memory) => {
                let mut bytes = Vec::with_capacity(memory.bytes as usize + (1 << 12));
                let written = memory.write(&memory.about(&self.about), &mut bytes);
                written.map_err(failed(Path::new("memory")))?;
                bytes.extend_from_slice(last.bytes());
                Some(bytes)
            }
        };
        Ok(Kept { summary, bytes })
    }
}

fn length(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.bytes().len() as u64).sum()
}

impl Memory {
    /// Stores blocks; returns the number of bytes that were dropped for them.
    fn put(&mut self, blocks: Vec<Block>) -> u64 {
        for block in blocks {
            self.bytes += block.bytes().len() as u64;
            let place = match block.kind() {
                BlockKind::Dictionary => {
                    self.dictionary.push(block);
                    continue;
                }
                _ => &mut self.blocks,
            };
            place.push_back(block);
        }
        let Some(last) = self.last else { return 0 };
        let before = self.bytes;
        let newest = self.blocks.iter().rev().find_map(end_of);
        while let Some(oldest) = self.blocks.front() {
            let end = end_of(oldest);
            let is_old = match (newest, end) {
                (Some(newest), Some(end)) => newest - end > last,
                // Losses are dropped together with the events around them.
                _ => true,
            };
            // Half is left for blocks that the drainer may send meanwhile.
            if !is_old && self.bytes <= self.limit / 2 {
                break;
            }
            self.forgotten_until = self.forgotten_until.max(end);
            self.bytes -= oldest.bytes().len() as u64;
            self.blocks.pop_front();
        }
        before - self.bytes
    }

    /// What the present content covers.
    fn about(&self, about: &About) -> About {
        let started = self.forgotten_until.unwrap_or(about.started).max(about.started);
        About { started, ..about.clone() }
    }

    /// The summary of a recording that continues: without accounts, which the kernel gives only
    /// at the end.
    fn summary(&self, about: &About) -> RecordingSummary {
        let heads = self.blocks.iter().filter_map(head_of);
        let losses = self.blocks.iter().filter(|block| block.kind() == BlockKind::Losses);
        let mut windows = Vec::new();
        for block in losses {
            // Beyond the limit of a recording they are not counted here.
            let _ = decode_losses(block.payload(), &mut windows);
        }
        RecordingSummary {
            started: about.started,
            ended: heads.clone().map(|head| head.last).max().unwrap_or(about.started),
            accounts: Vec::new(),
            cpus: Vec::new(),
            absent: about.absent.clone(),
            loss_windows: windows.len() as u64,
            undecoded: 0,
            refused_names: 0,
            cost: RecordingCost {
                events: heads.map(|head| u64::from(head.count)).sum(),
                kept_bytes: self.bytes,
                ..RecordingCost::default()
            },
            shortfalls: Vec::new(),
            quotas: None,
        }
    }

    fn write(&self, about: &About, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&preamble())?;
        out.write_all(about_block(about).bytes())?;
        for block in self.dictionary.iter().chain(&self.blocks) {
            out.write_all(block.bytes())?;
        }
        Ok(())
    }
}

/// The time of a block's last event; `None` for a block without events.
fn end_of(block: &Block) -> Option<Instant<Monotonic>> {
    head_of(block).map(|head| head.last)
}

/// The head of a block of events.
fn head_of(block: &Block) -> Option<EventBlockHead> {
    if block.kind() != BlockKind::Events {
        return None;
    }
    EventBlockHead::parse(block.payload()).ok()
}

#[cfg(test)]
mod tests {
    use tactus_model::recording::{Context, Event, EventKind, ThreadId};

    use super::*;
    use crate::codec::EventBlock;

    fn second(number: u64) -> Vec<Block> {
        let events: Vec<Event> = (0..100)
            .map(|k| Event {
                at: Instant::from_nanos(number * 1_000_000_000 + k * 10_000_000),
                cpu: 0,
                thread: ThreadId::IDLE,
                context: Context::default(),
                chain: None,
                kind: EventKind::IdleExit,
            })
            .collect();
        EventBlock::encode(0, &events)
    }

    #[test]
    fn a_flight_recorder_drops_events_older_than_requested() {
        let last = Some(Nanos::from_secs(3));
        let mut memory = Memory { last, limit: 1 << 20, ..Memory::default() };
        let mut forgotten = 0;
        for number in 0..10 {
            forgotten += memory.put(second(number));
        }
        assert!(forgotten > 0);
        assert_eq!(memory.blocks.len(), 4);
        assert_eq!(memory.forgotten_until, Some(Instant::from_nanos(5_990_000_000)));
    }

    #[test]
    fn a_flight_recorder_never_holds_more_than_its_limit() {
        let last = Some(Nanos::from_secs(1000));
        let mut memory = Memory { last, limit: 2000, ..Memory::default() };
        for number in 0..50 {
            memory.put(second(number));
            assert!(memory.bytes <= 1000, "{}", memory.bytes);
        }
    }
}
