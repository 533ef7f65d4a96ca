//! A channel as the broker has it: its memory, and how a new peer gets its own.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tactus_sys::SysError;
use tactus_sys::peer_memory::{ReadableWords, Secret};
use tactus_sys::private_futex::Signal;

use crate::handover::{Handover, Peer};
use crate::index;
use crate::layout::{Layout, reader, writer};

/// The memory that the peer of a channel writes, and who reads it.
#[derive(Debug)]
pub(crate) enum PeerMemory {
    /// A reader's index.
    Reader(Arc<Handover>),
    /// A writer's items; the signal wakes the real-time thread.
    Writer(Arc<Handover>, Arc<Signal>),
    /// None: any number of peers only read.
    None,
}

/// A channel.
#[derive(Debug)]
pub(crate) struct Channel {
    /// The memory of the real-time side, for peers.
    pub file: OwnedFd,
    /// The same, for the broker.
    memory: ReadableWords,
    pub layout: Layout,
    pub peer: PeerMemory,
    /// What the last peer wrote.
    last: Option<ReadableWords>,
}

impl Channel {
    /// The real-time side writes `words` words of `file`.
    pub fn new(
        file: OwnedFd,
        words: usize,
        layout: Layout,
        peer: PeerMemory,
    ) -> Result<Self, SysError> {
        let memory = ReadableWords::map(&file, words)?;
        Ok(Self { file, memory, layout, peer, last: None })
    }

    /// The index of the first item for the next reader.
    fn start(&self) -> u64 {
        let freed = self.memory.load(writer::FREED);
        let shown = self.last.as_ref().map_or(freed, |last| last.load(reader::READ));
        index::resume(freed, shown, self.memory.load(writer::WRITTEN))
    }

    /// Makes memory for a new peer, and hands it to the real-time side. Returns the index of the
    /// peer's first item, and the file.
    pub fn welcome(&mut self, session: u64) -> Result<(u64, Option<OwnedFd>), SysError> {
        let words = match self.peer {
            PeerMemory::None => return Ok((0, None)),
            PeerMemory::Reader(_) => reader::COUNT,
            PeerMemory::Writer(..) => self.layout.words(),
        };
        // Nobody who knew an earlier peer's memory can write to this.
        let Secret { words: memory, file, .. } = Secret::create(words)?;
        let mut start = 0;
        match &self.peer {
            PeerMemory::Reader(handover) => {
                let watched = ReadableWords::map(&file, words)?;
                start = self.start();
                memory.words()[reader::READ].store(start, Ordering::Release);
                self.last = Some(watched);
                handover.offer(Peer { words: memory.into_readable(), session });
            }
            PeerMemory::Writer(handover, arrivals) => {
                handover.offer(Peer { words: memory.into_readable(), session });
                arrivals.send();
            }
            PeerMemory::None => {}
        }
        Ok((start, Some(file)))
    }
}
