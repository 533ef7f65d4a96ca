//! A program that runs under reserves, from its first instruction to its end.
//!
//! ```text
//!   start ─► stopped child ─► reserve ─► exec of the command ─► windows … ─► end
//! ```
//!
//! The command is started by a process of our own binary ([`child_main`]), which stops itself; it
//! executes the command when it has its reserve. So a refusal leaves nothing behind, and the command
//! runs no instruction without its reserve. A thread of our own reads the use at the end of every
//! window, and finds new threads.

mod adjust;
mod meter;
mod selection;
mod threads;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::{Capacity, RefusedRung, ReserveUsage, Rung};
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_settings::{Guardian, NotChanged, restore_left};
use tactus_sys::counters::MachineCounters;
use tactus_sys::pidfd::PidFd;
use tactus_sys::{SysError, process};

use crate::priority::ENFORCER;
use crate::{Partition, Refused};

pub use adjust::{Change, NotAdjusted, adjust};
pub use selection::{NoCapacity, NotThreads, Share, Threads, Which};

use adjust::Door;
use threads::ReservedThreads;

/// The shortest window in which the use is read: reading takes some 10 µs a thread.
const WINDOW_LEAST: Nanos = Nanos::from_millis(5);

/// A program and what it is granted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Which threads get which capacity; one at least, see [`Threads::shares`].
    pub shares: Vec<Share>,
    /// The rungs to try, in their order.
    pub rungs: Vec<Rung>,
    /// The CPU to set aside for [`Rung::Partitioned`].
    pub exclusive: Option<u32>,
    /// Whether the program may lock any amount of memory.
    pub lock_memory: bool,
}

/// What happens while a program runs.
#[derive(Clone, Debug)]
pub enum Event {
    /// It has its reserve and runs.
    Started {
        /// Its process ID.
        process: u32,
        /// The rung that keeps the reserve of its first thread.
        rung: Rung,
        /// The better rungs, and why they were refused.
        refused: Vec<RefusedRung>,
        /// The largest cost that one of them would grant.
        largest_cost: Option<Nanos>,
        /// Whether its capacity can be changed from outside.
        is_adjustable: bool,
    },
    /// Something did not happen as requested; a sentence.
    Warning(String),
    /// A thread that was found by its name, or was refused before, has its reserve.
    Granted {
        /// The thread.
        thread: ThreadId,
        /// Its name.
        name: String,
        /// What it has.
        capacity: Capacity,
    },
    /// A capacity was changed.
    Changed(Change),
    /// It has ended.
    Ended(ExitStatus),
}

/// Why a program did not run under a reserve.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program cannot be started.
    #[error("cannot start {what}: {error}")]
    Start {
        /// The command, or the process that executes it.
        what: String,
        /// The reason.
        error: io::Error,
    },
    /// The reserve was refused; the program did not run.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The process that puts everything back cannot be started.
    #[error(transparent)]
    Guardian(#[from] NotChanged),
    /// A system call failed that should not.
    #[error(transparent)]
    System(#[from] SysError),
}

/// What other threads request from a running program.
#[derive(Debug)]
enum Signal {
    Interrupt(i32),
    Change(Change, Sender<Result<(), String>>),
    Ended(ExitStatus),
}

/// Controls a program from other threads.
#[derive(Debug)]
pub struct Control {
    sender: Sender<Signal>,
    receiver: Receiver<Signal>,
}

/// Passes signals on to a program.
#[derive(Clone, Debug)]
pub struct Interrupter(Sender<Signal>);

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

impl Control {
    /// Makes the control of one program.
    pub fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }

    /// A handle that passes signals on.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter(self.sender.clone())
    }
}

impl Interrupter {
    /// Sends a signal to the program.
    pub fn interrupt(&self, signal: i32) {
        // A program that has ended gets none.
        let _ = self.0.send(Signal::Interrupt(signal));
    }
}

/// The arguments of our binary for the process that executes a command. It needs the arguments
/// `--parent` with our process ID, `--lock-memory` if asked, `--`, and the command, and must run
/// [`child_main`].
pub const CHILD: [&str; 2] = ["internal", "reserved"];

/// Runs a program under reserves until it ends, and puts everything back. The process of this
/// binary, `executable`, must run [`child_main`] for the arguments [`CHILD`], and
/// [`guardian_main`](tactus_settings::guardian_main) for its own.
///
/// The program continues if this process is killed, without its reserve.
///
/// # Errors
/// The program cannot be started, or no rung grants its first thread the capacity; it did not run.
pub fn run(
    executable: &Path,
    wanted: &Wanted,
    control: Control,
    mut on_event: impl FnMut(Event),
) -> Result<(ReserveUsage, ExitStatus), ProgramError> {
    let before = ThreadRef::Calling.scheduling()?;
    let ran = supervise(executable, wanted, control, &mut on_event);
    let _ = ThreadRef::Calling.put_back(before);
    ran
}

fn supervise(
    executable: &Path,
    wanted: &Wanted,
    control: Control,
    on_event: &mut impl FnMut(Event),
) -> Result<(ReserveUsage, ExitStatus), ProgramError> {
    restore_left(Path::new("/"));
    let mut partition_refused = None;
    let guardian = Guardian::start(executable, Vec::new())?;
    let partition = match wanted.exclusive.map(Partition::create) {
        Some(Ok(partition)) => Some(partition),
        Some(Err(refused)) => {
            partition_refused = Some(refused);
            None
        }
        None => None,
    };
    let (child, process) = start(executable, wanted)?;
    let granted = Supervisor::begin(wanted, process, guardian, partition, partition_refused);
    let mut supervisor = match granted {
        Ok(supervisor) => supervisor,
        Err(error) => {
            let mut child = child;
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    };
    let door = Door::open(process, control.sender.clone());
    on_event(supervisor.started(door.is_some()));
    wait_for(child, control.sender.clone())?;
    process::resume(process)?;
    let status = supervisor.supervise(&control.receiver, on_event);
    drop(door);
    Ok((supervisor.end(on_event), status))
}

/// Runs `tactus internal reserved`: stops until the reserve is granted by the process `parent`, and
/// executes the command. Returns only if that fails.
///
/// # Errors
/// The parent was killed, or the command does not exist or cannot be executed.
pub fn child_main(parent: u32, command: &[OsString], lock_memory: bool) -> io::Result<()> {
    if lock_memory {
        // The parent has reported a limit that it cannot raise.
        let _ = process::remove_lock_limit();
    }
    process::stop_here(parent).map_err(|error| io::Error::from(error.errno))?;
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Err(Command::new(program).args(arguments).exec())
}

/// Starts the process that executes the command, and waits until it has stopped.
fn start(executable: &Path, wanted: &Wanted) -> Result<(Child, u32), ProgramError> {
    let what = || wanted.command.first().map(|name| name.to_string_lossy().into_owned());
    let failed = |error| ProgramError::Start { what: what().unwrap_or_default(), error };
    let mut command = Command::new(executable);
    let parent = std::process::id().to_string();
    command.args(CHILD).args(["--parent", &parent]);
    command.args(wanted.lock_memory.then_some("--lock-memory")).arg("--").args(&wanted.command);
    // Until the command is executed, the process is ours.
    process::die_with_parent(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    match process::wait_until_stopped(child.id()) {
        Ok(true) => {
            let process = child.id();
            Ok((child, process))
        }
        stopped => {
            let _ = child.kill();
            let status = child.wait().map_err(failed)?;
            let error = stopped.err().map(|error| io::Error::from(error.errno));
            Err(failed(error.unwrap_or_else(|| io::Error::other(format!("it ended: {status}")))))
        }
    }
}

/// Waits for the end of the child in a thread of its own.
fn wait_for(mut child: Child, ended: Sender<Signal>) -> Result<(), ProgramError> {
    let wait = move || {
        if let Ok(status) = child.wait() {
            let _ = ended.send(Signal::Ended(status));
        }
    };
    let thread = std::thread::Builder::new().name("tactus-waiter".to_owned()).spawn(wait);
    thread.map(drop).map_err(|error| ProgramError::Start { what: "a thread".to_owned(), error })
}

/// The program and its reserves.
struct Supervisor<'w> {
    wanted: &'w Wanted,
    process: u32,
    descriptor: Option<PidFd>,
    threads: ReservedThreads,
    begun: Instant,
    counters: MachineCounters,
    changes: u64,
    read_late_max: Nanos,
}

impl<'w> Supervisor<'w> {
    /// Grants the first thread its reserve.
    fn begin(
        wanted: &'w Wanted,
        process: u32,
        guardian: Guardian,
        partition: Option<Arc<Partition>>,
        partition_refused: Option<RefusedRung>,
    ) -> Result<Self, ProgramError> {
        // Reads the use on time whatever runs; nothing that it starts inherits the class. Without
        // permission, windows are read late, which the result says.
        let _ = ThreadRef::Calling.schedule_alone(Scheduling::Fifo(ENFORCER));
        let mut threads = ReservedThreads::new(wanted, process, guardian, partition);
        threads.grant_first(partition_refused)?;
        Ok(Self {
            wanted,
            process,
            // The child has not been waited for, so the ID is its own.
            descriptor: PidFd::of_process(process).ok(),
            threads,
            begun: Instant::now(),
            counters: MachineCounters::read(Path::new("/")),
            changes: 0,
            read_late_max: Nanos::ZERO,
        })
    }

    fn started(&self, is_adjustable: bool) -> Event {
        let (rung, refused, largest_cost) = self.threads.first();
        Event::Started { process: self.process, rung, refused, largest_cost, is_adjustable }
    }

    /// Reads the use in every window until the program ends.
    fn supervise(
        &mut self,
        signals: &Receiver<Signal>,
        on_event: &mut impl FnMut(Event),
    ) -> ExitStatus {
        loop {
            let left = self.threads.next().saturating_duration_since(Instant::now());
            match signals.recv_timeout(left) {
                Ok(Signal::Ended(status)) => {
                    on_event(Event::Ended(status));
                    return status;
                }
                Ok(Signal::Interrupt(signal)) => {
                    // A program that has just ended, or that gave itself to another user, gets none.
                    let _ = self.descriptor.as_ref().map(|program| program.send(signal));
                }
                Ok(Signal::Change(change, reply)) => {
                    let changed = self.threads.change(&change, self.begun.elapsed().into());
                    if changed.is_ok() {
                        self.changes += 1;
                        on_event(Event::Changed(change));
                    }
                    // A client that does not wait needs no reply.
                    let _ = reply.send(changed);
                }
                // The waiter holds a sender until it has sent the end.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    self.read(on_event);
                }
            }
        }
    }

    /// Reads the use at the ends of windows, and grants new threads theirs.
    fn read(&mut self, on_event: &mut impl FnMut(Event)) {
        self.read_late_max = self.read_late_max.max(self.threads.read_due());
        let since = self.begun.elapsed().into();
        self.threads.find_new(since).into_iter().for_each(on_event);
    }

    /// Returns all threads, and sums up.
    fn end(mut self, on_event: &mut impl FnMut(Event)) -> ReserveUsage {
        let ran = self.begun.elapsed().into();
        let meanwhile = MachineCounters::read(Path::new("/")).since(&self.counters);
        let (rung, refused, largest_cost) = self.threads.first();
        let command = self.wanted.command.iter().map(|word| word.to_string_lossy().into_owned());
        let usage = ReserveUsage {
            command: command.collect(),
            capacity: self.threads.capacity(),
            changes: self.changes,
            rung,
            refused,
            largest_cost,
            ran,
            steal: meanwhile.steal,
            read_late_max: self.read_late_max,
            has_children: self.threads.has_children(),
            without: self.threads.without(),
            threads: self.threads.take_usage(),
        };
        for trouble in self.threads.end() {
            on_event(Event::Warning(trouble));
        }
        usage
    }
}

/// The length of a window: a whole number of periods.
fn window(period: Nanos) -> Nanos {
    let periods = WINDOW_LEAST.as_nanos().div_ceil(period.as_nanos().max(1)).max(1);
    period.saturating_mul(periods)
}

/// A thread of another process.
fn reference(thread: ThreadId) -> ThreadRef {
    PidFd::of_thread(thread).map_or(ThreadRef::Id(thread), ThreadRef::PidFd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_a_whole_number_of_periods_and_at_least_the_shortest() {
        for micros in [100, 333, 1_000, 4_999, 5_000, 10_000, 4_000_000] {
            let period = Nanos::from_micros(micros);
            let window = window(period);
            assert!(window >= WINDOW_LEAST && window < WINDOW_LEAST + period + period, "{window}");
            assert_eq!(window.as_nanos() % period.as_nanos(), 0);
        }
    }
}
