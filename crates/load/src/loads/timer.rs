//! Storms of short timers.
//!
//! A copy has eight threads, each with its own timer. The periods lie between 20 and 50 µs, and
//! none is a multiple of another, so they beat against each other. When the CPUs cannot keep
//! up, the kernel merges expiries, and they are still counted.

use tactus_model::time::Nanos;
use tactus_sys::periodic_timer::PeriodicTimer;

use super::Endless;
use crate::error::During;
use crate::site::Site;

const THREADS: usize = 8;

/// The periods in nanoseconds: prime numbers.
const PERIODS: [u64; THREADS] = [20_011, 23_003, 28_001, 31_013, 36_007, 40_009, 45_007, 49_999];

/// Counts one operation per expiry.
pub(super) fn run(site: &'static Site) -> Endless {
    let [first, others @ ..] = PERIODS;
    for period in others {
        site.spawn("thread", move || expire(period, site))?;
    }
    expire(first, site)
}

fn expire(period: u64, site: &Site) -> Endless {
    let timer = PeriodicTimer::start(Nanos::from_nanos(period)).during("start a timer")?;
    loop {
        let expired = timer.wait().during("wait for a timer")?;
        site.did(expired, 0);
    }
}
