//! Work of a known size: the transforms of a video decoder, block by block.
//!
//! A picture of 352 × 288 points is transformed in place, in blocks of 8 × 8, one after another
//! and again from the beginning. The duration of a block is measured beforehand, so a program
//! can do a millisecond's worth of work. The number of blocks is fixed from then on: the work
//! takes longer where the CPU is slower or other tasks displace its caches.

use std::time::Instant;

use tactus_model::time::Nanos;

/// Points of a block.
const BLOCK: usize = 64;
/// Blocks of a picture.
const BLOCKS: usize = 352 * 288 / BLOCK;
/// Blocks of a trial: a few microseconds, or a hundred on an emulated CPU. This is short enough
/// to pass undisturbed between two ticks of a kernel with thousands of ticks a second; a longer
/// trial would share the CPU with other work.
const TRIAL: u64 = 32;
const TRIALS: u32 = 400;

/// A picture to work on, and the duration of its blocks. A clone need not be measured again.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    blocks: Vec<[i16; BLOCK]>,
    next: usize,
    blocks_per_nano: f64,
}

impl Picture {
    /// Creates a picture and measures the duration of its blocks here: the least of several
    /// short trials, because every disturbance only makes a trial longer.
    pub(super) fn calibrated() -> Self {
        let blocks = (0..BLOCKS).map(|block| [block as i16; BLOCK]).collect();
        let mut picture = Self { blocks, next: 0, blocks_per_nano: 0.0 };
        let trial = |_| {
            let begun = Instant::now();
            picture.transform(TRIAL);
            begun.elapsed().as_nanos()
        };
        let least = (0..TRIALS).map(trial).min().unwrap_or(1).max(1);
        picture.blocks_per_nano = TRIAL as f64 / least as f64;
        picture
    }

    /// How many blocks take `length` without disturbance; at least 1.
    pub(super) fn blocks_in(&self, length: Nanos) -> u64 {
        ((length.as_nanos() as f64 * self.blocks_per_nano) as u64).max(1)
    }

    /// Transforms this many blocks.
    pub(super) fn transform(&mut self, blocks: u64) {
        for _ in 0..blocks {
            hadamard(&mut self.blocks[self.next]);
            self.next = (self.next + 1) % BLOCKS;
        }
    }
}

/// Thousandths of a duration.
pub(super) fn per_mille(length: Nanos, thousandths: u64) -> Nanos {
    Nanos::from_nanos(length.as_nanos() / 1000 * thousandths)
}

/// The Walsh-Hadamard transform in two dimensions, without its scale: six stages of sums and
/// differences.
fn hadamard(block: &mut [i16; BLOCK]) {
    for stage in 0..6 {
        let distance = 1 << stage;
        for low in (0..BLOCK).filter(|place| place & distance == 0) {
            let (a, b) = (block[low], block[low + distance]);
            block[low] = a.wrapping_add(b);
            block[low + distance] = a.wrapping_sub(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_is_its_own_inverse_except_for_the_scale() {
        let before: [i16; BLOCK] = std::array::from_fn(|place| place as i16 * 3 - 70);
        let mut block = before;
        hadamard(&mut block);
        assert_eq!(block[0], before.iter().sum::<i16>(), "the first is the sum of all");
        hadamard(&mut block);
        assert_eq!(block, before.map(|point| point * BLOCK as i16));
    }

    #[test]
    fn longer_work_is_more_blocks() {
        let picture = Picture::calibrated();
        let blocks = |millis| picture.blocks_in(Nanos::from_millis(millis));
        assert!(blocks(2) > blocks(1));
        assert_eq!(picture.blocks_in(Nanos::ZERO), 1);
    }
}
