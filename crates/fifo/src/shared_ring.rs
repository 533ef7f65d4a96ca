//! A ring between two processes that do not trust each other, in one piece of memory.
//!
//! Unlike a FIFO's, both sides write to the memory, each its own words. It is secret memory, from
//! which nobody can take pages. Each side keeps its index privately, so what the other one writes
//! over shown indices misleads only itself.

use std::os::fd::{AsFd, OwnedFd};

use tactus_sys::SysError;
use tactus_sys::peer_memory::{ReadableWords, Secret, WritableWords};

use crate::layout::{Layout, reader};
use crate::ring::{RingReader, RingWriter};
use crate::{Full, SizeError};

/// The size of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape(Layout);

impl Shape {
    /// Slots of `bytes` each, at least `capacity` of them.
    ///
    /// # Errors
    /// A size is not possible.
    pub fn new(bytes: usize, capacity: usize) -> Result<Self, SizeError> {
        Layout::of(bytes, capacity).map(|layout| Self(layout.shared()))
    }

    /// The number of slots: a power of two.
    pub const fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// Bytes of a slot.
    pub const fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Bytes of all slots.
    pub const fn ring_bytes(&self) -> usize {
        self.0.words() * size_of::<u64>()
    }
}

/// Makes the memory of an empty ring. Returns its file, for both sides, and why the memory is not
/// secret, so that the peer can stall this process by taking pages away, if so.
///
/// # Errors
/// `EMFILE`, `ENFILE`, `ENOMEM`.
pub fn create(shape: &Shape) -> Result<(OwnedFd, Result<(), SysError>), SysError> {
    let Secret { file, is_secret, .. } = Secret::create(shape.0.words())?;
    Ok((file, is_secret))
}

/// The end that writes items.
#[derive(Debug)]
pub struct WriteEnd {
    ring: RingWriter,
    peer: ReadableWords,
}

impl WriteEnd {
    /// Maps an empty ring.
    ///
    /// # Errors
    /// `EINVAL`: the peer could truncate the file, or it is smaller. `EAGAIN`: the limit of locked
    /// memory, `RLIMIT_MEMLOCK`, is reached.
    pub fn map(file: impl AsFd, shape: &Shape) -> Result<Self, SysError> {
        let own = WritableWords::map(&file, shape.0.words())?;
        let peer = ReadableWords::map(&file, shape.0.words())?;
        Ok(Self { ring: RingWriter::new(own, shape.0), peer })
    }

    /// Writes an item. Returns whether the reader waits for a notice of it.
    ///
    /// # Errors
    /// The reader has not read enough.
    ///
    /// # Panics
    /// The item has another size than a slot.
    pub fn push(&mut self, item: &[u8]) -> Result<bool, Full> {
        self.read();
        self.ring.push(item)?;
        Ok(self.ring.reader_waits(&self.peer))
    }

    /// Items that the reader has read.
    pub fn read(&mut self) -> u64 {
        self.ring.look(self.peer.load(self.ring.layout.reader(reader::READ)));
        self.ring.index.freed()
    }
}

/// The end that reads items.
#[derive(Debug)]
pub struct ReadEnd {
    ring: RingReader,
    peer: ReadableWords,
}

impl ReadEnd {
    /// Maps an empty ring.
    ///
    /// # Errors
    /// As [`WriteEnd::map`].
    pub fn map(file: impl AsFd, shape: &Shape) -> Result<Self, SysError> {
        let own = WritableWords::map(&file, shape.0.words())?;
        let peer = ReadableWords::map(&file, shape.0.words())?;
        Ok(Self { ring: RingReader::new(own, shape.0, 0), peer })
    }

    /// Copies the next item, if there is one, and returns whether there was. Never waits.
    ///
    /// # Panics
    /// The item has another size than a slot.
    pub fn pop(&mut self, item: &mut [u8]) -> bool {
        self.ring.pop(&self.peer, item)
    }

    /// Requests a notice of the next item. Returns whether one is there already.
    pub fn request_notice(&mut self) -> bool {
        self.ring.request_notice(Some(&self.peer))
    }

    /// Whether the writer has shown an index that an honest one never shows.
    pub const fn is_broken(&self) -> bool {
        self.ring.index.invalid() > 0 || self.ring.index.lost() > 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use proptest::prelude::*;

    use super::*;

    fn ends(bytes: usize, capacity: usize) -> (WriteEnd, ReadEnd, OwnedFd, Shape) {
        let shape = Shape::new(bytes, capacity).unwrap();
        let (file, _) = create(&shape).unwrap();
        let (write, read) = (WriteEnd::map(&file, &shape), ReadEnd::map(&file, &shape));
        (write.unwrap(), read.unwrap(), file, shape)
    }

    #[test]
    fn items_come_out_as_they_went_in() {
        let (mut write, mut read, _file, shape) = ends(12, 3);
        assert_eq!(shape.capacity(), 4);
        let mut item = [0; 12];
        for round in 0..10_u8 {
            assert!(!read.pop(&mut item));
            for number in 0..4 {
                assert_eq!(write.push(&[round * 4 + number; 12]), Ok(false));
            }
            assert_eq!(write.push(&[0; 12]), Err(Full));
            for number in 0..4 {
                assert!(read.pop(&mut item));
                assert_eq!(item, [round * 4 + number; 12]);
            }
            assert_eq!(write.read(), (u64::from(round) + 1) * 4);
        }
        assert!(!read.is_broken());
    }

    #[test]
    fn a_waiting_reader_is_to_be_notified_once() {
        let (mut write, mut read, ..) = ends(8, 4);
        assert!(!read.request_notice());
        assert_eq!(write.push(&[1; 8]), Ok(true));
        assert!(read.request_notice(), "one is there");
        assert!(read.pop(&mut [0; 8]));
        assert_eq!(write.push(&[2; 8]), Ok(false));
    }

    proptest! {
        /// A hostile peer writes any word of the memory at any time.
        #[test]
        fn any_word_may_change(
            changes in prop::collection::vec(
                (0..48_usize, prop_oneof![0..20_u64, any::<u64>()], any::<bool>()),
                0..100,
            ),
        ) {
            let (mut write, mut read, file, shape) = ends(8, 32);
            let hostile = WritableWords::map(&file, shape.0.words()).unwrap();
            for (word, value, pushes) in changes {
                hostile.words()[word].store(value, Ordering::Relaxed);
                if pushes {
                    let _ = write.push(&[7; 8]);
                }
                for _ in 0..=shape.capacity() {
                    read.pop(&mut [0; 8]);
                }
                let _ = read.request_notice();
            }
        }
    }
}
