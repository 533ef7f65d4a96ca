//! The clock service: reading and sleeping.

use std::ffi::c_int;

use tactus_model::time::{Boottime, Clock, Instant, Monotonic, Realtime, Tai};
use tactus_rt::ClockService;

use crate::failure::{Failure, call};
use crate::own;
use crate::thread::{nanos, signed};

/// The time since the start of the system, without suspension. Due times use it.
pub const TRT_MONOTONIC: u32 = 0;

/// The time of day.
pub const TRT_REALTIME: u32 = 1;

/// International atomic time.
pub const TRT_TAI: u32 = 2;

/// The time since the start of the system, with suspension.
pub const TRT_BOOTTIME: u32 = 3;

/// Reads a clock, in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn trt_clock_read(clock: u32) -> i64 {
    call(|| {
        Ok(match clock {
            TRT_MONOTONIC => read::<Monotonic>(),
            TRT_REALTIME => read::<Realtime>(),
            TRT_TAI => read::<Tai>(),
            TRT_BOOTTIME => read::<Boottime>(),
            _ => return Err(UNKNOWN),
        })
    })
}

/// Sleeps until a clock shows `due_ns`.
#[unsafe(no_mangle)]
pub extern "C" fn trt_sleep_until(clock: u32, due_ns: i64) -> c_int {
    call(|| {
        own::outside(|| match clock {
            TRT_MONOTONIC => sleep_until::<Monotonic>(due_ns),
            TRT_REALTIME => sleep_until::<Realtime>(due_ns),
            TRT_TAI => sleep_until::<Tai>(due_ns),
            TRT_BOOTTIME => sleep_until::<Boottime>(due_ns),
            _ => Err(UNKNOWN),
        })
    })
}

/// Sleeps for `duration_ns` nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn trt_sleep_for(duration_ns: i64) -> c_int {
    let due = trt_clock_read(TRT_MONOTONIC).saturating_add(duration_ns.max(0));
    trt_sleep_until(TRT_MONOTONIC, due)
}

const UNKNOWN: Failure = Failure::new(
    libc::EINVAL,
    c"the clock is none of TRT_MONOTONIC, TRT_REALTIME, TRT_TAI, TRT_BOOTTIME",
);

fn read<C: Clock>() -> i64 {
    signed(ClockService::<C>::new().read().as_nanos())
}

fn sleep_until<C: Clock>(due: i64) -> Result<c_int, Failure> {
    ClockService::<C>::new().sleep_until(Instant::from_nanos(nanos(due).as_nanos()))?;
    Ok(0)
}
