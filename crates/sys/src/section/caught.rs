//! What was caught, and the ring through which it reaches its reader.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of records in a ring. With the copies of the stack they take 1 MiB.
pub const SLOTS: usize = 64;

/// The most bytes of the stack in a record. The frames of C's `printf` to an unbuffered stream,
/// the deepest of the usual ones, take about 10 KiB.
pub const STACK_MAX: usize = 16 << 10;

/// What the thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A system call.
    Call {
        /// Its number.
        number: i64,
        /// Its second argument: for `futex`, the operation.
        argument: u64,
    },
    /// A page fault at an address.
    Fault {
        /// The address.
        address: u64,
    },
    /// An allocation.
    Allocate {
        /// Its size in bytes.
        size: usize,
    },
    /// A change of the size of an allocation.
    Reallocate {
        /// The new size in bytes.
        size: usize,
    },
    /// The end of an allocation.
    Free,
}

/// The registers from which a stack is unwound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The instruction pointer.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer.
    pub fp: u64,
    /// The link register; 0 on x86-64, which has none.
    pub lr: u64,
}

/// What was caught.
#[derive(Debug)]
pub struct Caught {
    /// What the thread did.
    pub act: Act,
    /// When it began, on `CLOCK_MONOTONIC` in nanoseconds.
    pub began: u64,
    /// How long it took, in nanoseconds; 0 if that is not known.
    pub took: u64,
    /// The registers.
    pub registers: Registers,
    /// The length of the copy in `stack`.
    pub length: usize,
    /// The stack from the stack pointer upwards.
    pub stack: [u8; STACK_MAX],
}

impl Caught {
    /// The copy of the stack, from the stack pointer upwards.
    pub fn stack(&self) -> &[u8] {
        &self.stack[..self.length.min(STACK_MAX)]
    }
}

/// The writing end of a ring of records from threads and their signal handlers to one [`Reader`].
#[derive(Debug)]
pub struct Ring {
    slots: Box<[Slot]>,
    /// The number of slots that were ever reserved.
    reserved: AtomicU64,
    /// The number of records that were read.
    read: AtomicU64,
    lost: AtomicU64,
}

#[derive(Debug)]
struct Slot {
    /// The number of the record in the slot, from 1, once it is complete.
    complete: AtomicU64,
    caught: UnsafeCell<Caught>,
}

// SAFETY: a writer has a slot for itself from its reservation until it marks the record complete;
// only then the reader, of which there is one, reads it, and only after the reader has moved on it
// is reserved again.
unsafe impl Sync for Ring {}

/// The reading end of a [`Ring`].
#[derive(Debug)]
pub struct Reader(Arc<Ring>);

impl Ring {
    /// Allocates a ring and touches its memory.
    pub fn allocate() -> (Arc<Self>, Reader) {
        let slot = |_| Slot {
            complete: AtomicU64::new(0),
            // No zeros: the allocator would give memory that nobody has touched.
            caught: UnsafeCell::new(Caught {
                act: Act::Free,
                began: 0,
                took: 0,
                registers: Registers::default(),
                length: 0,
                stack: [0xa5; STACK_MAX],
            }),
        };
        let ring = Arc::new(Self {
            slots: (0..SLOTS).map(slot).collect(),
            reserved: AtomicU64::new(0),
            read: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        });
        (ring.clone(), Reader(ring))
    }

    /// Lets `fill` write a record; if the ring is full, counts it as lost. A signal handler may
    /// push while the thread it interrupts does.
    pub(super) fn push(&self, fill: impl FnOnce(&mut Caught)) {
        let mut number = self.reserved.load(Ordering::Relaxed);
        loop {
            if number - self.read.load(Ordering::Acquire) >= SLOTS as u64 {
                self.lost.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let (relaxed, next) = (Ordering::Relaxed, number + 1);
            match self.reserved.compare_exchange(number, next, relaxed, relaxed) {
                Ok(_) => break,
                Err(now) => number = now,
            }
        }
        let slot = &self.slots[number as usize % SLOTS];
        // SAFETY: the reservation made the slot this call's own: see `Sync` above.
        fill(unsafe { &mut *slot.caught.get() });
        slot.complete.store(number + 1, Ordering::Release);
    }
}

impl Reader {
    /// Passes the complete records to `take`, oldest first, at most one ring of them.
    pub fn read(&mut self, mut take: impl FnMut(&Caught)) {
        let ring = &*self.0;
        for _ in 0..SLOTS {
            let number = ring.read.load(Ordering::Relaxed);
            let slot = &ring.slots[number as usize % SLOTS];
            if slot.complete.load(Ordering::Acquire) != number + 1 {
                return;
            }
            // SAFETY: the record is complete, and no writer reserves the slot before `read` moves.
            take(unsafe { &*slot.caught.get() });
            ring.read.store(number + 1, Ordering::Release);
        }
    }

    /// The number of records that did not fit.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_counts_what_it_loses_and_has_room_again_when_read() {
        let (ring, mut reader) = Ring::allocate();
        let push = |size| ring.push(|caught| caught.act = Act::Allocate { size });
        (0..SLOTS + 3).for_each(push);
        let mut read = Vec::new();
        reader.read(|caught| read.push(caught.act));
        assert_eq!((read.len(), reader.lost()), (SLOTS, 3));
        assert_eq!(read[SLOTS - 1], Act::Allocate { size: SLOTS - 1 });
        push(7);
        reader.read(|caught| read.push(caught.act));
        assert_eq!((read.len(), reader.lost()), (SLOTS + 1, 3));
    }
}
