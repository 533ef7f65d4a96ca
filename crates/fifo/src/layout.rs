//! Where things are in shared memory, in words of 8 bytes.

use crate::{Items, SizeError};

/// The most bytes of an item.
pub const ITEM_BYTES_MAX: usize = 64 << 10;

/// The most bytes of a ring.
pub const RING_BYTES_MAX: usize = 16 << 20;

/// The most items of a ring.
pub const CAPACITY_MAX: usize = 1 << 20;

/// Slots of a shared block. A reader has time for its copy while the writer writes two values.
pub(crate) const BLOCK_SLOTS: usize = 4;

/// Words before the first slot: two cache lines, so that slots share none with indices.
const HEADER: usize = 16;

/// Words of the side that writes items; slots follow.
pub(crate) mod writer {
    /// Items written.
    pub const WRITTEN: usize = 0;
    /// Items that the writer believes to be read.
    pub const FREED: usize = 1;
    /// Items refused because the ring was full.
    pub const REFUSED: usize = 2;
    /// Not 0 once the writer has ended.
    pub const CLOSED: usize = 3;
}

/// Words of the side that reads items.
pub(crate) mod reader {
    /// Items read.
    pub const READ: usize = 0;
    /// Not 0 while the reader waits for a notice of the next item.
    pub const WAITS: usize = 1;
    /// The number of the introduction to which `READ` belongs.
    pub const SESSION: usize = 2;
    /// Not 0 once the reader has ended.
    pub const CLOSED: usize = 3;
    /// All of them.
    pub const COUNT: usize = 8;
    /// Where they begin in memory that both sides write: a cache line behind those of the writer.
    pub const SHARED: usize = 8;
}

/// The words of a ring or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The number of slots: a power of two.
    pub capacity: usize,
    /// Bytes of an item.
    pub bytes: usize,
    /// Words of a slot.
    item: usize,
    /// Where the words of the reader begin in its memory.
    reader: usize,
}

impl Layout {
    /// A ring with room for at least `capacity` items.
    pub fn ring(items: &Items, capacity: usize) -> Result<Self, SizeError> {
        Self::of(items.bytes, capacity)
    }

    /// A block with one value.
    pub fn block(items: &Items) -> Result<Self, SizeError> {
        Self::of(items.bytes, BLOCK_SLOTS)
    }

    /// Slots of `bytes` each, at least `capacity` of them.
    pub fn of(bytes: usize, capacity: usize) -> Result<Self, SizeError> {
        if bytes == 0 || bytes > ITEM_BYTES_MAX {
            return Err(SizeError::Item { bytes });
        }
        if capacity == 0 || capacity > CAPACITY_MAX {
            return Err(SizeError::Capacity { capacity });
        }
        let (capacity, item) = (capacity.next_power_of_two(), bytes.div_ceil(8));
        let layout = Self { capacity, bytes, item, reader: 0 };
        let ring = layout.capacity * layout.item * 8;
        if ring > RING_BYTES_MAX {
            return Err(SizeError::Ring { bytes: ring });
        }
        Ok(layout)
    }

    /// The same, with the words of the reader in the memory of the writer.
    pub const fn shared(self) -> Self {
        Self { reader: reader::SHARED, ..self }
    }

    /// A word of the reader.
    pub const fn reader(&self, word: usize) -> usize {
        self.reader + word
    }

    /// Words of the side that writes items.
    pub const fn words(&self) -> usize {
        HEADER + self.capacity * self.item
    }

    /// The first word of a slot, and how many it has.
    pub const fn slot(&self, slot: usize) -> (usize, usize) {
        (HEADER + slot * self.item, self.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_fill_the_memory() {
        let layout = Layout::of(20, 5).unwrap();
        assert_eq!((layout.capacity, layout.item, layout.words()), (8, 3, HEADER + 24));
        let (first, count) = layout.slot(7);
        assert_eq!(first + count, layout.words());
    }

    #[test]
    fn sizes_have_limits() {
        let refused = |bytes, capacity| Layout::of(bytes, capacity).unwrap_err().to_string();
        for (bytes, capacity, said) in [
            (0, 4, "an item has 0 bytes; 1 to 65536 are possible"),
            (1 << 17, 4, "an item has 131072 bytes; 1 to 65536 are possible"),
            (8, 0, "a FIFO has room for 0 items; 1 to 1048576 are possible"),
            (
                8,
                usize::MAX,
                "a FIFO has room for 18446744073709551615 items; 1 to 1048576 are possible",
            ),
            (4096, 5000, "a FIFO takes 33554432 bytes; at most 16777216 are possible"),
        ] {
            assert_eq!(refused(bytes, capacity), said);
        }
    }
}
