//! The measuring process's view of a load.

use std::io::BufReader;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tactus_model::load::{Load, LoadPlan};
use tactus_model::result::Shortfall;
use tactus_sys::facts;
use tactus_wire::{MessageReader, Output, Peer, Start, WireError};

use crate::containment::Containment;
use crate::copies;
use crate::counters::Counters;
use crate::error::{During, LoadError};
use crate::host::remove_left;
use crate::loads;
use crate::not_granted::NotGranted;
use crate::processes;
use crate::request::{HostRequest, MARK, Request, Response, Role, Task};
use crate::snapshot::LoadSnapshot;
use crate::supervisor::{ENDS_REPORTED_MAX, START_LIMIT};
use crate::surroundings::Surroundings;

/// How a load's processes are started.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// A binary that runs [`host_main`](crate::host_main) for the arguments `internal load`,
    /// and [`worker_main`](crate::worker_main) for `internal load-worker`.
    pub executable: PathBuf,
    /// Where loads that need files create a directory, which they remove.
    pub directory: PathBuf,
    /// What keeps the load together; `None` for the first permitted of [`Containment::ALL`].
    pub containment: Option<Containment>,
    /// Where the load runs.
    pub surroundings: Surroundings,
}

impl HostOptions {
    /// Options with the system's directory for temporary files and the best containment, on a
    /// host.
    pub fn new(executable: PathBuf) -> Self {
        let directory = std::env::temp_dir();
        Self { executable, directory, containment: None, surroundings: Surroundings::Host }
    }
}

/// A running load. Dropping it ends the load.
#[derive(Debug)]
pub struct RunningLoad {
    /// The load and the numbers of copies of its parts.
    task: Option<Task>,
    shortfalls: Vec<Shortfall>,
    containment: Option<Containment>,
    /// `None` for the idle load, which starts nothing.
    host: Option<Host>,
    directory: PathBuf,
}

#[derive(Debug)]
struct Host {
    /// It ends the load when its standard input is closed.
    process: Peer,
    responses: MessageReader<BufReader<Output>>,
    counters: Counters,
}

/// The host gives up by itself after [`START_LIMIT`]; a host that is silent for this much longer
/// hangs.
const MARGIN: Duration = Duration::from_secs(30);

/// The longest wait for the next response of a host that ends its load and removes its files.
/// It is shorter than the engine waits for a measuring process (60 s), so a hanging load is named.
const END_LIMIT: Duration = Duration::from_secs(30);

/// The most responses of a load: ready, the ends of copies, and a failure.
const RESPONSES_MAX: usize = ENDS_REPORTED_MAX + 2;

impl RunningLoad {
    /// Starts a load and waits until each of its copies has finished its first operation, or
    /// has been started if its operations cannot be counted.
    ///
    /// For `idle`, it starts nothing.
    ///
    /// # Errors
    /// The load cannot run here; the error names what is missing and how to get it. No process
    /// is left running.
    pub fn start(plan: &LoadPlan, options: &HostOptions) -> Result<Self, LoadError> {
        let mut load = Self {
            task: None,
            shortfalls: Vec::new(),
            containment: None,
            host: None,
            directory: options.directory.clone(),
        };
        if plan.load.is_idle() {
            return Ok(load);
        }
        let copies = copies::wanted(plan)?;
        let counters =
            Counters::create(copies.iter().sum()).during("take memory for the load's counters")?;
        let (counters_file, surroundings) = (counters.file(), options.surroundings);
        let task = Task { plan: plan.clone(), copies, counters: counters_file, surroundings };
        load.task = Some(task.clone());
        let request = Request::Host(HostRequest {
            task,
            directory: options.directory.clone(),
            containment: options.containment,
        });
        // From here on, an early return drops the load, which ends it.
        let host = load.host.insert(Host::start(options, counters)?);
        match host.request(&request)? {
            Response::Ready { containment, missing } => {
                load.containment = Some(containment);
                load.shortfalls = explain(missing);
                Ok(load)
            }
            Response::Failed(error) => Err(error),
            Response::Ended { copy, reason } | Response::Stopped { copy, reason } => {
                Err(LoadError::new(format!("copy {copy} of the load: {reason}")))
            }
        }
    }

    /// What was requested and not granted.
    pub fn shortfalls(&self) -> &[Shortfall] {
        &self.shortfalls
    }

    /// What keeps the load together; `None` for the idle load.
    pub fn containment(&self) -> Option<Containment> {
        self.containment
    }

    /// The process number of the load's host; `None` for the idle load.
    pub fn host_process(&self) -> Option<u32> {
        self.host.as_ref().map(|host| host.process.id())
    }

    /// Reads what the load has achieved so far.
    ///
    /// Operations and bytes are read first, at one moment. Then `/proc` is searched for the CPU
    /// time, which takes about 10 µs for each process of the machine.
    pub fn snapshot(&mut self) -> LoadSnapshot {
        let (Some(host), Some(task)) = (&mut self.host, &self.task) else {
            return LoadSnapshot::default();
        };
        // No copy outlives its host, whatever the counters show.
        let alive = host.process.is_running();
        let part = |(load, copies): (&Load, Range<u32>)| {
            let copies = copies.map(|copy| host.counters.copy(copy));
            let measure = loads::measure(&load.kind, task.surroundings);
            (load.clone(), LoadSnapshot::of(measure, copies, alive))
        };
        let mut parts: Vec<(Load, LoadSnapshot)> = task.parts().map(part).collect();
        let mut snapshot = match parts.len() {
            1 => parts.remove(0).1,
            _ => LoadSnapshot::of_parts(parts),
        };
        snapshot.cpu_time = if alive { processes::cpu_time(host.process.id()) } else { None };
        snapshot
    }

    /// Sleeps until a copy ends by itself or is stopped by a signal, and returns the reason.
    /// Returns `None` when no further end will be reported; for the idle load, at once. [`stop`](Self::stop) does not
    /// return these reasons again.
    pub fn next_end(&mut self) -> Option<String> {
        let host = self.host.as_mut()?;
        // An invalid message ends the list; the load continues.
        match host.responses.read().ok()? {
            Response::Ended { copy, reason } | Response::Stopped { copy, reason } => {
                Some(format!("copy {copy}: {reason}"))
            }
            Response::Failed(error) => Some(error.reason),
            Response::Ready { .. } => None,
        }
    }

    /// Ends the load, waits until all its processes have ended and its files are removed, and
    /// returns why copies had ended by themselves or were stopped by a signal (the first 16).
    pub fn stop(mut self) -> Vec<String> {
        self.end()
    }

    fn end(&mut self) -> Vec<String> {
        let Some(mut host) = self.host.take() else { return Vec::new() };
        let mut reasons = Vec::new();
        host.process.close();
        // An invalid message ends the list; the load is ended anyway.
        for _ in 0..RESPONSES_MAX {
            match host.responses.read_within(END_LIMIT) {
                Ok(Response::Ended { copy, reason } | Response::Stopped { copy, reason }) => {
                    reasons.push(format!("copy {copy}: {reason}"));
                }
                Ok(Response::Failed(error)) => reasons.push(error.reason),
                Ok(Response::Ready { .. }) => {}
                Err(_) => break,
            }
        }
        match host.process.wait_or_kill(END_LIMIT) {
            Ok(status) if status.success() => {}
            Ok(status) => {
                remove_left(&self.directory);
                reasons.push(format!("the load host ended: {status}"));
            }
            Err(_) => remove_left(&self.directory),
        }
        reasons
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        self.end();
    }
}

impl Host {
    fn start(options: &HostOptions, counters: Counters) -> Result<Self, LoadError> {
        let action = format!("start {}", options.executable.display());
        let mut command = Command::new(&options.executable);
        command.args(Role::Load.arguments()).env(MARK, std::process::id().to_string());
        counters.set_inheritable(true).during("share the load's counters")?;
        let started = Start::new(command).in_own_group().start();
        counters.set_inheritable(false).during("share the load's counters")?;
        let (process, responses) = started.during(&action)?;
        Ok(Self { process, responses, counters })
    }

    /// Sends the request and waits for the first response.
    fn request(&mut self, request: &Request) -> Result<Response, LoadError> {
        // Sending fails if the host has ended already; the next read reports that.
        let _ = self.process.send(request);
        match self.responses.read_within(START_LIMIT + MARGIN) {
            Err(WireError::Closed | WireError::Truncated { .. }) => {
                let status = self.process.wait_or_kill(END_LIMIT);
                Err(LoadError::new(format!(
                    "the host of the load ended before it was ready: {}",
                    status.map_or_else(|error| error.to_string(), |status| status.to_string())
                )))
            }
            response => response.during("start the load"),
        }
    }
}

/// Explains why each was not granted.
fn explain(missing: Vec<NotGranted>) -> Vec<Shortfall> {
    // Reading the facts takes time, and usually there is nothing to explain.
    if missing.is_empty() {
        return Vec::new();
    }
    let facts = facts::read(Path::new("/"));
    missing.into_iter().map(|refused| refused.explain(&facts)).collect()
}
