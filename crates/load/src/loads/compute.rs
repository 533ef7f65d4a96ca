//! Arithmetic in registers: keeps a CPU busy and touches no memory.

use std::hint::black_box;

use super::Endless;
use crate::site::Site;

/// Steps of a round; a round takes about 100 µs.
const STEPS: u32 = 1 << 16;

/// Counts one operation per round of 65 536 steps.
pub(super) fn run(site: &'static Site) -> Endless {
    let mut random = site.random();
    let mut value = 1.0_f64;
    loop {
        // Integer and floating-point multiplications; each depends on the result of the last.
        for _ in 0..STEPS {
            value = value * 0.5 + (random.next_u64() >> 11) as f64;
        }
        black_box(value);
        site.did(1, 0);
    }
}
