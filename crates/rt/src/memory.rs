//! Memory that is there before it is needed.

use std::collections::TryReserveError;
use std::hint::black_box;
use std::ops::Deref;

/// A list with a fixed limit, whose memory was taken and touched beforehand: pushing to it
/// allocates nothing and causes no page fault.
///
/// It cannot be cloned, because the memory of a clone would be new.
#[derive(Debug)]
pub struct TouchedVec<T> {
    items: Vec<T>,
    /// The allocator may have given more than was asked for.
    limit: usize,
}

impl<T> TouchedVec<T> {
    /// Takes memory for `limit` items and touches all of it.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn take(limit: usize) -> Result<Self, TryReserveError> {
        Ok(Self { items: tactus_sys::memory::touched_vec(limit)?, limit })
    }

    /// Appends an item.
    ///
    /// # Errors
    /// The item, when the list is full.
    #[inline]
    pub fn try_push(&mut self, item: T) -> Result<(), T> {
        if self.items.len() < self.limit {
            self.items.push(item);
            Ok(())
        } else {
            Err(item)
        }
    }

    /// Drops all items and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// The items as an ordinary list.
    pub fn into_vec(self) -> Vec<T> {
        self.items
    }
}

impl<T> Deref for TouchedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

/// How much stack one turn of [`touch_stack`] touches, in bytes: the smallest page of any
/// machine that Linux runs on.
const FRAME: usize = 4096;

/// Touches at least `depth` bytes of the calling thread's stack below the caller, so that
/// calls within that depth cause no page fault.
///
/// The stack must be deeper than that: 2 MiB in a thread of Rust's standard library, 8 MiB
/// in the first thread of most programs.
#[inline(never)]
pub fn touch_stack(depth: usize) {
    let mut frame = [0_u8; FRAME];
    // The compiler must believe that the bytes are looked at, or it leaves them out.
    black_box(frame.as_mut_slice());
    if depth > FRAME {
        touch_stack(depth - FRAME);
    }
    // Looked at again, so that the frames lie below each other.
    black_box(frame.as_mut_slice());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults() -> u64 {
        tactus_sys::usage::of_this_thread().unwrap().minor_faults
    }

    #[test]
    fn a_list_is_resident_from_the_start_and_full_at_its_limit() {
        let mut list = TouchedVec::take(100_000).unwrap();
        let before = faults();
        while list.try_push([7_u64; 2]).is_ok() {}
        let faults = faults() - before;
        // 1.6 MB are 390 pages; a few faults may come from elsewhere in the process.
        assert!(faults < 20, "{faults} faults");
        assert_eq!((list.len(), list.try_push([0; 2])), (100_000, Err([0; 2])));
        list.clear();
        assert!(list.is_empty() && list.try_push([1; 2]).is_ok());
        assert_eq!(list.into_vec(), [[1; 2]]);
    }

    #[test]
    fn items_of_any_type_are_kept() {
        let mut list = TouchedVec::take(2).unwrap();
        list.try_push("text".to_owned()).unwrap();
        assert_eq!(list.iter().map(String::as_str).collect::<Vec<_>>(), ["text"]);
        assert!(TouchedVec::<u64>::take(usize::MAX / 8).is_err());
    }

    /// Uses `depth` bytes of stack and more, by other frames than the function under test.
    #[inline(never)]
    fn descend(depth: usize) {
        let mut frame = [1_u8; 1024];
        black_box(frame.as_mut_slice());
        if depth > 1024 {
            descend(depth - 1024);
        }
        black_box(frame.as_mut_slice());
    }

    #[test]
    fn stack_that_was_touched_needs_no_page_fault() {
        const DEPTH: usize = 512 << 10;
        let faults = std::thread::spawn(|| {
            touch_stack(DEPTH);
            let before = faults();
            descend(DEPTH / 2);
            faults() - before
        });
        let faults = faults.join().unwrap();
        // It would be 64 and more on a stack that was not touched.
        assert!(faults < 10, "{faults} faults");
    }
}
