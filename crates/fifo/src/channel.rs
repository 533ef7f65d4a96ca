//! A channel as the broker has it: its memory, and how a new peer gets its own.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tactus_sys::peer_memory::{ReadableWords, Secret, WritableWords};
use tactus_sys::private_futex::Signal;
use tactus_sys::{Errno, SysError};

use crate::handover::{Handover, Peer};
use crate::index;
use crate::layout::{Layout, reader, writer};
use crate::{Received, ring};

/// The most memories that a channel has for the peers of one user.
///
/// A peer that keeps the descriptor keeps the pages of its memory, which are never swapped out, and
/// nothing shows that to the broker. So the peers of a user share this many. The real-time thread
/// may still read one of them.
const MEMORIES_OF_USER: usize = 2;

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

impl PeerMemory {
    /// Where the real-time thread gets the memory.
    fn handover(&self) -> Option<&Handover> {
        match self {
            Self::Reader(handover) | Self::Writer(handover, _) => Some(handover),
            Self::None => None,
        }
    }
}

/// Memory that a peer of a user has written or writes.
#[derive(Debug)]
struct Memory {
    user: u32,
    /// Its last introduction.
    session: u64,
    file: OwnedFd,
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
    /// Of all peers, at most [`MEMORIES_OF_USER`] of each user.
    memories: Vec<Memory>,
    /// The last introduction, and the one whose memory the real-time thread has.
    introduced: Option<u64>,
    taken: Option<u64>,
    /// What became of the items of writers that the real-time thread never had, since then.
    missed: Received,
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
        Ok(Self {
            file,
            memory,
            layout,
            peer,
            last: None,
            memories: Vec::new(),
            introduced: None,
            taken: None,
            missed: Received::NONE,
        })
    }

    /// The index of the first item for the next reader.
    fn start(&self) -> u64 {
        let freed = self.memory.load(writer::FREED);
        let shown = self.last.as_ref().map_or(freed, |last| last.load(reader::READ));
        index::resume(freed, shown, self.memory.load(writer::WRITTEN))
    }

    /// Finds memory for a new peer of a user, which earlier peers of other users never had, and
    /// which the real-time thread does not use.
    fn memory(
        &mut self,
        words: usize,
        user: u32,
        session: u64,
    ) -> Result<(WritableWords, OwnedFd), SysError> {
        let of_user = self.memories.iter_mut().filter(|memory| memory.user == user);
        let mut of_user: Vec<_> = of_user.collect();
        of_user.sort_by_key(|memory| memory.session);
        if of_user.len() < MEMORIES_OF_USER {
            let Secret { words, file, .. } = Secret::create(words)?;
            let copy = duplicate(&file)?;
            self.memories.push(Memory { user, session, file });
            return Ok((words, copy));
        }
        let is_free = |memory: &&mut Memory| Some(memory.session) != self.taken;
        let oldest = of_user.into_iter().find(is_free).ok_or(SysError::new("mmap", Errno::BUSY))?;
        let words = WritableWords::map(&oldest.file, words)?;
        words.words().iter().for_each(|word| word.store(0, Ordering::Relaxed));
        oldest.session = session;
        Ok((words, duplicate(&oldest.file)?))
    }

    /// Takes back the last peer if the real-time thread has not taken it, and counts its items.
    fn withdraw(&mut self) {
        match self.peer.handover().and_then(Handover::withdraw) {
            Some(peer) => {
                self.introduced = self.taken;
                if let PeerMemory::Writer(..) = self.peer {
                    self.missed = ring::unread(&peer.words, self.layout).after(self.missed);
                }
            }
            // The count went with the peer.
            None if self.taken != self.introduced => {
                (self.taken, self.missed) = (self.introduced, Received::NONE);
            }
            None => {}
        }
    }

    /// Finds memory for a new peer, and hands it to the real-time side. Returns the index of the
    /// peer's first item, and the file.
    pub fn welcome(&mut self, session: u64, user: u32) -> Result<(u64, Option<OwnedFd>), SysError> {
        let words = match self.peer {
            PeerMemory::None => return Ok((0, None)),
            PeerMemory::Reader(_) => reader::COUNT,
            PeerMemory::Writer(..) => self.layout.words(),
        };
        self.withdraw();
        // The memory of the last reader may be used again.
        let start = match self.peer {
            PeerMemory::Reader(_) => self.start(),
            _ => 0,
        };
        let (memory, file) = self.memory(words, user, session)?;
        let missed = self.missed;
        match &self.peer {
            PeerMemory::Reader(handover) => {
                let watched = ReadableWords::map(&file, words)?;
                memory.words()[reader::READ].store(start, Ordering::Release);
                self.last = Some(watched);
                handover.offer(Peer { words: memory.into_readable(), session, missed });
            }
            PeerMemory::Writer(handover, arrivals) => {
                handover.offer(Peer { words: memory.into_readable(), session, missed });
                arrivals.send();
            }
            PeerMemory::None => {}
        }
        self.introduced = Some(session);
        Ok((start, Some(file)))
    }
}

fn duplicate(file: &OwnedFd) -> Result<OwnedFd, SysError> {
    let errno = |error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    file.try_clone().map_err(|error| SysError::new("fcntl", errno(error)))
}
