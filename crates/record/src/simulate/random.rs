//! Random numbers from a seed.

use tactus_model::random::SplitMix64;

#[derive(Clone, Debug)]
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from `least` to below `limit`.
    pub(super) fn between(&mut self, least: u64, limit: u64) -> u64 {
        least + self.next() % (limit - least).max(1)
    }
}
