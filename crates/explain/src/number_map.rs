//! Maps whose keys are numbers of the kernel: thread ids and addresses.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map from a number of the kernel to `V`.
///
/// The standard map's hash function resists chosen keys at several times the cost. Here
/// the recorded kernel chooses the keys, and nearly every event needs a look-up.
pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Spreads a single number over 64 bits (Fibonacci hashing: Knuth, *The Art of
/// Computer Programming*, volume 3, section 6.4).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl NumberHasher {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

    fn mix(&mut self, number: u64) {
        // The map takes its bucket from the low bits and a tag from the high
        // ones; the product alone is weak in the low bits of aligned addresses.
        let product = (self.0 ^ number).wrapping_mul(Self::GOLDEN);
        self.0 = product ^ (product >> 32);
    }
}

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.mix(u64::from(*byte));
        }
    }

    fn write_i32(&mut self, number: i32) {
        self.mix(u64::from(number as u32));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
