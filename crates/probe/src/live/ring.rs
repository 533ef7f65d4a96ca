//! Rings through which samples go to a reader, in memory that processes share.
//!
//! Each task has its own ring, with one writer and one reader. Neither waits for the other, and
//! neither makes a system call. If the ring is full, the writer drops the sample and counts it;
//! the reader takes what is there.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_sys::SysError;
use tactus_sys::shared_memory::SharedWords;

use crate::timer::SampleSink;

/// The size of the rings of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingLayout {
    /// The number of tasks, each with a ring.
    pub tasks: u32,
    /// The samples that a ring holds; a power of two.
    capacity: u32,
}

/// Words of a ring's head. The counter of the writer and that of the reader are two cache lines
/// of 64 bytes apart, because CPUs prefetch lines in pairs.
const HEAD_WORDS: usize = 32;
const WRITTEN: usize = 0;
const TAKEN: usize = 16;
/// Words of a sample: its due time, its arrival, and how many samples were dropped before it.
const SAMPLE_WORDS: usize = 3;

/// How long the reader may pause before samples are dropped.
const REACH: Nanos = Nanos::from_secs(4);
const LEAST_CAPACITY: u64 = 1 << 8;
/// 6 MiB per task.
const MOST_CAPACITY: u64 = 1 << 18;

impl RingLayout {
    /// Rings that hold the samples of four seconds at this interval, but at most 2¹⁸ samples:
    /// a quarter of a second at the shortest intervals.
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
    /// Creates rings, all empty. A child inherits them by [`file`](Self::file) once they are
    /// [inheritable](Self::set_inheritable).
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn create(layout: RingLayout) -> Result<Self, SysError> {
        Ok(Self { words: SharedWords::create(layout.words())?, layout })
    }

    /// Finds the rings that the parent process left open for this process. Children of this
    /// process do not inherit them.
    ///
    /// # Errors
    /// `file` is not such memory, or has another size.
    pub fn inherit(file: RawFd, layout: RingLayout) -> Result<Self, SysError> {
        let words = SharedWords::inherit(file, layout.words())?;
        words.set_inheritable(false)?;
        Ok(Self { words, layout })
    }

    /// The file descriptor by which a child inherits the rings.
    pub fn file(&self) -> RawFd {
        self.words.file()
    }

    /// Sets whether a child inherits the rings.
    ///
    /// # Errors
    /// No error is known: the file is open.
    pub fn set_inheritable(&self, inheritable: bool) -> Result<(), SysError> {
        self.words.set_inheritable(inheritable)
    }

    /// The size of the rings.
    pub fn layout(&self) -> RingLayout {
        self.layout
    }

    /// The write end of a task's ring, with all its memory touched. Create only one per task.
    ///
    /// # Panics
    /// There is no such task.
    pub fn writer(self: &Arc<Self>, task: u32) -> RingWriter {
        assert!(task < self.layout.tasks, "task {task} of {}", self.layout.tasks);
        /// Words in the smallest page of Linux.
        const PAGE_WORDS: usize = 512;
        for word in self.ring(task)[HEAD_WORDS..].iter().step_by(PAGE_WORDS) {
            word.store(0, Ordering::Relaxed);
        }
        let ring = &self.ring(task);
        let (written, taken) =
            (ring[WRITTEN].load(Ordering::Relaxed), ring[TAKEN].load(Ordering::Acquire));
        RingWriter { rings: self.clone(), task, written, taken, dropped: 0 }
    }

    /// Takes the samples that a task has written since the last call, in order. `take` gets each
    /// sample with the number of samples that were dropped before it since the beginning.
    ///
    /// # Panics
    /// There is no such task.
    pub fn take(&self, task: u32, mut take: impl FnMut(Sample, u64)) {
        let ring = self.ring(task);
        let taken = ring[TAKEN].load(Ordering::Relaxed);
        let written = ring[WRITTEN].load(Ordering::Acquire);
        // At most what a ring holds, whatever a broken writer has counted.
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

/// The write end of a ring.
#[derive(Debug)]
pub struct RingWriter {
    rings: Arc<SampleRings>,
    task: u32,
    written: u64,
    /// How many samples the reader had taken when the writer last looked: the reader's cache
    /// line is fetched only when the ring seems full.
    taken: u64,
    dropped: u64,
}

impl SampleSink for RingWriter {
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
        assert_eq!(taken(&rings, 1), [(10, 2)], "two samples were dropped before it");
        assert_eq!(taken(&rings, 1), []);
        assert_eq!(taken(&rings, 0), [], "each task has its own ring");
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
                // Once more after the writer has ended, for its last samples.
                ended = writing.is_finished();
                rings.take(0, |sample, dropped| {
                    assert_eq!(sample.came - sample.due, Nanos::from_nanos(7));
                    assert_eq!(sample.due.as_nanos(), arrived + dropped, "each loss is counted");
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
