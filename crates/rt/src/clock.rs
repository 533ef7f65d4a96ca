//! The clock service: reading a clock, sleeping, and alarms, each with its measured cost.
//!
//! It has the services of the real-time clock of the Mach testbed (Dannenberg and others,
//! CMU-CS-93-205, 1993): read, sleep to an absolute or relative time, and alarms delivered as
//! messages, with an adjustable resolution.

use std::marker::PhantomData;

use tactus_model::time::{Clock, Instant, Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{SysError, clock};

use crate::alarm::{AlarmPort, Alarms, NotSet};

/// The services of one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockService<C: Clock = Monotonic> {
    granularity: Nanos,
    clock: PhantomData<C>,
}

impl<C: Clock> Default for ClockService<C> {
    fn default() -> Self {
        Self { granularity: Nanos::from_nanos(1), clock: PhantomData }
    }
}

impl<C: Clock> ClockService<C> {
    /// Makes the service with a granularity of 1 ns.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same service with another granularity: due times are rounded up to its multiples, so
    /// threads and alarms of about the same time share one wakeup of the CPU. Zero means 1 ns.
    #[must_use]
    pub const fn with_granularity(self, granularity: Nanos) -> Self {
        Self { granularity, ..self }
    }

    /// Reads the clock.
    #[inline]
    pub fn read(&self) -> Instant<C> {
        clock::now()
    }

    /// When something that is due at `due` happens: the next multiple of the granularity.
    pub const fn rounded(&self, due: Instant<C>) -> Instant<C> {
        let step = self.granularity.as_nanos();
        match due.as_nanos().checked_next_multiple_of(step) {
            Some(rounded) => Instant::from_nanos(rounded),
            // Zero, or beyond the end of the clock.
            None => due,
        }
    }

    /// Sleeps until a due time, rounded; returns when it woke up.
    ///
    /// # Errors
    /// The system call failed.
    pub fn sleep_until(&self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        Nanosleep.sleep_until(self.rounded(due))
    }

    /// Sleeps for a duration from now, rounded; returns when it woke up.
    ///
    /// # Errors
    /// The system call failed.
    pub fn sleep_for(&self, length: Nanos) -> Result<Instant<C>, SysError> {
        self.sleep_until(self.read() + length)
    }

    /// Makes a port at which alarms arrive, for up to `limit` pending ones, from 1 to 65536, and
    /// what sets them.
    /// Poll the port's descriptor, wait at the port, or give it to an event thread.
    ///
    /// # Errors
    /// The limit is out of range, no memory, too many open files, or timers do not support this clock.
    pub fn alarms(&self, limit: usize) -> Result<(Alarms<C>, AlarmPort<C>), NotSet> {
        Alarms::new(*self, limit)
    }

    /// Measures each service `rounds` times, a millisecond apart, in the calling thread with its
    /// policy: about 4 ms a round.
    ///
    /// # Errors
    /// A system call failed, or timers do not support this clock.
    pub fn measure(&self, rounds: u32) -> Result<Vec<ServiceFigures>, NotSet> {
        let mut figures = vec![measure_read::<C>(rounds)];
        figures.push(measure_wait(Service::SleepUntil, rounds, |due| Ok(self.sleep_until(due)?))?);
        figures.push(measure_wait(Service::SleepFor, rounds, |due: Instant<C>| {
            Ok(self.sleep_for(due - self.read())?)
        })?);
        let (alarms, mut port) = self.alarms(1)?;
        figures.push(measure_wait(Service::AlarmMessage, rounds, |due| {
            alarms.set(due, 0)?;
            port.wait()?;
            Ok(self.read())
        })?);
        figures.push(measure_thread(self, rounds)?);
        Ok(figures)
    }
}

/// A service of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Reading it.
    Read,
    /// Sleeping until a time.
    SleepUntil,
    /// Sleeping for a duration.
    SleepFor,
    /// An alarm as a message on a descriptor, which the same thread awaits.
    AlarmMessage,
    /// An alarm to another thread, which has the policy of the caller.
    AlarmThread,
}

/// What one service costs, and how late it is.
#[derive(Clone, Debug)]
pub struct ServiceFigures {
    /// The service.
    pub service: Service,
    /// The CPU time of the calling thread for each use; for [`Service::AlarmThread`], that of
    /// setting it.
    pub cost: LatencyHistogram,
    /// From the due time to the return of the service in the awaiting thread; `None` for reading.
    pub lateness: Option<LatencyHistogram>,
}

/// How often the clock is read for one figure: a single reading costs less than the resolution of
/// its measurement.
const READINGS: u32 = 100;

/// From the setting of an alarm to its due time when it is measured.
const AHEAD: Nanos = Nanos::from_millis(1);

fn measure_read<C: Clock>(rounds: u32) -> ServiceFigures {
    let mut cost = LatencyHistogram::new();
    for _ in 0..rounds {
        let before = clock::now::<Monotonic>();
        for _ in 0..READINGS {
            std::hint::black_box(clock::now::<C>());
        }
        let elapsed = clock::now::<Monotonic>() - before;
        cost.record(Nanos::from_nanos(elapsed.as_nanos() / u64::from(READINGS)));
    }
    ServiceFigures { service: Service::Read, cost, lateness: None }
}

/// Measures a service that waits until a due time and returns the time after it.
fn measure_wait<C: Clock>(
    service: Service,
    rounds: u32,
    mut wait: impl FnMut(Instant<C>) -> Result<Instant<C>, NotSet>,
) -> Result<ServiceFigures, NotSet> {
    let (mut cost, mut lateness) = (LatencyHistogram::new(), LatencyHistogram::new());
    for _ in 0..rounds {
        let before = clock::thread_cpu_time();
        let due = clock::now::<C>() + AHEAD;
        let came = wait(due)?;
        cost.record(clock::thread_cpu_time() - before);
        lateness.record(came - due);
    }
    Ok(ServiceFigures { service, cost, lateness: Some(lateness) })
}

/// Measures alarms to a thread of its own.
fn measure_thread<C: Clock>(
    service: &ClockService<C>,
    rounds: u32,
) -> Result<ServiceFigures, NotSet> {
    let (alarms, mut port) = service.alarms(1)?;
    let mut cost = LatencyHistogram::new();
    let lateness = std::thread::scope(|scope| {
        let (ask, asked) = std::sync::mpsc::channel();
        let (report, reports) = std::sync::mpsc::channel();
        // The thread awaits as many alarms as it is asked to, so a failure here ends it.
        scope.spawn(move || {
            for () in asked {
                let came = port.wait().map(|alarm| clock::now::<C>() - alarm.due);
                if report.send(came).is_err() {
                    return;
                }
            }
        });
        let mut lateness = LatencyHistogram::new();
        for _ in 0..rounds {
            let before = clock::thread_cpu_time();
            alarms.set(clock::now::<C>() + AHEAD, 0)?;
            cost.record(clock::thread_cpu_time() - before);
            let _ = ask.send(());
            if let Ok(came) = reports.recv() {
                lateness.record(came?);
            }
        }
        Ok::<_, NotSet>(lateness)
    })?;
    Ok(ServiceFigures { service: Service::AlarmThread, cost, lateness: Some(lateness) })
}

#[cfg(test)]
mod tests {
    use tactus_model::time::{Boottime, Realtime};

    use super::*;

    #[test]
    fn due_times_are_rounded_up_to_the_granularity() {
        let rounded = |granularity, due| {
            let clock = ClockService::<Monotonic>::new().with_granularity(granularity);
            clock.rounded(Instant::from_nanos(due)).as_nanos()
        };
        let ms = Nanos::from_millis(1);
        assert_eq!(
            [0, 1, 1_000_000, 1_000_001].map(|due| rounded(ms, due)),
            [0, 1_000_000, 1_000_000, 2_000_000]
        );
        assert_eq!(rounded(Nanos::ZERO, 7), 7);
        assert_eq!(rounded(ms, u64::MAX), u64::MAX);
        assert_eq!(ClockService::<Monotonic>::new().rounded(Instant::from_nanos(7)).as_nanos(), 7);
    }

    #[test]
    fn a_coarse_sleep_ends_at_a_multiple_of_the_granularity() {
        let step = Nanos::from_millis(2);
        let clock = ClockService::<Boottime>::new().with_granularity(step);
        let due = clock.read() + Nanos::from_micros(100);
        let woke = clock.sleep_until(due).unwrap();
        assert!(woke >= clock.rounded(due) && clock.rounded(due) >= due);
        assert!(clock.sleep_for(Nanos::from_micros(1)).unwrap() > woke);
    }

    #[test]
    fn every_service_is_measured_as_often_as_asked() {
        let figures = ClockService::<Realtime>::new().measure(5).unwrap();
        assert_eq!(figures.len(), 5);
        for ServiceFigures { service, cost, lateness } in figures {
            assert_eq!(cost.count(), 5, "{service:?}");
            assert_eq!(lateness.is_none(), service == Service::Read);
            assert!(lateness.is_none_or(|lateness| lateness.count() == 5), "{service:?}");
        }
    }
}
