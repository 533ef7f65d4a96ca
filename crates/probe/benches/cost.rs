//! The cost of the measured loop, by clock and by kind of interval.

use std::sync::Arc;

use divan::Bencher;
use tactus_model::probe::Interval;
use tactus_model::time::{Clock, Instant, Monotonic, Nanos};
use tactus_probe::live::{RingLayout, SampleRings};
use tactus_probe::schedule::Schedule;
use tactus_probe::timer::{Rest, SampleMemory, keep_measuring, measure};
use tactus_sys::sleep::Sleeper;
use tactus_sys::{SysError, clock};

fn main() {
    divan::main();
}

const TURNS: u64 = 10_000;

/// Returns at once, with the time stamp that every sleeper takes.
struct Stamp;

impl<C: Clock> Sleeper<C> for Stamp {
    fn sleep_until(&mut self, _due: Instant<C>) -> Result<Instant<C>, SysError> {
        Ok(clock::now())
    }
}

/// Returns its due time at once: the loop without its time stamp.
struct NoStamp;

impl<C: Clock> Sleeper<C> for NoStamp {
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        Ok(due)
    }
}

fn turns<S: Sleeper<Monotonic>>(bencher: Bencher<'_, '_>, interval: &str, mut sleeper: S) {
    let interval: Interval = interval.parse().unwrap();
    let window = interval.mean().saturating_mul(TURNS);
    let schedule = Schedule::new(interval, Nanos::ZERO, window, 1);
    let start = clock::now::<Monotonic>() + Nanos::from_secs(36_000);
    bencher
        .counter(schedule.remaining())
        .with_inputs(|| (schedule.clone(), SampleMemory::take(TURNS as usize * 2).unwrap()))
        .bench_local_values(|(schedule, memory)| {
            measure(&mut sleeper, &mut Rest, schedule, start, memory)
        });
}

const INTERVALS: [&str; 3] = ["1ms", "1ms..2ms", "1ms~50us"];

#[divan::bench(args = INTERVALS)]
fn with_stamp(bencher: Bencher<'_, '_>, interval: &str) {
    turns(bencher, interval, Stamp);
}

/// Like `with_stamp`, but the samples go into shared memory.
#[divan::bench(args = INTERVALS)]
fn into_a_ring(bencher: Bencher<'_, '_>, interval: &str) {
    let interval: Interval = interval.parse().unwrap();
    let window = interval.mean().saturating_mul(TURNS);
    let schedule = Schedule::new(interval, Nanos::ZERO, window, 1);
    let start = clock::now::<Monotonic>() + Nanos::from_secs(36_000);
    // Room for all samples, because a dropped sample costs less.
    let layout = RingLayout::new(1, Nanos::from_micros(1));
    bencher
        .counter(schedule.remaining())
        .with_inputs(|| Arc::new(SampleRings::create(layout).unwrap()).writer(0))
        .bench_local_values(|mut ring| {
            keep_measuring(&mut Stamp, &mut Rest, schedule.clone(), start, &mut ring)
        });
}

#[divan::bench(args = INTERVALS)]
fn without_stamp(bencher: Bencher<'_, '_>, interval: &str) {
    turns(bencher, interval, NoStamp);
}

#[divan::bench]
fn clock_read() -> u64 {
    clock::now::<Monotonic>().as_nanos()
}
