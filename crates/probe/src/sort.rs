//! The measured loop of the sort probe: a computation that never sleeps.

use std::collections::TryReserveError;

use tactus_model::random::SplitMix64;
use tactus_model::sample::Sample;
use tactus_model::sort::{Numbers, SortProbe};
use tactus_model::time::{Clock, Instant, Nanos};
use tactus_sys::{SysError, clock};

use crate::timer::{Recording, SampleKeeper, SampleMemory};

/// What the random numbers of every sort are drawn from: they are always the same, so
/// that one sort is as much work as another, here and on every machine.
const SEED: u64 = 2003;

/// The least time in which a machine fills and sorts an array, for each of its numbers:
/// memory for samples is taken by it.
const LEAST_FOR_A_NUMBER: Nanos = Nanos::from_nanos(5);

/// Sorts that follow one another in a window.
#[derive(Clone, Copy, Debug)]
pub struct Sorts {
    numbers: Numbers,
    window: Nanos,
}

impl Sorts {
    /// Sorts as `probe` has them, begun within the window.
    pub const fn new(probe: &SortProbe, window: Nanos) -> Self {
        Self { numbers: probe.numbers, window }
    }

    /// How many there are at most.
    pub const fn at_most(&self) -> u64 {
        let least = LEAST_FOR_A_NUMBER.saturating_mul(self.numbers.get() as u64);
        self.window.as_nanos() / least.as_nanos() + 1
    }
}

/// An array, and the numbers that it is filled with before it is sorted.
struct Array {
    numbers: Vec<u32>,
}

impl Array {
    /// Takes the memory and touches it.
    fn take(numbers: Numbers) -> Result<Self, TryReserveError> {
        let mut array = Vec::new();
        array.try_reserve_exact(numbers.get() as usize)?;
        array.resize(numbers.get() as usize, 0);
        Ok(Self { numbers: array })
    }

    /// Fills it, always with the same numbers, and sorts it.
    ///
    /// The standard library's unstable sort is a quicksort that falls back on another
    /// method where that would be slow, as the paper's introsort is, and allocates nothing.
    #[inline(never)]
    fn fill_and_sort(&mut self) {
        let mut random = SplitMix64::new(SEED);
        for number in &mut self.numbers {
            *number = (random.next_u64() >> 32) as u32;
        }
        self.numbers.sort_unstable();
        std::hint::black_box(&self.numbers);
    }
}

/// Sorts again and again from `start` until the window is over.
///
/// A sample is due when its sort begins and comes when that is done, so that its latency is
/// how long it took. The next begins with the same reading of the clock. The loop allocates
/// nothing, takes no lock and makes no system call.
///
/// # Errors
/// `ENOMEM`: there is no memory for the array.
pub fn sort_repeatedly<C: Clock>(
    sorts: Sorts,
    start: Instant<C>,
    mut memory: SampleMemory,
) -> Result<Recording, SysError> {
    let no_memory = |_| SysError::new("mmap", tactus_sys::Errno::NOMEM);
    let mut array = Array::take(sorts.numbers).map_err(no_memory)?;
    // The code and the array are in memory when the window opens.
    array.fill_and_sort();
    while clock::now::<C>() < start {
        std::hint::spin_loop();
    }
    let mut dropped = 0;
    let mut due = clock::now::<C>() - start;
    while due < sorts.window {
        array.fill_and_sort();
        let came = clock::now::<C>() - start;
        if !memory.keep(Sample { due, came }) {
            dropped += 1;
        }
        due = came;
    }
    Ok(Recording {
        samples: memory.into_vec(),
        skipped: Vec::new(),
        missed: 0,
        dropped,
        ended: due,
    })
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Monotonic;

    use super::*;

    #[test]
    fn an_array_is_sorted_and_filled_alike_every_time() {
        let mut array = Array::take(Numbers::new(1000).unwrap()).unwrap();
        array.fill_and_sort();
        let first = array.numbers.clone();
        assert!(first.is_sorted());
        assert!(first.windows(2).any(|pair| pair[0] != pair[1]));
        array.fill_and_sort();
        assert_eq!(array.numbers, first);
    }

    #[test]
    fn sorts_follow_one_another_without_a_gap_and_begin_within_the_window() {
        let window = Nanos::from_millis(5);
        let sorts = Sorts { numbers: Numbers::new(256).unwrap(), window };
        let memory = SampleMemory::take(sorts.at_most() as usize).unwrap();
        let recording =
            sort_repeatedly::<Monotonic>(sorts, clock::now::<Monotonic>(), memory).unwrap();
        let samples = &recording.samples;
        assert!(!samples.is_empty());
        assert!(samples.windows(2).all(|pair| pair[0].came == pair[1].due));
        assert!(samples.iter().all(|sample| sample.due < window && sample.came > sample.due));
        assert_eq!(samples.last().map(|last| last.came), Some(recording.ended));
    }

    #[test]
    fn sorts_for_which_no_memory_is_left_are_counted() {
        let window = Nanos::from_millis(5);
        let sorts = Sorts { numbers: Numbers::new(16).unwrap(), window };
        let memory = SampleMemory::take(3).unwrap();
        let recording =
            sort_repeatedly::<Monotonic>(sorts, clock::now::<Monotonic>(), memory).unwrap();
        assert_eq!(recording.samples.len(), 3);
        assert!(recording.dropped > 0);
    }
}
