//! Samples on their way to whoever looks at them, in memory that processes share.
//!
//! Each task has a ring of its own, with one writer and one reader. Neither waits
//! for the other, and neither makes a system call: the writer finds a ring that is
//! full full, drops the sample and counts it; the reader takes what is there.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_sys::SysError;
use tactus_sys::shared_memory::SharedWords;

use crate::timer::SampleKeeper;

/// The size of the rings of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingLayout {
    /// How many tasks there are, each with a ring.
    pub tasks: u32,
    /// How many samples a ring holds; a power of two.
    capacity: u32,
}

/// Words of a ring's head: what the writer counts and what the reader counts lie two
/// cache lines of 64 bytes apart, because CPUs fetch lines in pairs.
const HEAD_WORDS: usize = 32;
const WRITTEN: usize = 0;
const TAKEN: usize = 16;
/// Words of a sample: when it was due, when it came, how many were dropped before it.
const SAMPLE_WORDS: usize = 3;

/// How long nobody may look before samples are dropped.
const REACH: Nanos = Nanos::from_secs(4);
const LEAST_CAPACITY: u64 = 1 << 8;
/// 6 MiB a task.
const MOST_CAPACITY: u64 = 1 << 18;

impl RingLayout {
    /// Rings that hold four seconds of samples `interval` apart, but no more than
    /// 2¹⁸ samples: at the shortest intervals that is a quarter of a second.
    pub fn new(tasks: u32, interval: Nanos) -> Self {
        let wanted = REACH.div_floor(interval).clamp(LEAST_CAPACITY, MOST_CAPACITY);
        Self { tasks, capacity: wanted.next_power_of_two() as u32 }
    }

    const fn words_per_task(self) -> usize {
        HEAD_WORDS + self.capacity as usize * SAMPLE_WORDS
    }

    const fn words(self) -> usize {
        self.tasks as usize * self.words_per_task()
    }
}

/// The rings of all tasks of a cell.
#[derive(Debug)]
pub struct SampleRings {
    words: SharedWords,
    layout: RingLayout,
}

impl SampleRings {
    /// Makes rings, all empty. A child inherits them by [`file`](Self::file) once they
    /// are [inheritable](Self::set_inheritable).
    ///
    /// # Errors
    /// There is no memory.
    pub fn create(layout: RingLayout) -> Result<Self, SysError> {
        Ok(Self { words: SharedWords::create(layout.words())?, layout })
    }

    /// Finds the rings that the parent process left open for us; what we start in turn
    /// does not inherit them.
    ///
    /// # Errors
    /// `file` is not such memory, or of another size.
    pub fn inherit(file: RawFd, layout: RingLayout) -> Result<Self, SysError> {
        let words = SharedWords::inherit(file, layout.words())?;
        words.set_inheritable(false)?;
        Ok(Self { words, layout })
    }

    /// The number of the file by which a child inherits the rings.
    pub fn file(&self) -> RawFd {
        self.words.file()
    }

    /// Sets whether a child inherits the rings.
    ///
    /// # Errors
    /// None that is known: the file is open.
    pub fn set_inheritable(&self, inheritable: bool) -> Result<(), SysError> {
        self.words.set_inheritable(inheritable)
    }

    /// The size of the rings.
    pub fn layout(&self) -> RingLayout {
        self.layout
    }

    /// The writing end of a task's ring, all its memory touched. There must be no other.
    ///
    /// # Panics
    /// There is no such task.
    pub fn writer(self: &Arc<Self>, task: u32) -> RingWriter {
        assert!(task < self.layout.tasks, "task {task} of {}", self.layout.tasks);
        /// Words in the smallest page there is.
        const PAGE_WORDS: usize = 512;
        for word in self.ring(task)[HEAD_WORDS..].iter().step_by(PAGE_WORDS) {
            word.store(0, Ordering::Relaxed);
        }
        let ring = &self.ring(task);
        let (written, taken) =
            (ring[WRITTEN].load(Ordering::Relaxed), ring[TAKEN].load(Ordering::Acquire));
        RingWriter { rings: self.clone(), task, written, taken, dropped: 0 }
    }

    /// Takes the samples that a task has written since, in order; `take` is given each
    /// with the number of samples that were dropped before it, from the beginning.
    ///
    /// # Panics
    /// There is no such task.
    pub fn take(&self, task: u32, mut take: impl FnMut(Sample, u64)) {
        let ring = self.ring(task);
        let taken = ring[TAKEN].load(Ordering::Relaxed);
        let written = ring[WRITTEN].load(Ordering::Acquire);
        // Never more than a ring holds, whatever a broken writer may have counted.
        let count = written.wrapping_sub(taken).min(self.layout.capacity.into());
        for number in (0..count).map(|further| taken.wrapping_add(further)) {
            let [due, came, dropped] = slot(ring, self.layout, number);
            let nanos = |word: &AtomicU64| Nanos::from_nanos(word.load(Ordering::Relaxed));
            let sample = Sample { due: nanos(due), came: nanos(came) };
            take(sample, dropped.load(Ordering::Relaxed));
        }
        ring[TAKEN].store(taken.wrapping_add(count), Ordering::Release);
    }

    fn ring(&self, task: u32) -> &[AtomicU64] {
        let length = self.layout.words_per_task();
        &self.words.words()[task as usize * length..][..length]
    }
}

/// The place of the sample with this number.
#[inline]
fn slot(ring: &[AtomicU64], layout: RingLayout, number: u64) -> &[AtomicU64; SAMPLE_WORDS] {
    let place = (number & u64::from(layout.capacity - 1)) as usize;
    ring[HEAD_WORDS + place * SAMPLE_WORDS..]
        .first_chunk()
        .expect("a ring has room for as many samples as its layout says")
}

/// The writing end of a ring.
#[derive(Debug)]
pub struct RingWriter {
    rings: Arc<SampleRings>,
    task: u32,
    written: u64,
    /// How many the reader had taken when we last looked: its line is fetched only
    /// when the ring seems full.
    taken: u64,
    dropped: u64,
}

impl SampleKeeper for RingWriter {
    #[inline]
    fn keep(&mut self, sample: Sample) -> bool {
        let (ring, layout) = (self.rings.ring(self.task), self.rings.layout);
        if self.written.wrapping_sub(self.taken) >= u64::from(layout.capacity) {
            self.taken = ring[TAKEN].load(Ordering::Acquire);
            if self.written.wrapping_sub(self.taken) >= u64::from(layout.capacity) {
                self.dropped += 1;
                return false;
            }
        }
        let [due, came, dropped] = slot(ring, layout, self.written);
        due.store(sample.due.as_nanos(), Ordering::Relaxed);
        came.store(sample.came.as_nanos(), Ordering::Relaxed);
        dropped.store(self.dropped, Ordering::Relaxed);
        self.written = self.written.wrapping_add(1);
        ring[WRITTEN].store(self.written, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(number: u64) -> Sample {
        Sample { due: Nanos::from_nanos(number), came: Nanos::from_nanos(number + 7) }
    }

    fn small() -> Arc<SampleRings> {
        Arc::new(SampleRings::create(RingLayout { tasks: 2, capacity: 8 }).unwrap())
    }

    fn taken(rings: &SampleRings, task: u32) -> Vec<(u64, u64)> {
        let mut taken = Vec::new();
        rings.take(task, |sample, dropped| taken.push((sample.due.as_nanos(), dropped)));
        taken
    }

    #[test]
    fn a_full_ring_drops_and_counts() {
        let rings = small();
        let mut writer = rings.writer(1);
        let kept = (0..10).filter(|number| writer.keep(sample(*number))).count();
        assert_eq!(kept, 8);
        assert_eq!(taken(&rings, 1), (0..8).map(|number| (number, 0)).collect::<Vec<_>>());
        assert!(writer.keep(sample(10)), "there is room again");
        assert_eq!(taken(&rings, 1), [(10, 2)], "two were dropped before it");
        assert_eq!(taken(&rings, 1), []);
        assert_eq!(taken(&rings, 0), [], "tasks have rings of their own");
    }

    #[test]
    fn samples_arrive_in_order_while_they_are_written() {
        const COUNT: u64 = 100_000;
        let rings = small();
        let mut writer = rings.writer(0);
        let mut kept = 0;
        std::thread::scope(|scope| {
            let writing = scope.spawn(move || {
                (0..COUNT).filter(|number| writer.keep(sample(*number))).count() as u64
            });
            let (mut next, mut arrived, mut ended) = (0, 0, false);
            while !ended {
                // Once more after its end, for what it wrote last.
                ended = writing.is_finished();
                rings.take(0, |sample, dropped| {
                    assert_eq!(sample.came - sample.due, Nanos::from_nanos(7));
                    assert_eq!(sample.due.as_nanos(), arrived + dropped, "none is lost uncounted");
                    assert!(sample.due.as_nanos() >= next);
                    next = sample.due.as_nanos() + 1;
                    arrived += 1;
                });
            }
            kept = writing.join().unwrap();
            assert_eq!(arrived, kept);
        });
        assert!(kept >= 8);
    }

    #[test]
    fn rings_are_sized_by_the_interval() {
        let capacity = |interval| RingLayout::new(1, interval).capacity;
        assert_eq!(capacity(Nanos::from_millis(1)), 4096);
        assert_eq!(capacity(Nanos::from_secs(10)), 256);
        assert_eq!(capacity(Nanos::from_micros(1)), 1 << 18);
    }
}
