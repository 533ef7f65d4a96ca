//! Preparing the calling thread, step by step.

use std::cell::LazyCell;
use std::path::Path;

use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::policy::Scheduling;
use tactus_model::result::{Granted, Shortfall};
use tactus_model::time::Nanos;
use tactus_sys::idle_states::IdleStateLimit;
use tactus_sys::memory::{self, Lock};
use tactus_sys::{SysError, affinity, sched};

use crate::not_granted::NotGranted;
use crate::schedule;
use crate::thread::ThreadRef;

/// The preparation of the calling thread for real-time work.
///
/// Each step is tried; a refusal is recorded and explained, and the next step follows. Use a
/// value in the thread that created it.
#[derive(Debug)]
pub struct Preparation {
    memory_locked: bool,
    shortfalls: Vec<Shortfall>,
    /// Read at the first refusal only, because reading takes milliseconds, and before any
    /// fallback is set: the reason of a refusal depends on the state at that time.
    facts: LazyCell<MachineFacts>,
}

/// What a thread has after its preparation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// What the kernel granted, read back from it.
    pub granted: Granted,
    /// What it refused.
    pub shortfalls: Vec<Shortfall>,
}

impl Default for Preparation {
    fn default() -> Self {
        Self::new()
    }
}

impl Preparation {
    /// Begins to prepare the calling thread.
    pub fn new() -> Self {
        Self {
            memory_locked: false,
            shortfalls: Vec::new(),
            facts: LazyCell::new(|| tactus_sys::facts::read(Path::new("/"))),
        }
    }

    /// Sets by how much the kernel may delay the thread's timers. Call it before the thread has
    /// a real-time policy: such threads have no timer slack and cannot set it.
    ///
    /// # Errors
    /// The kernel does not show the thread's timer slack.
    pub fn set_timer_slack(&mut self, asked: Nanos) -> Result<(), SysError> {
        if let Err(refusal) = sched::set_timer_slack(asked) {
            let (granted, errno) = (sched::timer_slack()?, refusal.errno.raw_os_error());
            self.miss(&NotGranted::TimerSlack { asked, granted, errno });
        }
        Ok(())
    }

    /// Confines the thread to `cpus` and gives it a policy, or else the best permitted policy.
    ///
    /// A thread that gets `SCHED_DEADLINE` is not confined: the kernel does not grant both, and
    /// a shortfall reports it unless the thread has these CPUs already.
    ///
    /// # Errors
    /// The kernel does not show the thread's settings.
    pub fn place(&mut self, cpus: &CpuList, policy: Scheduling) -> Result<(), SysError> {
        let facts = || self.facts.clone();
        let missing = schedule::place(&ThreadRef::Calling, cpus, policy, facts)?;
        missing.iter().for_each(|refused| self.miss(refused));
        Ok(())
    }

    /// Keeps CPUs out of idle states with an exit latency above `microseconds` while the
    /// returned value lives; `None` if the kernel refuses it.
    ///
    /// It affects the whole machine: one holder serves all threads.
    pub fn limit_idle_states(&mut self, microseconds: u32) -> Option<IdleStateLimit> {
        limit_idle_states(microseconds).map_err(|refused| self.miss(&refused)).ok()
    }

    /// Locks the memory of the process. Call it when all memory is allocated.
    ///
    /// [`Lock::Present`] does not lock later mappings. The other values do: beyond the limit
    /// the kernel refuses such a mapping, and a refused allocation ends the process.
    pub fn lock_memory(&mut self, what: Lock) {
        match memory::lock(what) {
            Ok(()) => self.memory_locked = true,
            Err(refusal) => {
                self.miss(&NotGranted::LockedMemory { errno: refusal.errno.raw_os_error() });
            }
        }
    }

    /// Reads back what the thread has, and returns it with what was refused.
    ///
    /// # Errors
    /// The kernel does not show the thread's settings.
    pub fn finish(self) -> Result<Prepared, SysError> {
        let scheduling = sched::get()?;
        let timer_slack = if scheduling.is_realtime() { None } else { Some(sched::timer_slack()?) };
        let granted = Granted {
            scheduling,
            cpus: affinity::get()?,
            memory_locked: self.memory_locked,
            timer_slack,
        };
        Ok(Prepared { granted, shortfalls: self.shortfalls })
    }

    fn miss(&mut self, refused: &NotGranted) {
        self.shortfalls.push(refused.explain(&self.facts));
    }
}

/// Keeps CPUs out of idle states with an exit latency above `microseconds` while the returned
/// value lives.
///
/// It affects the whole machine: one holder serves all threads and all processes.
///
/// # Errors
/// The kernel refuses it.
pub fn limit_idle_states(microseconds: u32) -> Result<IdleStateLimit, NotGranted> {
    IdleStateLimit::hold(microseconds).map_err(|refusal| NotGranted::IdleStates {
        microseconds,
        errno: refusal.errno.raw_os_error(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_what_its_preparation_reports() {
        let prepared = std::thread::spawn(|| {
            let last: CpuList = affinity::get().unwrap().iter().last().into_iter().collect();
            let mut preparation = Preparation::new();
            preparation.set_timer_slack(Nanos::from_micros(3)).unwrap();
            preparation.place(&last, "batch:4".parse().unwrap()).unwrap();
            (last, preparation.finish().unwrap())
        });
        let (last, Prepared { granted, shortfalls }) = prepared.join().unwrap();
        assert_eq!(shortfalls, []);
        assert_eq!((granted.scheduling.to_string(), granted.cpus), ("batch:4".to_owned(), last));
        assert_eq!(granted.timer_slack, Some(Nanos::from_micros(3)));
        assert!(!granted.memory_locked);
    }

    #[test]
    fn a_refusal_is_reported_with_its_reason_and_the_next_step_follows() {
        let prepared = std::thread::spawn(|| {
            let mut preparation = Preparation::new();
            preparation.place(&"8191".parse().unwrap(), "batch:4".parse().unwrap()).unwrap();
            preparation.finish().unwrap()
        });
        let Prepared { granted, shortfalls } = prepared.join().unwrap();
        assert_eq!(granted.scheduling.to_string(), "batch:4");
        let [missing] = &shortfalls[..] else { panic!("{shortfalls:?}") };
        assert_eq!(missing.asked, "CPU 8191");
        assert!(missing.granted.starts_with("any of CPUs"), "{missing:?}");
        assert!(missing.reason.contains("8191"), "{missing:?}");
    }
}
