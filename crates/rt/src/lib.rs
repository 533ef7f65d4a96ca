//! Real-time threads for programs of one's own.
#![forbid(unsafe_code)]

mod alarm;
mod clock;
mod event;
mod job;
mod overrun;
mod periodic;
mod process;
mod refused;
mod report;
mod statistics;
mod supervisor;
mod thread;

pub use alarm::{Alarm, AlarmId, AlarmPort, Alarms, NotSet};
pub use clock::{ClockService, Service, ServiceFigures};
pub use event::{Gpio, Interrupter, Occurrence, Readable, Source, Uio, Waited};
pub use job::{Ended, Flow, Restart};
pub use overrun::{Due, Next, Overrun, Schedule};
pub use periodic::Tick;
pub use process::{Process, ProcessBuilder};
pub use refused::Refused;
pub use report::{Incident, Report, Reports};
pub use statistics::Statistics;
pub use supervisor::Action;
pub use thread::{Policy, Thread, ThreadBuilder};

/// Locks and condition variables with priority inheritance: a thread that has the lock runs with
/// the priority of the highest thread that waits for it.
pub mod lock {
    pub use tactus_sys::pi_mutex::{
        PiCondvar as Condvar, PiGuard as MutexGuard, PiLockError as LockError, PiMutex as Mutex,
        PiWait as WaitEnd,
    };
}
