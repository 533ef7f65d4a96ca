//! Guarding the sections of a program's own threads.

use std::io;
use std::ops::BitOr;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_model::text::nearest;
use tactus_model::violation::LintReport;
use tactus_permission::{Asked, Diagnosis, Refusal, diagnose};
use tactus_sys::section::{self, FaultsSeen, Inside, Ring, Watcher};
use tactus_sys::{Errno, SysError, sched, system_call};

use crate::collector::Collector;

/// The time between two looks at what was caught.
const PACE: Duration = Duration::from_millis(10);

/// What to watch inside sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// System calls, and with them contended locks.
    pub system_calls: bool,
    /// Page faults.
    pub page_faults: bool,
    /// Allocations. The program must use [`Allocator`](crate::Allocator) as its global allocator.
    pub allocations: bool,
    /// The names of system calls that sections may make.
    pub allowed: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { system_calls: true, page_faults: true, allocations: true, allowed: Vec::new() }
    }
}

impl Options {
    /// System calls, and with them contended locks.
    pub const SYSTEM_CALLS: Self = Self::only(true, false, false);
    /// Page faults.
    pub const PAGE_FAULTS: Self = Self::only(false, true, false);
    /// Allocations; see [`allocations`](Self::allocations).
    pub const ALLOCATIONS: Self = Self::only(false, false, true);

    const fn only(system_calls: bool, page_faults: bool, allocations: bool) -> Self {
        Self { system_calls, page_faults, allocations, allowed: Vec::new() }
    }

    /// The same, with these system calls permitted.
    #[must_use]
    pub fn allow(mut self, calls: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed.extend(calls.into_iter().map(Into::into));
        self
    }

    fn resolved(&self) -> Result<section::Options, LintError> {
        let number = |name: &String| {
            system_call::number(name).ok_or_else(|| LintError::UnknownCall {
                name: name.clone(),
                nearest: nearest(name, &system_call::names()).map(str::to_owned),
            })
        };
        Ok(section::Options {
            calls: self.system_calls,
            allowed: self.allowed.iter().map(number).collect::<Result<_, _>>()?,
            faults: self.page_faults,
            allocations: self.allocations,
        })
    }
}

/// What either of two watches; a system call that one permits is permitted.
impl BitOr for Options {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            system_calls: self.system_calls | other.system_calls,
            page_faults: self.page_faults | other.page_faults,
            allocations: self.allocations | other.allocations,
            allowed: [self.allowed, other.allowed].concat(),
        }
    }
}

/// Why sections cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum LintError {
    /// A system call of this name is not known.
    #[error("unknown system call `{name}`{}", hint(nearest.as_deref()))]
    UnknownCall {
        /// The name.
        name: String,
        /// A known name like it.
        nearest: Option<String>,
    },
    /// The thread has a guard already.
    #[error("the thread has a guard already")]
    Guarded,
    /// The thread in the background cannot be started.
    #[error("cannot start the thread that reads what was caught")]
    Thread(#[source] io::Error),
    /// The kernel refused what is needed for any watching.
    #[error("cannot prepare the thread")]
    Prepare(#[source] SysError),
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// Watches the sections of the threads that ask for a [`Guard`].
///
/// An ordinary thread in the background reads what was caught every 10 ms.
#[derive(Debug)]
pub struct Lint {
    options: section::Options,
    collector: Arc<Mutex<Collector>>,
    /// Dropped first, which ends the thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Guards the sections of the thread that asked for it. Keep it in that thread while it runs.
#[derive(Debug)]
pub struct Guard {
    watcher: Watcher,
}

/// The thread is inside a section until this is dropped.
#[derive(Debug)]
#[must_use = "the section ends when this is dropped"]
pub struct Section<'g>(#[expect(dead_code, reason = "its end leaves the section")] Inside<'g>);

impl Lint {
    /// Starts to watch; threads then ask for their guards.
    ///
    /// # Errors
    /// A name of a permitted call is unknown, or the thread in the background cannot be started.
    pub fn start(options: Options) -> Result<Self, LintError> {
        let options = options.resolved()?;
        let collector = Arc::new(Mutex::new(Collector::new()));
        let (running, ended) = channel::<()>();
        let shared = collector.clone();
        let thread = std::thread::Builder::new()
            .name("tactus-lint".to_owned())
            .spawn(move || {
                // Its creator may be a real-time thread. To give that up is always permitted.
                let _ = sched::set_alone(Scheduling::ORDINARY);
                while ended.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
                    locked(&shared).collect();
                }
            })
            .map_err(LintError::Thread)?;
        Ok(Self { options, collector, running: Some(running), thread: Some(thread) })
    }

    /// Prepares the calling thread, by whose present name it is reported. What the kernel does not
    /// permit is not watched, and reported as [`LintReport::unseen`].
    ///
    /// The program must not block `SIGSYS` in the thread, and leave the handlers of `SIGSYS` and
    /// `SIGTRAP` alone.
    ///
    /// # Errors
    /// The thread has a guard already, or the kernel does not show its stack.
    pub fn guard(&self) -> Result<Guard, LintError> {
        let (ring, reader) = Ring::allocate();
        let watcher = Watcher::new(&self.options, ring).map_err(|error| match error.errno {
            Errno::BUSY => LintError::Guarded,
            _ => LintError::Prepare(error),
        })?;
        let thread = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
        let unseen = unseen(&self.options, &watcher);
        let name = thread.trim_end().to_owned();
        locked(&self.collector).add(name, reader, watcher.counts(), unseen);
        Ok(Guard { watcher })
    }

    /// What the sections did so far, with all that was caught before the call. Not for a
    /// real-time thread: it reads files and locks.
    pub fn report(&self) -> LintReport {
        let mut collector = locked(&self.collector);
        collector.collect();
        collector.report()
    }
}

impl Drop for Lint {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take() {
            // If it has panicked, its message is on stderr.
            let _ = thread.join();
        }
    }
}

impl Guard {
    /// Enters a section; the thread leaves it when the value is dropped.
    #[inline]
    pub fn enter(&mut self) -> Section<'_> {
        Section(self.watcher.enter())
    }

    /// Enters a section that ends by [`end`](Self::end), for a loop without a body of its own.
    #[inline]
    pub fn begin(&mut self) {
        self.watcher.begin();
    }

    /// Ends the present section, if there is one.
    #[inline]
    pub fn end(&mut self) {
        self.watcher.end();
    }

    /// Runs `body` inside a section.
    #[inline]
    pub fn run<T>(&mut self, body: impl FnOnce() -> T) -> T {
        let _section = self.enter();
        body()
    }
}

fn locked(collector: &Mutex<Collector>) -> MutexGuard<'_, Collector> {
    collector.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was asked for and is not watched.
fn unseen(options: &section::Options, watcher: &Watcher) -> Vec<Shortfall> {
    let calls = watcher.calls.err().filter(|_| options.calls).map(|error| Shortfall {
        asked: "system calls and contended locks of sections".to_owned(),
        granted: "none of them".to_owned(),
        reason: format!("the kernel does not dispatch system calls ({error}): it is before 5.11, or not for x86-64"),
        fix: None,
    });
    let faults = match watcher.faults {
        Ok(FaultsSeen::All) => None,
        Ok(FaultsSeen::InUserMode) => {
            let granted = "those in user mode, without those within system calls";
            Some((granted, SysError::new("perf_event_open", Errno::ACCESS)))
        }
        Err(error) => Some(("none of them", error)),
    };
    let faults = faults.filter(|_| options.faults).map(|(granted, error)| {
        let Diagnosis { reason, fix } = diagnosis(error);
        Shortfall {
            asked: "page faults of sections".to_owned(),
            granted: granted.to_owned(),
            reason,
            fix,
        }
    });
    calls.into_iter().chain(faults).collect()
}

fn diagnosis(error: SysError) -> Diagnosis {
    let refusal = Refusal::from_raw_os_error(error.errno.raw_os_error());
    diagnose(&Asked::ThreadEvents, refusal, &tactus_sys::facts::read(Path::new("/")))
}
