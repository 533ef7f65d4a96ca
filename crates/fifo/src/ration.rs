//! How much CPU time the notices of a user may take.
//!
//! A write to a socket walks through all that await it, with interrupts off: 16 000 epolls of the
//! peer take 1 ms and more. At the broker's priority, such notices would take most of its CPU, and
//! push all ordinary work of the machine to the CPU of the real-time thread.

use std::sync::atomic::{AtomicU64, Ordering};

use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::clock;

/// Notices that take so much CPU time each take one part of [`PART`] of a CPU's time: 5 %. A notice
/// to a decent peer takes 5 to 20 µs on a virtual machine.
const USUAL: Nanos = Nanos::from_micros(50);
const PART: u64 = 20;

/// Slow notices, of half a millisecond and more, take one part of this number: 0.05 %.
const PART_SLOW: u64 = 2000;

/// How much CPU time slow notices may take in advance: CPU time contains interrupts, so some
/// notices to a decent peer are slow.
const CREDIT: Nanos = Nanos::from_millis(10);

/// The time for which a notice pays. It grows with the third power of its CPU time, so notices of
/// slow machines are postponed little, and those of 10 µs not at all.
fn price(took: Nanos) -> Nanos {
    let usual = USUAL.as_nanos();
    // The bound prevents an overflow: slower ones pay the most anyway.
    let slower = took.as_nanos().min(100 * usual);
    let part = (PART * slower * slower / (usual * usual)).min(PART_SLOW);
    took.saturating_mul(part)
}

/// The ration of one user, whatever peers it has. It lasts as long as the broker, so a new
/// connection does not renew it.
#[derive(Debug, Default)]
pub(crate) struct Ration {
    /// When the notices until now are paid for, in ns of the clock.
    settled: AtomicU64,
}

impl Ration {
    /// When the next notice may be sent, if not now.
    pub fn due(&self, now: Instant<Monotonic>) -> Option<Instant<Monotonic>> {
        let settled = self.settled.load(Ordering::Acquire);
        let due = settled.saturating_sub(CREDIT.saturating_mul(PART_SLOW).as_nanos());
        (due > now.as_nanos()).then(|| Instant::from_nanos(due))
    }

    /// Counts a notice that was sent until `now` and took so much CPU time.
    fn charge(&self, now: Instant<Monotonic>, took: Nanos) {
        // Only the thread of the notices writes it.
        let settled = self.settled.load(Ordering::Acquire).max(now.as_nanos());
        let settled = settled.saturating_add(price(took).as_nanos());
        self.settled.store(settled, Ordering::Release);
    }

    /// Sends a notice and counts it.
    pub fn send(&self, notice: impl FnOnce()) {
        let before = clock::thread_cpu_time();
        notice();
        self.charge(clock::now(), clock::thread_cpu_time() - before);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: Nanos = Nanos::from_secs(3600);

    /// Sends a notice in each period when it is permitted, for an hour of virtual time. Returns how
    /// many periods passed without one, and the CPU time of the notices.
    fn run(period: Nanos, took: impl Fn(u64) -> Nanos) -> (u64, Nanos) {
        let ration = Ration::default();
        let (mut postponed, mut used) = (0, Nanos::ZERO);
        for number in 0..HOUR.div_floor(period) {
            let now = Instant::from_nanos(period.as_nanos() * number);
            if ration.due(now).is_some() {
                postponed += 1;
            } else {
                let took = took(number);
                used = used + took;
                ration.charge(now + took, took);
            }
        }
        (postponed, used)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn slow_notices_take_their_part_the_credit_and_one_notice(
            took in 500_000_u64..50_000_000, period in 1_000_000_u64..1_000_000_000,
        ) {
            let took = Nanos::from_nanos(took);
            let (_, used) = run(Nanos::from_nanos(period), |_| took);
            let part = Nanos::from_nanos(HOUR.as_nanos() / PART_SLOW);
            prop_assert!(used <= part + CREDIT + took, "{}", used);
        }
    }

    #[test]
    fn a_decent_peer_that_interrupts_disturb_now_and_then_is_never_postponed() {
        let took = |number| match number {
            _ if number % 400_000 == 0 => Nanos::from_millis(4),
            _ if number % 1000 == 0 => Nanos::from_micros(200),
            _ => Nanos::from_micros(20),
        };
        assert_eq!(run(Nanos::from_millis(1), took).0, 0);
    }

    #[test]
    fn the_price_grows_with_the_time_without_a_step() {
        let micros = [1, 10, 20, 50, 100, 200, 500, 1000].map(Nanos::from_micros);
        let parts = micros.map(|took| price(took).div_floor(took));
        assert_eq!(parts, [0, 0, 3, 20, 80, 320, 2000, 2000]);
        assert_eq!(price(Nanos::from_nanos(u64::MAX)), Nanos::from_nanos(u64::MAX));
    }

    #[test]
    fn a_notice_is_postponed_until_its_due_time_and_no_longer() {
        let ration = Ration::default();
        let now = Instant::from_nanos(5);
        ration.charge(now, CREDIT);
        assert_eq!(ration.due(now), None);
        ration.charge(now, Nanos::from_millis(1));
        let due = now + Nanos::from_secs(2);
        assert_eq!((ration.due(now), ration.due(due)), (Some(due), None));
    }
}
