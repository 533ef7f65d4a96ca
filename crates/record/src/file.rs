//! Recordings in files and in memory, readable up to the last complete block.
//!
//! ```no_run
//! use std::path::Path;
//! use tactus_model::recording::{EventSource, Item};
//! use tactus_record::file::RecordingFile;
//!
//! let mut recording = RecordingFile::open(Path::new("late.tactusrec"))?;
//! while let Some(item) = recording.next_item()? {
//!     if let Item::Event(event) = item {
//!         println!("{} cpu{} {:?}", event.at.as_nanos(), event.cpu, event.kind);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod storage;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use tactus_model::recording::{
    About, Dictionary, Event, EventSource, Item, Lost, Recording, SourceError,
};
use tactus_model::time::{Instant, Monotonic};

use crate::codec::{
    BadBlock, Block, BlockHeader, BlockKind, EventBlock, EventBlockHead, MAGIC, PREAMBLE, VERSION,
    decode_dictionary, decode_losses, encode_dictionary, encode_losses, preamble,
};
use crate::merge::{Merge, damaged};
use crate::summary::RecordingSummary;
use storage::Storage;

/// A stored recording: a source of its events.
#[derive(Debug)]
pub struct RecordingFile {
    storage: Storage,
    about: About,
    dictionary: Dictionary,
    losses: Vec<Lost>,
    events: Vec<Place>,
    summary: Option<RecordingSummary>,
    cut_off: Option<CutOff>,
    reading: Reading,
}

/// The bytes after the last complete block of an incomplete recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// The number of unusable bytes.
    pub bytes: u64,
    /// Why they cannot be used.
    pub reason: BadBlock,
}

/// The position of a block of events.
#[derive(Clone, Copy, Debug)]
struct Place {
    head: EventBlockHead,
    offset: u64,
    length: usize,
}

/// How far the source has been read.
#[derive(Debug, Default)]
struct Reading {
    merge: Merge<(u64, usize)>,
    /// The number of losses that have been returned.
    losses: usize,
    ahead: Option<Item>,
}

/// Why a file cannot be opened as a recording.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a recording.
    #[error("the file is not a recording of tactus")]
    NotARecording,
    /// A later version of tactus wrote the file.
    #[error(
        "the recording has format {0}, and this version of tactus reads formats up to {VERSION}"
    )]
    Version(u32),
    /// The file ends before the description of what it covers.
    #[error("the recording is truncated at its beginning: {0}")]
    Beginning(BadBlock),
    /// A block before the end is damaged.
    #[error(transparent)]
    Damaged(#[from] SourceError),
}

impl RecordingFile {
    /// Opens a file and reads everything except the events.
    ///
    /// # Errors
    /// The file cannot be read, is not a recording, or is damaged before its end. A
    /// file that is truncated opens: see [`Self::cut_off`].
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::from_storage(Storage::File(std::fs::File::open(path)?))
    }

    /// Takes a recording in memory.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, OpenError> {
        Self::from_storage(Storage::Memory(bytes))
    }

    fn from_storage(storage: Storage) -> Result<Self, OpenError> {
        let end = storage.length()?;
        if end < PREAMBLE as u64 {
            return Err(OpenError::NotARecording);
        }
        let start = storage.read(0, PREAMBLE)?;
        if start[..8] != MAGIC {
            return Err(OpenError::NotARecording);
        }
        let version = u32::from_le_bytes([start[8], start[9], start[10], start[11]]);
        if !(1..=VERSION).contains(&version) {
            return Err(OpenError::Version(version));
        }
        let mut offset = PREAMBLE as u64;
        let (header, first) = match load_block(&storage, offset, end)? {
            Ok(block) => block,
            Err(reason) => return Err(OpenError::Beginning(reason)),
        };
        let about = serde_json::from_slice(first.payload())
            .ok()
            .filter(|_| header.kind == BlockKind::About)
            .ok_or(OpenError::NotARecording)?;
        offset += (BlockHeader::LENGTH + header.length) as u64;
        let mut file = Self {
            storage,
            about,
            dictionary: Dictionary::new(),
            losses: Vec::new(),
            events: Vec::new(),
            summary: None,
            cut_off: None,
            reading: Reading::default(),
        };
        while offset < end {
            match file.take_block(offset, end)? {
                Ok(next) => offset = next,
                Err(reason) => {
                    file.cut_off = Some(CutOff { bytes: end - offset, reason });
                    break;
                }
            }
        }
        // What was read at the end is of the whole recording.
        if let Some(quotas) = file.summary.as_mut().and_then(|summary| summary.quotas.take()) {
            file.about.quotas = Some(quotas);
        }
        file.losses.sort_by_key(|lost| lost.from);
        file.rewind();
        Ok(file)
    }

    /// Adds the block at `offset`; returns the offset of the next block, or why there
    /// is no complete block.
    fn take_block(&mut self, offset: u64, end: u64) -> Result<Result<u64, BadBlock>, OpenError> {
        let header = match load_header(&self.storage, offset, end)? {
            Ok(header) => header,
            Err(reason) => return Ok(Err(reason)),
        };
        let next = offset + (BlockHeader::LENGTH + header.length) as u64;
        // The checksum of a block of events is checked when the block is read, except
        // for the last block: a machine that lost power may have kept only the length
        // of the file.
        if header.kind == BlockKind::Events && next < end {
            let start = offset + BlockHeader::LENGTH as u64;
            let head = self.storage.read(start, EventBlockHead::LENGTH.min(header.length))?;
            let head = EventBlockHead::parse(&head).map_err(damaged)?;
            self.events.push(Place { head, offset, length: header.length });
            return Ok(Ok(next));
        }
        let block = match load_block(&self.storage, offset, end)? {
            Ok((_, block)) => block,
            Err(reason) if next == end => return Ok(Err(reason)),
            Err(reason) => return Err(damaged(reason).into()),
        };
        let payload = block.payload();
        match header.kind {
            BlockKind::Events => {
                let head = EventBlockHead::parse(payload).map_err(damaged)?;
                self.events.push(Place { head, offset, length: header.length });
            }
            BlockKind::Dictionary => {
                decode_dictionary(payload, &mut self.dictionary).map_err(damaged)?;
            }
            BlockKind::Losses => {
                decode_losses(payload, &mut self.losses).map_err(damaged)?;
            }
            BlockKind::Summary => {
                let summary = serde_json::from_slice(payload).map_err(|error| {
                    SourceError::Damaged(format!("the summary cannot be read: {error}"))
                })?;
                self.summary = Some(summary);
            }
            BlockKind::About => {
                let twice = BadBlock::Payload("the recording begins twice");
                return Err(damaged(twice).into());
            }
        }
        Ok(Ok(next))
    }

    /// Restarts at the first event.
    pub fn rewind(&mut self) {
        self.reading = Reading::default();
        for place in &self.events {
            self.reading.merge.add(place.head, (place.offset, place.length));
        }
    }

    /// The accounts and costs; `None` if the recording is incomplete.
    pub fn summary(&self) -> Option<&RecordingSummary> {
        self.summary.as_ref()
    }

    /// The unusable bytes at the end of a truncated file.
    pub fn cut_off(&self) -> Option<CutOff> {
        self.cut_off
    }

    /// All losses, in the order in which they began.
    pub fn losses(&self) -> &[Lost] {
        &self.losses
    }

    /// The number of events in the recording.
    pub fn event_count(&self) -> u64 {
        self.events.iter().map(|place| u64::from(place.head.count)).sum()
    }

    /// The time of the last event; `None` without events.
    pub fn last_event(&self) -> Option<Instant<Monotonic>> {
        self.events.iter().map(|place| place.head.last).max()
    }

    /// The bytes of the whole recording, as a file holds them.
    ///
    /// # Errors
    /// The recording is in a file that cannot be read.
    pub fn into_bytes(self) -> io::Result<Vec<u8>> {
        match self.storage {
            Storage::Memory(bytes) => Ok(bytes),
            Storage::File(_) => {
                let length = usize::try_from(self.storage.length()?);
                self.storage.read(0, length.map_err(io::Error::other)?)
            }
        }
    }

    fn next_event(&mut self) -> Result<Option<Item>, SourceError> {
        let storage = &self.storage;
        let mut load = |(offset, length)| {
            let bytes = storage
                .read(offset, BlockHeader::LENGTH + length)
                .map_err(|error| SourceError::BrokenOff(error.to_string()))?;
            Block::from_bytes(bytes).map(Block::into_payload).map_err(damaged)
        };
        let end = Instant::<Monotonic>::from_nanos(u64::MAX);
        Ok(self.reading.merge.next(end, &mut load)?.map(Item::Event))
    }
}

impl EventSource for RecordingFile {
    fn about(&self) -> &About {
        &self.about
    }

    fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    fn next_item(&mut self) -> Result<Option<Item>, SourceError> {
        if self.reading.losses >= self.losses.len() && self.reading.ahead.is_none() {
            return self.next_event();
        }
        let item = match self.reading.ahead.take() {
            Some(item) => Some(item),
            None => self.next_event()?,
        };
        let Some(&lost) = self.losses.get(self.reading.losses) else { return Ok(item) };
        match item {
            Some(Item::Event(event)) if event.at <= lost.from => Ok(item),
            _ => {
                self.reading.ahead = item;
                self.reading.losses += 1;
                Ok(Some(Item::Lost(lost)))
            }
        }
    }
}

type Loaded<T> = Result<Result<T, BadBlock>, io::Error>;

fn load_header(storage: &Storage, offset: u64, end: u64) -> Loaded<BlockHeader> {
    if end - offset < BlockHeader::LENGTH as u64 {
        return Ok(Err(BadBlock::CutOff));
    }
    let header = BlockHeader::parse(&storage.read(offset, BlockHeader::LENGTH)?);
    let fits = |header: &BlockHeader| end - offset >= (BlockHeader::LENGTH + header.length) as u64;
    Ok(header.and_then(|header| if fits(&header) { Ok(header) } else { Err(BadBlock::CutOff) }))
}

fn load_block(storage: &Storage, offset: u64, end: u64) -> Loaded<(BlockHeader, Block)> {
    let header = match load_header(storage, offset, end)? {
        Ok(header) => header,
        Err(reason) => return Ok(Err(reason)),
    };
    let bytes = storage.read(offset, BlockHeader::LENGTH + header.length)?;
    Ok(Block::from_bytes(bytes).map(|block| (header, block)))
}

/// Encodes a recording in memory as a file would hold it: for samples that are stored
/// with their events, and for tests.
pub fn to_bytes(recording: &Recording) -> Vec<u8> {
    let mut bytes = preamble().to_vec();
    bytes.extend_from_slice(about_block(&recording.about).bytes());
    for block in encode_dictionary(&recording.dictionary, &mut Default::default()) {
        bytes.extend_from_slice(block.bytes());
    }
    let mut by_cpu: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
    for event in &recording.events {
        by_cpu.entry(event.cpu).or_default().push(*event);
    }
    for (cpu, events) in by_cpu {
        for block in EventBlock::encode(cpu, &events) {
            bytes.extend_from_slice(block.bytes());
        }
    }
    if !recording.losses.is_empty() {
        bytes.extend_from_slice(encode_losses(&recording.losses).bytes());
    }
    bytes
}

/// The first block of a recording.
pub(crate) fn about_block(about: &About) -> Block {
    json_block(BlockKind::About, about)
}

/// The last block of a recording.
pub(crate) fn summary_block(summary: &RecordingSummary) -> Block {
    json_block(BlockKind::Summary, summary)
}

fn json_block(kind: BlockKind, value: &impl serde::Serialize) -> Block {
    Block::build(kind, |bytes| {
        serde_json::to_writer(bytes, value).expect("plain structures become JSON in memory");
    })
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Nanos;

    use super::*;
    use crate::simulate::{Plan, simulate};

    #[test]
    fn formats_up_to_the_present_one_are_read() {
        let recording = simulate(&Plan { length: Nanos::from_millis(10), ..Plan::default() });
        let mut bytes = to_bytes(&recording.recording);
        let mut check = |version: u32| {
            bytes[MAGIC.len()..PREAMBLE].copy_from_slice(&version.to_le_bytes());
            RecordingFile::from_bytes(bytes.clone())
        };
        for version in 1..=VERSION {
            let file = check(version).unwrap();
            assert_eq!(file.event_count(), recording.recording.events.len() as u64);
        }
        for version in [0, VERSION + 1] {
            assert!(matches!(check(version), Err(OpenError::Version(v)) if v == version));
        }
    }
}
