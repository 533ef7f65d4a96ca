//! Reading how much CPU time another thread has used.

use std::fs::File;
use std::os::unix::fs::FileExt;

use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;

/// The CPU time of one thread, from
/// [/proc/PID/schedstat](https://docs.kernel.org/scheduler/sched-stats.html).
///
/// The open file means the same thread for as long as it is open. While the thread runs, the value
/// grows at ticks of its CPU; when it sleeps or is throttled, it is exact.
#[derive(Debug)]
pub(crate) struct Meter(File);

/// What a thread has used since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// CPU time.
    pub used: Nanos,
    /// Time on a run queue without a CPU.
    pub waited: Nanos,
}

impl Meter {
    /// Opens the meter of a thread; `None` if the kernel has none or the thread has ended.
    pub fn of(thread: ThreadId) -> Option<Self> {
        File::open(format!("/proc/{}/schedstat", thread.0)).ok().map(Self)
    }

    /// Reads it; `None` once the thread has ended.
    pub fn read(&self) -> Option<Reading> {
        let mut buffer = [0; 96];
        let count = self.0.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..count]).ok()?;
        let mut numbers = text.split_whitespace().map_while(|number| number.parse().ok());
        let [used, waited] = [numbers.next()?, numbers.next()?].map(Nanos::from_nanos);
        Some(Reading { used, waited })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_grows_and_ends_with_its_thread() {
        let thread = tactus_testing::Sleeper::start(tactus_sys::thread::current_id);
        let meter = Meter::of(thread.id).unwrap();
        let first = meter.read().unwrap();
        drop(thread);
        // The kernel removes the thread shortly after those who join it have gone on.
        while let Some(last) = meter.read() {
            assert!(last.used >= first.used);
            std::thread::yield_now();
        }
    }
}
