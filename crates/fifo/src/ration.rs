//! How much CPU time the notices of a user may take.
//!
//! A write to a socket walks through all that await it, with interrupts off: 16 000 epolls of the
//! peer take 1 ms and more. At the broker's priority, such notices would take most of its CPU, and
//! push all ordinary work of the machine to the CPU of the real-time thread.

use std::sync::atomic::{AtomicU64, Ordering};

use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::clock;

/// A notice that takes no more CPU time is free. A decent one takes 5 to 20 µs on a virtual machine.
const FREE: Nanos = Nanos::from_micros(50);

/// Slow notices take no more of a CPU's time than one part of this many: 0.05 %.
const PART: u64 = 2000;

/// How much CPU time slow notices may take in advance: CPU time contains interrupts, so some
/// notices to a decent peer are slow.
const CREDIT: Nanos = Nanos::from_millis(10);

/// The ration of one user, whatever peers it has. It lasts as long as the broker, so a new
/// connection does not renew it.
#[derive(Debug, Default)]
pub(crate) struct Ration {
    /// When the slow notices until now are no more than their part, in ns of the clock.
    settled: AtomicU64,
}

impl Ration {
    /// When the next notice may be sent, if not now.
    pub fn due(&self, now: Instant<Monotonic>) -> Option<Instant<Monotonic>> {
        let settled = self.settled.load(Ordering::Acquire);
        let due = settled.saturating_sub(CREDIT.saturating_mul(PART).as_nanos());
        (due > now.as_nanos()).then(|| Instant::from_nanos(due))
    }

    /// Counts a notice that was sent until `now` and took so much CPU time.
    fn charge(&self, now: Instant<Monotonic>, took: Nanos) {
        if took > FREE {
            // Only the thread of the notices writes it.
            let settled = self.settled.load(Ordering::Acquire).max(now.as_nanos());
            let settled = settled.saturating_add(took.saturating_mul(PART).as_nanos());
            self.settled.store(settled, Ordering::Release);
        }
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
            took in 50_001_u64..50_000_000, period in 1_000_000_u64..1_000_000_000,
        ) {
            let took = Nanos::from_nanos(took);
            let (_, used) = run(Nanos::from_nanos(period), |_| took);
            let part = Nanos::from_nanos(HOUR.as_nanos() / PART);
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
