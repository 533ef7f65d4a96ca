//! What a task computes between wakeups, or while it waits for them.
//!
//! The work is a chain of multiplications that depend on each other, in *units* of a few
//! nanoseconds. It touches no memory and makes no call, so a unit always takes the same time,
//! unless the CPU is taken away. The duration of a unit is measured beforehand: the least of
//! several short trials, because every disturbance only makes a trial longer.

use std::hint::black_box;

use tactus_model::time::{Clock, Instant, Nanos};
use tactus_sys::sleep::{Alarm, LOST_AFTER, Sleeper, lost};
use tactus_sys::{SysError, clock};

use crate::timer::Activity;

/// Multiplications in a unit.
const UNIT: u32 = 8;
/// Units in a trial: some tens of microseconds, short enough to pass undisturbed.
const TRIAL: u64 = 2_000;
const TRIALS: u32 = 25;

/// Computes this many units.
#[inline(never)]
pub fn compute(units: u64) {
    let mut value = black_box(1_u64);
    for _ in 0..units {
        for _ in 0..UNIT {
            value = value.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        }
        value = black_box(value);
    }
    black_box(value);
}

/// How fast this CPU computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    units_per_nano: f64,
}

impl Pace {
    /// Measures the pace on the CPU on which the calling thread runs.
    pub fn calibrate<C: Clock>() -> Self {
        let trial = || {
            let begin = clock::now::<C>();
            compute(TRIAL);
            clock::now::<C>() - begin
        };
        let least = (0..TRIALS).map(|_| trial()).min().unwrap_or(Nanos::MAX);
        Self { units_per_nano: TRIAL as f64 / least.as_nanos().max(1) as f64 }
    }

    /// How many units take `length` nanoseconds.
    #[inline]
    pub fn units(self, length: f64) -> u64 {
        (length * self.units_per_nano) as u64
    }
}

/// Computes for a share of the time until the next due time.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The share: 0 to 1.
    share: f64,
    pace: Pace,
}

impl Share {
    /// Computes for `percent` of the time.
    pub fn new(percent: u8, pace: Pace) -> Self {
        Self { share: f64::from(percent) / 100.0, pace }
    }
}

impl<C: Clock> Activity<C> for Share {
    #[inline]
    fn act(&mut self, came: Instant<C>, next: Instant<C>) -> Instant<C> {
        compute(self.pace.units((next - came).as_nanos() as f64 * self.share));
        clock::now()
    }
}

/// A sleeper that computes instead of sleeping, until its alarm rings.
#[derive(Clone, Copy, Debug)]
pub struct Computing<A> {
    alarm: A,
    /// Units between two checks of the alarm.
    batch: u64,
}

/// How many nanoseconds a task computes before it checks whether its handler has run. The check
/// delays no sample: the handler has stamped the arrival.
const LOOK_EVERY: f64 = 200.0;
/// Checks between two clock readings, which detect a lost alarm.
const LOOKS_PER_READING: u32 = 4_096;

impl<A> Computing<A> {
    /// Computes until `alarm` rings.
    pub fn new(alarm: A, pace: Pace) -> Self {
        Self { alarm, batch: pace.units(LOOK_EVERY).max(1) }
    }
}

impl<C: Clock, A: Alarm<C>> Sleeper<C> for Computing<A> {
    #[inline]
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        self.alarm.arm(due)?;
        loop {
            for _ in 0..LOOKS_PER_READING {
                if let Some(came) = self.alarm.rang() {
                    return Ok(came);
                }
                compute(self.batch);
            }
            if clock::now::<C>() - due > LOST_AFTER {
                return Err(lost("the timer's signal"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Monotonic;
    use tactus_sys::sleep::SignalHandler;

    use super::*;

    #[test]
    fn more_units_take_longer() {
        let pace = Pace::calibrate::<Monotonic>();
        assert!(pace.units(10_000.0) > pace.units(1_000.0));
        assert!(pace.units(1_000.0) > 0);
    }

    #[test]
    fn work_takes_at_least_what_it_was_calibrated_to() {
        // The pace is that of the fastest trial, so no later run is much faster; a busy machine
        // only makes it slower.
        let pace = Pace::calibrate::<Monotonic>();
        let begin = clock::now::<Monotonic>();
        compute(pace.units(2_000_000.0));
        assert!(clock::now::<Monotonic>() - begin > Nanos::from_micros(200));
    }

    #[test]
    fn a_computing_task_is_interrupted_when_it_is_due() {
        let pace = Pace::calibrate::<Monotonic>();
        let mut computing = Computing::new(SignalHandler::new().unwrap(), pace);
        let mut due = clock::now::<Monotonic>();
        for _ in 0..10 {
            due = due + Nanos::from_micros(500);
            assert!(computing.sleep_until(due).unwrap() >= due);
        }
    }
}
