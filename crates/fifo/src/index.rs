//! Which slot of a ring is next: the arithmetic of both sides, without memory.
//!
//! A ring has a writer and a reader. Each keeps its own index privately and shows it to the peer.
//! An index counts items since the beginning and never decreases. The index that a peer shows may
//! be any number: it is accepted only if an honest peer could show it, and counted as invalid
//! otherwise.

/// The most items that a reader skips at once. An honest writer is misled only until it takes the
/// memory of its next reader, and overwrites fewer items in that time.
const SKIP_MAX: u64 = 1 << 32;

/// Accepts the index that a peer shows if it is between the last accepted one and `limit`.
const fn accept(seen: &mut u64, shown: u64, limit: u64) -> bool {
    let is_valid = shown.wrapping_sub(*seen) <= limit.wrapping_sub(*seen);
    if is_valid {
        *seen = shown;
    }
    is_valid
}

/// The writer of a ring.
#[derive(Clone, Debug)]
pub struct WriteIndex {
    capacity: u64,
    written: u64,
    /// The reader's index.
    freed: u64,
    refused: u64,
    invalid: u64,
}

impl WriteIndex {
    /// An empty ring of `capacity` slots, which is a power of two.
    pub const fn new(capacity: u64) -> Self {
        assert!(capacity.is_power_of_two(), "the capacity is a power of two");
        Self { capacity, written: 0, freed: 0, refused: 0, invalid: 0 }
    }

    /// Looks at the index that the reader shows. Returns whether it is one that a reader can have.
    pub const fn look(&mut self, shown: u64) -> bool {
        let is_valid = accept(&mut self.freed, shown, self.written);
        self.invalid += !is_valid as u64;
        is_valid
    }

    /// The slot for the next item; `None`, and counted, if the ring is full.
    pub const fn claim(&mut self) -> Option<usize> {
        if self.in_flight() >= self.capacity {
            self.refused += 1;
            return None;
        }
        Some((self.written & (self.capacity - 1)) as usize)
    }

    /// Counts the item that was written into the slot. Returns the index to show.
    pub const fn publish(&mut self) -> u64 {
        self.written += 1;
        self.written
    }

    /// Items written.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Items that the reader no longer needs.
    pub const fn freed(&self) -> u64 {
        self.freed
    }

    /// Items written that the reader may still need.
    pub const fn in_flight(&self) -> u64 {
        self.written - self.freed
    }

    /// Items that found the ring full.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Looks at an index that no reader can have.
    pub const fn invalid(&self) -> u64 {
        self.invalid
    }
}

/// The reader of a ring.
#[derive(Clone, Debug)]
pub struct ReadIndex {
    capacity: u64,
    read: u64,
    /// The writer's index.
    written: u64,
    popped: u64,
    lost: u64,
    invalid: u64,
}

impl ReadIndex {
    /// A ring of `capacity` slots, which is a power of two, whose next item is item `index`.
    pub const fn starting_at(index: u64, capacity: u64) -> Self {
        assert!(capacity.is_power_of_two(), "the capacity is a power of two");
        Self { capacity, read: index, written: index, popped: 0, lost: 0, invalid: 0 }
    }

    /// Looks at the index that the writer shows. Returns whether it is one that a writer can have.
    pub const fn look(&mut self, shown: u64) -> bool {
        let limit = self.read.wrapping_add(self.capacity);
        let is_valid = accept(&mut self.written, shown, limit);
        self.invalid += !is_valid as u64;
        is_valid
    }

    /// The slot of the next item, if there is one.
    pub const fn next(&self) -> Option<usize> {
        if self.available() == 0 {
            return None;
        }
        Some((self.read & (self.capacity - 1)) as usize)
    }

    /// Skips items that the writer may have overwritten, because it believes that all up to `freed`
    /// were read. Returns whether there were any. A skip that no writer can cause is counted as
    /// invalid, so that one lie does not hide all later losses.
    pub const fn skip_to(&mut self, freed: u64) -> bool {
        let skipped = freed.wrapping_sub(self.read);
        // Behind the index, or ahead of it.
        let is_ahead = skipped != 0 && skipped < 1 << 63;
        let is_overtaken = is_ahead && skipped <= SKIP_MAX;
        self.invalid += (is_ahead && !is_overtaken) as u64;
        if is_overtaken {
            if skipped > self.available() {
                self.written = freed;
            }
            self.read = freed;
            self.lost = self.lost.saturating_add(skipped);
        }
        is_overtaken
    }

    /// Counts the item that was read. Returns the index to show.
    pub const fn advance(&mut self) -> u64 {
        self.read = self.read.wrapping_add(1);
        self.popped += 1;
        self.read
    }

    /// The index of the next item.
    pub const fn read(&self) -> u64 {
        self.read
    }

    /// Items that wait to be read, as of the last look.
    pub const fn available(&self) -> u64 {
        self.written.wrapping_sub(self.read)
    }

    /// Items that were read.
    pub const fn popped(&self) -> u64 {
        self.popped
    }

    /// Items that were skipped.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Looks at an index that no writer can have.
    pub const fn invalid(&self) -> u64 {
        self.invalid
    }
}

/// Where the next reader of a ring begins: at the index that the last one showed, if a reader can
/// have it, else at what the writer believes to be read.
pub const fn resume(freed: u64, shown: u64, written: u64) -> u64 {
    let mut start = freed;
    accept(&mut start, shown, written);
    start
}

/// Whether a value of a block is whole that was copied after the writer showed the count `before`,
/// if it shows `after` now: it has not come around to the same slot.
pub const fn is_whole(before: u64, after: u64) -> bool {
    after.wrapping_sub(before) < crate::layout::BLOCK_SLOTS as u64 - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What happens next.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push,
        Pop,
        /// The writer sees this as the reader's index.
        LieToWriter(u64),
        /// The reader sees this as the writer's index.
        LieToReader(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let lie = || prop_oneof![0..40_u64, any::<u64>(), (0..9_u64).prop_map(|n| u64::MAX - n)];
        let step = prop_oneof![
            4 => Just(Step::Push),
            4 => Just(Step::Pop),
            1 => lie().prop_map(Step::LieToWriter),
            1 => lie().prop_map(Step::LieToReader),
        ];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn honest_sides_lose_nothing(
            pushes in prop::collection::vec(any::<bool>(), 0..300),
            power in 0..5_u32,
        ) {
            let capacity = 1 << power;
            let (mut writer, mut reader) =
                (WriteIndex::new(capacity), ReadIndex::starting_at(0, capacity));
            let (mut slots, mut next, mut expected) = (vec![0; capacity as usize], 0_u64, Vec::new());
            let mut offered = 0;
            for push in pushes {
                if push {
                    offered += 1;
                    writer.look(reader.read());
                    if let Some(slot) = writer.claim() {
                        slots[slot] = next;
                        expected.push(next);
                        writer.publish();
                    }
                    next += 1;
                } else {
                    reader.look(writer.written());
                    if let Some(slot) = reader.next() {
                        prop_assert_eq!(slots[slot], expected[reader.read() as usize]);
                        reader.advance();
                    }
                }
                let in_flight = writer.written() - reader.read();
                prop_assert!(in_flight <= capacity);
                prop_assert_eq!(offered, reader.read() + in_flight + writer.refused());
            }
            prop_assert_eq!((writer.invalid(), reader.invalid(), reader.lost()), (0, 0, 0));
        }

        #[test]
        fn a_lying_peer_hurts_only_itself(steps in steps(), power in 0..4_u32) {
            let capacity = 1 << power;
            let (mut writer, mut reader) =
                (WriteIndex::new(capacity), ReadIndex::starting_at(0, capacity));
            for step in steps {
                match step {
                    Step::Push => {
                        if let Some(slot) = writer.claim() {
                            prop_assert!((slot as u64) < capacity);
                            writer.publish();
                        }
                    }
                    Step::Pop => {
                        if let Some(slot) = reader.next() {
                            prop_assert!((slot as u64) < capacity);
                            reader.advance();
                        }
                    }
                    Step::LieToWriter(index) => {
                        let before = writer.freed();
                        let is_valid = writer.look(index);
                        prop_assert_eq!(writer.freed(), if is_valid { index } else { before });
                    }
                    Step::LieToReader(index) => {
                        reader.look(index);
                        reader.skip_to(index);
                    }
                }
                prop_assert!(writer.in_flight() <= capacity);
                prop_assert!(reader.available() <= capacity);
            }
        }
    }

    #[test]
    fn a_reader_skips_what_the_writer_overwrote() {
        let mut reader = ReadIndex::starting_at(10, 4);
        assert!(reader.look(14));
        assert!(!reader.skip_to(10) && !reader.skip_to(9));
        assert!(reader.skip_to(13));
        assert_eq!((reader.lost(), reader.available(), reader.next()), (3, 1, Some(1)));
        // The writer has gone further than this reader has seen.
        assert!(reader.skip_to(20) && reader.look(23));
        assert_eq!((reader.lost(), reader.available()), (10, 3));
    }

    #[test]
    fn a_skip_that_no_writer_can_cause_is_invalid_and_loses_nothing() {
        let mut reader = ReadIndex::starting_at(10, 4);
        assert!(reader.look(12));
        assert!(!reader.skip_to(1 << 62) && !reader.skip_to(11 + SKIP_MAX));
        assert_eq!((reader.lost(), reader.invalid(), reader.available()), (0, 2, 2));
    }

    #[test]
    fn the_next_reader_begins_where_the_last_one_stopped() {
        assert_eq!((resume(3, 5, 9), resume(3, 3, 9), resume(3, 9, 9)), (5, 3, 9));
        assert_eq!((resume(3, 2, 9), resume(3, 10, 9), resume(3, u64::MAX, 9)), (3, 3, 3));
    }

    #[test]
    fn a_value_is_whole_until_its_slot_is_written_again() {
        assert!(is_whole(7, 7) && is_whole(7, 9));
        assert!(!is_whole(7, 10) && !is_whole(7, 6));
    }
}
