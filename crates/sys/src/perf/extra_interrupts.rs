//! Clock interrupts in addition to those that a CPU has.

use tactus_model::time::Nanos;

use super::event::CpuEvent;
use crate::error::SysError;

/// Periodic clock interrupts of one CPU: a `PERF_COUNT_SW_CPU_CLOCK` event of
/// [perf_event_open(2)](https://man7.org/linux/man-pages/man2/perf_event_open.2.html) that nobody
/// reads. They end when this is dropped.
///
/// The kernel serves each by a high-resolution timer of its own on that CPU. The body of the
/// scheduler's tick is not part of it. A kernel without high-resolution timers delivers at most one
/// interrupt per tick; [`crate::counters::timer_interrupts`] shows how many came.
#[doc(alias = "PERF_COUNT_SW_CPU_CLOCK")]
#[derive(Debug)]
pub struct ExtraInterrupts {
    /// Counts as long as it is open.
    _event: CpuEvent,
}

impl ExtraInterrupts {
    /// Interrupts `cpu` every `period` from now on; the kernel makes the period at least 10 µs.
    ///
    /// # Errors
    /// - `EACCES` or `EPERM`: the process does not have CAP_PERFMON, and
    ///   `kernel.perf_event_paranoid` is above 0.
    /// - `ENODEV`: the CPU is offline.
    /// - `EMFILE`: too many open files.
    pub fn start(cpu: u32, period: Nanos) -> Result<Self, SysError> {
        let event = CpuEvent::clock(cpu, period.as_nanos())?;
        event.enable()?;
        Ok(Self { _event: event })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use tactus_testing::{Need, require};

    use super::*;
    use crate::counters::timer_interrupts;

    #[test]
    fn a_cpu_has_more_clock_interrupts_until_they_are_dropped() {
        let cpu = crate::affinity::get().unwrap().iter().next().unwrap();
        let started = ExtraInterrupts::start(cpu, Nanos::from_micros(100));
        let Some(extra) = require(Need::Perf, started) else { return };
        let count =
            || timer_interrupts(Path::new("/"), cpu).ok_or("no counter of the clock's interrupts");
        let Some(before) = require(Need::Machine, count()) else { return };
        // They come while the CPU computes, whoever computes; a busy host delays but does not
        // prevent them.
        let began = Instant::now();
        while count().unwrap() - before < 500 {
            assert!(began.elapsed() < Duration::from_secs(60), "too few interrupts");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(extra);
    }
}
