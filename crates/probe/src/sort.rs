//! The measured loop of the sort probe: a computation that never sleeps.

use std::collections::TryReserveError;

use tactus_model::random::SplitMix64;
use tactus_model::sample::Sample;
use tactus_model::sort::{Numbers, SortProbe};
use tactus_model::time::{Clock, Instant, Nanos};
use tactus_sys::{SysError, clock};

use crate::timer::{SampleMemory, SampleSink, TakenSamples};

/// The seed of the random numbers of every sort. They are always the same, so all sorts are the
/// same amount of work, on every machine.
const SEED: u64 = 2003;

/// The least time in which a machine fills and sorts an array, per number: it determines the
/// memory for samples.
const LEAST_FOR_A_NUMBER: Nanos = Nanos::from_nanos(5);

/// Consecutive sorts in a window.
#[derive(Clone, Copy, Debug)]
pub struct Sorts {
    numbers: Numbers,
    window: Nanos,
}

impl Sorts {
    /// Sorts as `probe` requests, which begin within the window.
    pub const fn new(probe: &SortProbe, window: Nanos) -> Self {
        Self { numbers: probe.numbers, window }
    }

    /// The most sorts there can be.
    pub const fn at_most(&self) -> u64 {
        let least = LEAST_FOR_A_NUMBER.saturating_mul(self.numbers.get() as u64);
        self.window.as_nanos() / least.as_nanos() + 1
    }
}

/// An array, which is filled with numbers before each sort.
struct Array {
    numbers: Vec<u32>,
}

impl Array {
    /// Allocates the memory and touches it.
    fn take(numbers: Numbers) -> Result<Self, TryReserveError> {
        let mut array = Vec::new();
        array.try_reserve_exact(numbers.get() as usize)?;
        array.resize(numbers.get() as usize, 0);
        Ok(Self { numbers: array })
    }

    /// Fills the array, always with the same numbers, and sorts it.
    ///
    /// Like the paper's introsort, the standard library's unstable sort is a quicksort that
    /// falls back on another method where quicksort would be slow. It allocates nothing.
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

/// Sorts repeatedly from `start` until the window is over.
///
/// A sample is due when its sort begins and comes when the sort is done, so its latency is the
/// duration of the sort. The next sort begins with the same clock reading. The loop allocates
/// nothing, takes no lock and makes no system call.
///
/// # Errors
/// `ENOMEM`: there is not enough memory for the array.
pub fn sort_repeatedly<C: Clock>(
    sorts: Sorts,
    start: Instant<C>,
    mut memory: SampleMemory,
) -> Result<TakenSamples, SysError> {
    let no_memory = |_| SysError::new("mmap", tactus_sys::Errno::NOMEM);
    let mut array = Array::take(sorts.numbers).map_err(no_memory)?;
    // Brings the code and the array into memory before the window opens.
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
    Ok(TakenSamples {
        samples: memory.into_vec(),
        skipped: Vec::new(),
        passes: Vec::new(),
        missed: 0,
        dropped,
        ended: due,
    })
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};
    use tactus_model::probe::Probe;
    use tactus_model::time::Monotonic;

    use super::*;

    #[test]
    fn an_array_is_sorted_and_always_filled_with_the_same_numbers() {
        let mut array = Array::take(Numbers::new(1000).unwrap()).unwrap();
        array.fill_and_sort();
        let first = array.numbers.clone();
        assert!(first.is_sorted());
        assert!(first.windows(2).any(|pair| pair[0] != pair[1]));
        array.fill_and_sort();
        assert_eq!(array.numbers, first);
    }

    #[test]
    fn the_probe_determines_how_many_numbers_are_sorted() {
        let window = Nanos::from_millis(5);
        for numbers in [1024, 16_384] {
            let text = format!("[settings]\nprobe = \"sort\"\nnumbers = {numbers}");
            let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
            let Probe::Sort(probe) = &plan.cells[0].probe else { panic!("{:?}", plan.cells) };
            let array = Array::take(Sorts::new(probe, window).numbers).unwrap();
            assert_eq!(array.numbers.len(), numbers as usize);
        }
    }

    /// The sorts in a window of 5 ms, of which there is memory for at most `limit`. On a busy
    /// machine, the thread may get its CPU only after the window; then it tries again.
    fn some_sorts(numbers: u32, limit: u64) -> (Sorts, TakenSamples) {
        let window = Nanos::from_millis(5);
        let sorts = Sorts { numbers: Numbers::new(numbers).unwrap(), window };
        loop {
            let memory = SampleMemory::take(sorts.at_most().min(limit) as usize).unwrap();
            let taken = sort_repeatedly::<Monotonic>(sorts, clock::now(), memory).unwrap();
            if taken.samples.len() as u64 + taken.dropped > limit.min(3) {
                return (sorts, taken);
            }
        }
    }

    #[test]
    fn sorts_follow_one_another_without_a_gap_and_begin_within_the_window() {
        let (Sorts { window, .. }, taken) = some_sorts(256, u64::MAX);
        let samples = &taken.samples;
        assert!(samples.windows(2).all(|pair| pair[0].came == pair[1].due));
        assert!(samples.iter().all(|sample| sample.due < window && sample.came > sample.due));
        assert_eq!(samples.last().map(|last| last.came), Some(taken.ended));
    }

    #[test]
    fn sorts_without_memory_for_a_sample_are_counted() {
        let (_, taken) = some_sorts(16, 3);
        assert_eq!(taken.samples.len(), 3);
        assert!(taken.dropped > 0);
    }
}
