//! The library for real-time programs on a stock kernel.
//!
//! A [`Process`] starts periodic threads and event threads, prepares each by the steps of
//! [`tactus_prepare`], and supervises them. What the machine does not permit is a
//! [shortfall](Thread::shortfalls) with its fix; the thread runs with the best that is permitted.
//! `docs/rt.md` in the repository is the guide.
//!
//! | for | here |
//! |---|---|
//! | a job in every period | [`Process::periodic`], with a policy for [overruns](Overrun) |
//! | a loop of one's own that waits for its periods | [`Process::thread`] |
//! | a job for every event of a descriptor, an interrupt, an alarm, anything | [`Process::event`] and its [`Source`] |
//! | CPU time that is granted and limited | [`Policy::Reserve`] |
//! | reading a clock, sleeping, alarms | [`ClockService`] |
//! | data shared between real-time threads | [`lock`] |
//! | FIFOs and blocks to and from ordinary processes, who cannot delay a thread | [`Process::broker`], [`fifo`] |
//! | a job for every item that arrives | [`Process::event`] with a [`fifo::Receiver`] |
//! | what a job did that it must not | [`ThreadBuilder::watch`], [`Thread::violations`], [`lint`] |
//! | jobs as `tactus why` judges them | [`ThreadBuilder::mark`] |
//! | threads that hang or panic | [`ProcessBuilder::supervise`], [`Restart`], [`Process::take_reports`] |
//! | figures while it runs | [`Thread::stats`] |
//!
//! From its first job on, the library allocates nothing in a thread, takes no lock, and makes no
//! system call but the wait (and, for an event, the read; for marks, two writes). A panic, a restart, and a sleep of more than 100 ms
//! are the exceptions.
//!
//! ```no_run
#![doc = include_str!("../examples/servo.rs")]
//! ```
#![forbid(unsafe_code)]

mod alarm;
mod clock;
mod event;
mod job;
mod observed;
mod overrun;
mod own;
mod periodic;
mod process;
mod ready;
mod refused;
mod report;
mod statistics;
mod supervisor;
mod thread;

pub use alarm::{Alarm, AlarmId, AlarmPort, Alarms, NotSet, PENDING_MOST};
pub use clock::{ClockService, Service, ServiceFigures};
pub use event::{Event, Gpio, Interrupter, Occurrence, Readable, Source, Uio, Waited};
pub use job::{Ended, Flow, Restart};
pub use overrun::{Due, Next, Overrun, Schedule};
pub use own::{Own, OwnThread, Pace};
pub use periodic::{Periodic, Tick};
pub use process::{Process, ProcessBuilder};
pub use refused::{
    FIRST_MOST, LIMIT_LEAST, PERIOD_LEAST, PERIOD_MOST, Refused, STACK_LEAST, STACK_MOST,
};
pub use report::{Incident, Report, Reports};
pub use statistics::Statistics;
pub use supervisor::Action;
pub use thread::{Finished, Policy, Thread, ThreadBuilder};

pub use tactus_fifo::{self as fifo, Separation};
pub use tactus_lint::{self as lint, Lint, LintError, LintReport, Options as Watch};
pub use tactus_model::cpus::CpuList;
pub use tactus_model::policy::RealtimePriority;
pub use tactus_model::reserve::Capacity;
pub use tactus_model::result::Shortfall;
pub use tactus_reserve::Rung;
pub use tactus_sys::gpio::{Edge, Edges};
pub use tactus_sys::{SysError, wait::Waker};

/// Durations and instants.
pub mod time {
    pub use tactus_model::format::latency;
    pub use tactus_model::time::*;
}

/// Locks and condition variables with priority inheritance: a thread that has the lock runs with
/// the priority of the highest thread that waits for it.
///
/// ```
/// use tactus_rt::lock::{Condvar, LockError, Mutex};
///
/// static SET_POINT: Mutex<Option<f64>> = Mutex::new(None);
/// static IS_SET: Condvar = Condvar::new();
///
/// let waiter = std::thread::spawn(|| -> Result<f64, LockError> {
///     let mut guard = SET_POINT.lock()?;
///     loop {
///         match *guard {
///             Some(point) => return Ok(point),
///             None => guard = IS_SET.wait(guard)?,
///         }
///     }
/// });
/// let mut guard = SET_POINT.lock()?;
/// *guard = Some(0.8);
/// IS_SET.notify_one(&guard)?;
/// drop(guard);
/// assert_eq!(waiter.join().unwrap(), Ok(0.8));
/// # Ok::<(), LockError>(())
/// ```
pub mod lock {
    pub use tactus_sys::pi_mutex::{
        PiCondvar as Condvar, PiGuard as MutexGuard, PiLockError as LockError, PiMutex as Mutex,
        PiWait as WaitEnd,
    };
}

/// The programs of the guide compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rt.md")]
struct Guide;
