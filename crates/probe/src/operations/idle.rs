//! Counting the idle time of a CPU, like `freetime` of the paper of 1993: a thread of the lowest
//! priority counts, and its share of the full speed is the share of the time that nothing else
//! needed.
//!
//! What it does not count is all CPU time that others had there: that of the task, of interrupts, of
//! the kernel's threads, of other programs, and steal time. A lower clock frequency, or work on the
//! other thread of a core, counts as use too. The counter keeps a share of below a per cent of a busy
//! CPU, so it counts that much too much.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::time::{Monotonic, Nanos};
use tactus_sys::{Errno, SysError, affinity, clock, sched, thread};

/// A thread that counts while its CPU has nothing else to do.
pub(super) struct IdleCounter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Its speed on an idle CPU.
    counts_per_nano: f64,
}

#[derive(Default)]
struct Shared {
    count: AtomicU64,
    stop: AtomicBool,
}

/// The full speed is the best of these trials: others only make it count less.
const TRIALS: u32 = 5;
const TRIAL: Duration = Duration::from_millis(10);

impl IdleCounter {
    /// Starts a counter on `cpu`, and measures its full speed there.
    ///
    /// # Errors
    /// The thread cannot be started, or cannot have the lowest priority.
    pub(super) fn start(cpu: u32) -> Result<Self, SysError> {
        let shared = Arc::new(Shared::default());
        let (sender, ready) = sync_channel(1);
        let theirs = shared.clone();
        let refused = SysError::new("pthread_create", Errno::AGAIN);
        let thread = std::thread::Builder::new()
            .name("idle".to_owned())
            .spawn(move || {
                let placed = place(cpu);
                let may_count = placed.is_ok();
                let _ = sender.send(placed);
                if may_count {
                    count(&theirs);
                }
            })
            .map_err(|_| refused)?;
        ready.recv().map_err(|_| refused)??;
        let mut counter = Self { shared, thread: Some(thread), counts_per_nano: 0.0 };
        counter.counts_per_nano = (0..TRIALS).map(|_| counter.trial()).fold(0.0, f64::max);
        Ok(counter)
    }

    /// The speed while the calling thread sleeps, in counts per nanosecond.
    fn trial(&self) -> f64 {
        let begin = (clock::now::<Monotonic>(), self.count());
        std::thread::sleep(TRIAL);
        let (counted, elapsed) = (self.count() - begin.1, clock::now::<Monotonic>() - begin.0);
        counted as f64 / elapsed.as_nanos().max(1) as f64
    }

    fn count(&self) -> u64 {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// How long the CPU was idle since the start.
    pub(super) fn idle(&self) -> Nanos {
        match self.counts_per_nano > 0.0 {
            true => Nanos::from_nanos((self.count() as f64 / self.counts_per_nano) as u64),
            false => Nanos::ZERO,
        }
    }
}

impl Drop for IdleCounter {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn place(cpu: u32) -> Result<(), SysError> {
    let cpus: CpuList = std::iter::once(cpu).collect();
    affinity::set(&cpus)?;
    sched::set(Scheduling::Idle)?;
    let _ = thread::set_name("idle");
    Ok(())
}

fn count(shared: &Shared) {
    while !shared.stop.load(Ordering::Relaxed) {
        // Nobody else writes.
        shared.count.store(shared.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_less_idle_while_somebody_computes_there() {
        let cpu = affinity::get().unwrap().iter().next().unwrap();
        let counter = IdleCounter::start(cpu).unwrap();
        // In a thread of its own: the harness keeps its CPUs.
        let worked = std::thread::scope(|scope| {
            let busy = || {
                affinity::set(&std::iter::once(cpu).collect()).unwrap();
                let (begin, before) = (clock::thread_cpu_time(), counter.idle());
                let start = clock::now::<Monotonic>();
                while clock::thread_cpu_time() - begin < Nanos::from_millis(30) {}
                (clock::now::<Monotonic>() - start, counter.idle() - before)
            };
            scope.spawn(busy).join().unwrap()
        });
        let (elapsed, idle) = worked;
        // The thread had 30 ms, so these were not idle; speeds of a busy machine vary.
        let most = elapsed.as_nanos().saturating_sub(30_000_000) as f64 * 1.5 + 15e6;
        assert!((idle.as_nanos() as f64) < most, "{idle} of {elapsed}");
    }
}
