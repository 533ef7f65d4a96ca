//! The clock service: reading, sleeping, and what both cost.

use std::ffi::c_int;

use tactus_lint::outside;
use tactus_model::time::{Boottime, Clock, Instant, Monotonic, Nanos, Realtime, Tai};
use tactus_rt::{ClockService, Service, ServiceFigures};

use crate::failure::{Failure, call};
use crate::text::put;
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
        outside(|| match clock {
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

/// Rounds a due time up to a multiple of `granularity_ns`. Sleeps and alarms with rounded due times
/// that are about the same cause one wakeup of the CPU. A negative due time is 0.
#[unsafe(no_mangle)]
pub extern "C" fn trt_clock_round(due_ns: i64, granularity_ns: i64) -> i64 {
    call(|| {
        if granularity_ns < 1 {
            return Err(Failure::new(
                libc::EINVAL,
                c"the granularity is not positive; fix: name nanoseconds, e.g. 1000000",
            ));
        }
        let service = ClockService::<Monotonic>::new().with_granularity(nanos(granularity_ns));
        Ok(signed(service.rounded(instant(due_ns)).as_nanos()))
    })
}

/// Reading a clock.
pub const TRT_SERVICE_READ: u32 = 0;

/// `trt_sleep_until`.
pub const TRT_SERVICE_SLEEP_UNTIL: u32 = 1;

/// `trt_sleep_for`.
pub const TRT_SERVICE_SLEEP_FOR: u32 = 2;

/// An alarm that the thread that set it awaits.
pub const TRT_SERVICE_ALARM: u32 = 3;

/// An alarm to another thread.
pub const TRT_SERVICE_ALARM_THREAD: u32 = 4;

/// The number of services.
pub const TRT_SERVICES: usize = 5;

/// What a service of a clock costs, and how late it is, in nanoseconds.
#[repr(C)]
pub struct trt_service {
    /// `TRT_SERVICE_READ` and others.
    pub service: u32,
    /// 0.
    pub reserved: u32,
    /// The CPU time of the calling thread for each use: the median. For `TRT_SERVICE_ALARM_THREAD`,
    /// that of setting the alarm.
    pub cost_p50_ns: i64,
    /// The same: 99 % of the uses cost at most so much.
    pub cost_p99_ns: i64,
    /// From the due time to the return of the wait: the median; -1 for `TRT_SERVICE_READ`.
    pub lateness_p50_ns: i64,
    /// The same: 99 % were at most so late.
    pub lateness_p99_ns: i64,
    /// The worst lateness.
    pub lateness_max_ns: i64,
}

/// The most rounds of one measurement: about seven minutes.
const ROUNDS_MOST: u32 = 100_000;

/// Measures each service of a clock `rounds` times, from 1 to 100000, in the calling thread with its
/// policy: about 4 ms a round. Writes `TRT_SERVICES` rows.
///
/// # Safety
/// `services` is an array of `TRT_SERVICES` members that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trt_clock_measure(
    clock: u32,
    rounds: u32,
    services: *mut trt_service,
) -> c_int {
    call(|| {
        if services.is_null() || !(1..=ROUNDS_MOST).contains(&rounds) {
            return Err(Failure::new(
                libc::EINVAL,
                c"the services are NULL, or the rounds are out of range 1 to 100000",
            ));
        }
        let found = outside(|| match clock {
            TRT_MONOTONIC => measure::<Monotonic>(rounds),
            TRT_REALTIME => measure::<Realtime>(rounds),
            TRT_TAI => measure::<Tai>(rounds),
            TRT_BOOTTIME => measure::<Boottime>(rounds),
            _ => Err(UNKNOWN),
        })?;
        for (index, row) in found.iter().map(in_c).take(TRT_SERVICES).enumerate() {
            // SAFETY: the array has as many members.
            unsafe { put(services.add(index), row) }?;
        }
        Ok(0)
    })
}

fn in_c(figures: &ServiceFigures) -> trt_service {
    let service = match figures.service {
        Service::Read => TRT_SERVICE_READ,
        Service::SleepUntil => TRT_SERVICE_SLEEP_UNTIL,
        Service::SleepFor => TRT_SERVICE_SLEEP_FOR,
        Service::AlarmMessage => TRT_SERVICE_ALARM,
        Service::AlarmThread => TRT_SERVICE_ALARM_THREAD,
    };
    let known = |length: Option<Nanos>| length.map_or(-1, |length| signed(length.as_nanos()));
    let cost = |share| known(figures.cost.quantile(share));
    let late = |share| known(figures.lateness.as_ref().and_then(|late| late.quantile(share)));
    trt_service {
        service,
        reserved: 0,
        cost_p50_ns: cost(0.5),
        cost_p99_ns: cost(0.99),
        lateness_p50_ns: late(0.5),
        lateness_p99_ns: late(0.99),
        lateness_max_ns: late(1.0),
    }
}

const UNKNOWN: Failure = Failure::new(
    libc::EINVAL,
    c"the clock is none of TRT_MONOTONIC, TRT_REALTIME, TRT_TAI, TRT_BOOTTIME",
);

fn read<C: Clock>() -> i64 {
    signed(ClockService::<C>::new().read().as_nanos())
}

fn sleep_until<C: Clock>(due: i64) -> Result<c_int, Failure> {
    ClockService::<C>::new().sleep_until(instant(due))?;
    Ok(0)
}

fn measure<C: Clock>(rounds: u32) -> Result<Vec<ServiceFigures>, Failure> {
    Ok(ClockService::<C>::new().measure(rounds)?)
}

/// A time of C, where negative ones are zero.
pub(crate) fn instant<C: Clock>(count: i64) -> Instant<C> {
    Instant::from_nanos(nanos(count).as_nanos())
}
