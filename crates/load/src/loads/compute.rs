//! Arithmetic in registers: keeps a processor busy and touches no memory.

use std::hint::black_box;

use super::Endless;
use crate::site::Site;

/// Steps of a round; a round takes some 100 µs.
const STEPS: u32 = 1 << 16;

/// Counts one operation a round of 65 536 steps.
pub(super) fn run(site: &'static Site) -> Endless {
    let mut random = site.random();
    let mut value = 1.0_f64;
    loop {
        // Integer multiplications and a chain of floating-point ones side by side.
        for _ in 0..STEPS {
            let bits = black_box(random.next_u64());
            value = black_box(value).mul_add(0.5, (bits >> 11) as f64 * 1e-16);
        }
        site.did(1, 0);
    }
}
