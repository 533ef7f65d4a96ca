//! A reserve whose use of CPU time is measured: to adapt, to notice overruns, or for a follower.

use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_qos::{Overrun, ReserveId, Terms, Usage};

use crate::Moment;
use crate::adapt::{Adaptation, is_used_up};
use crate::meter::{Meter, Reading};

/// The shortest time between two readings, for each reserve that is measured: a reading takes a few
/// microseconds, so all readings together take a small part of the manager's own reserve. With
/// many, or with short periods, a reading covers several periods.
const READING: Nanos = Nanos::from_micros(500);

/// A meter and what its readings are for.
#[derive(Debug)]
pub(crate) struct Metered {
    meter: Meter,
    /// When the last reading was, and its value.
    last: (Moment, Reading),
    next: Moment,
    adaptation: Option<Adaptation>,
    followed: Option<Followed>,
}

/// The report to followers.
#[derive(Debug)]
struct Followed {
    every: Nanos,
    since: (Moment, Reading),
}

/// What a reading showed.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The cost that the thread should have, if it should have another.
    pub want: Option<Nanos>,
    /// The thread used all that it was granted.
    pub overrun: Option<Usage>,
    /// The report to followers.
    pub used: Option<Usage>,
}

impl Metered {
    /// The meter of a thread with these terms, whose followers want a report so often; `None` if
    /// nobody needs it, and if the kernel has no meters. What `before` has measured is kept.
    pub fn of(
        before: Option<Self>,
        terms: &Terms,
        every: Option<Nanos>,
        thread: ThreadId,
        now: Moment,
    ) -> Option<Self> {
        let is_needed = terms.adapt || terms.overrun != Overrun::Throttle || every.is_some();
        is_needed.then_some(())?;
        let mut metered = match before {
            Some(before) => before,
            None => {
                let meter = Meter::of(thread)?;
                let last = (now, meter.read()?);
                let next = now + terms.period;
                Self { meter, last, next, adaptation: None, followed: None }
            }
        };
        metered.adaptation = terms.adapt.then(|| metered.adaptation.take().unwrap_or_default());
        let since = metered.last;
        metered.followed = every.map(|every| match metered.followed.take() {
            Some(followed) => Followed { every, ..followed },
            None => Followed { every, since },
        });
        Some(metered)
    }

    /// When it is to be read.
    pub const fn next(&self) -> Moment {
        self.next
    }

    /// The p99.9 of the use in a period.
    pub fn need(&self) -> Option<Nanos> {
        self.adaptation.as_ref()?.need()
    }

    /// Reads the meter of a reserve, one of `metered`.
    pub fn observe(
        &mut self,
        reserve: ReserveId,
        granted: Capacity,
        metered: usize,
        now: Moment,
    ) -> Observed {
        self.next = now + granted.period().max(READING.saturating_mul(metered as u64));
        // The end of the thread is reported by its descriptor.
        let Some(reading) = self.meter.read() else { return Observed::default() };
        let usage = usage(reserve, granted, self.last, (now, reading));
        self.last = (now, reading);
        let mut observed = Observed::default();
        let used = per_period(usage.used, usage.elapsed, granted.period());
        if is_used_up(used, granted.cost()) {
            observed.overrun = Some(usage);
        }
        if let Some(adaptation) = &mut self.adaptation {
            observed.want = adaptation.observe(used, granted.cost());
        }
        if let Some(followed) = &mut self.followed
            && now - followed.since.0 >= followed.every
        {
            observed.used = Some(self::usage(reserve, granted, followed.since, (now, reading)));
            followed.since = (now, reading);
        }
        observed
    }
}

fn usage(
    reserve: ReserveId,
    granted: Capacity,
    (began, before): (Moment, Reading),
    (now, after): (Moment, Reading),
) -> Usage {
    let elapsed = now - began;
    Usage {
        reserve,
        elapsed,
        used: after.used - before.used,
        granted: per_period(granted.cost(), granted.period(), elapsed),
        waited: after.waited - before.waited,
    }
}

/// An amount in `elapsed`, for one `period`.
fn per_period(amount: Nanos, elapsed: Nanos, period: Nanos) -> Nanos {
    let scaled = u128::from(amount.as_nanos()) * u128::from(period.as_nanos())
        / u128::from(elapsed.as_nanos().max(1));
    Nanos::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}
