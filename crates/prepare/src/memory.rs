//! Memory that is resident before it is needed.

use std::collections::TryReserveError;
use std::hint::black_box;
use std::ops::Deref;

/// A list with a fixed limit, whose memory was allocated and touched beforehand: pushing to it
/// allocates nothing and causes no page fault.
///
/// It has no `Clone`, because the memory of a clone would not be touched.
#[derive(Debug)]
pub struct TouchedVec<T> {
    items: Vec<T>,
    /// The allocator may have returned more than was requested.
    limit: usize,
}

impl<T> TouchedVec<T> {
    /// Allocates memory for `limit` items and touches all of it.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn take(limit: usize) -> Result<Self, TryReserveError> {
        Ok(Self { items: tactus_sys::memory::touched_vec(limit)?, limit })
    }

    /// Appends an item.
    ///
    /// # Errors
    /// The item, if the list is full.
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

/// The stack that one call of [`touch_down_to`] touches, in bytes: the smallest page size of
/// Linux.
const FRAME: usize = 4096;

/// Touches at least `depth` bytes of the calling thread's stack below the caller, so that
/// calls within that depth cause no page fault.
///
/// The stack must be larger than that by some 16 KiB. It has 2 MiB in a thread of Rust's standard library,
/// and 8 MiB in the first thread of most programs.
#[inline(never)]
pub fn touch_stack(depth: usize) {
    let here = 0_u8;
    touch_down_to(black_box(&here as *const u8).addr().saturating_sub(depth));
}

/// Touches the stack from the caller down to the address `end`. Counting the frames would not do:
/// each is larger than its array, so a deep stack would end before the count does.
#[inline(never)]
fn touch_down_to(end: usize) {
    let mut frame = [0_u8; FRAME];
    // Without this, the compiler removes the unused array.
    black_box(frame.as_mut_slice());
    if frame.as_ptr().addr() > end {
        touch_down_to(end);
    }
    // A use after the call prevents a tail call, so the frames are stacked.
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
        // 1.6 MB are 390 pages; other code of the thread may cause a few faults.
        assert!(faults < 20, "{faults} faults");
        assert_eq!((list.len(), list.try_push([0; 2])), (100_000, Err([0; 2])));
        list.clear();
        assert!(list.is_empty() && list.try_push([1; 2]).is_ok());
        assert_eq!(list.into_vec(), [[1; 2]]);
    }

    #[test]
    fn a_list_holds_items_of_any_type() {
        let mut list = TouchedVec::take(2).unwrap();
        list.try_push("text".to_owned()).unwrap();
        assert_eq!(list.iter().map(String::as_str).collect::<Vec<_>>(), ["text"]);
        assert!(TouchedVec::<u64>::take(usize::MAX / 8).is_err());
    }

    /// Uses at least `depth` bytes of stack, in frames of another size than the function under test.
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
    fn a_deep_stack_is_touched_with_little_beside_it() {
        const DEPTH: usize = 64 << 20;
        let thread = std::thread::Builder::new().stack_size(DEPTH + (64 << 10));
        thread.spawn(|| touch_stack(DEPTH)).unwrap().join().unwrap();
    }

    #[test]
    fn touched_stack_causes_no_page_fault() {
        const DEPTH: usize = 512 << 10;
        let faults = std::thread::spawn(|| {
            touch_stack(DEPTH);
            let before = faults();
            descend(DEPTH / 2);
            faults() - before
        });
        let faults = faults.join().unwrap();
        // An untouched stack would cause at least 64.
        assert!(faults < 10, "{faults} faults");
    }
}
