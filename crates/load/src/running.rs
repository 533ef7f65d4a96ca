//! A load as the measuring process sees it.

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
use crate::directory;
use crate::error::{During, LoadError};
use crate::keeper::START_LIMIT;
use crate::loads;
use crate::not_granted::NotGranted;
use crate::order::{Answer, HostOrder, MARK, Order, Role, Task};
use crate::processes;
use crate::snapshot::LoadSnapshot;
use crate::surroundings::Surroundings;

/// How a load's processes are made.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// A binary that runs [`host_main`](crate::host_main) when it is given the arguments
    /// `internal load`, and [`worker_main`](crate::worker_main) for `internal load-worker`.
    pub executable: PathBuf,
    /// Where loads that need files make a directory for them, which they remove.
    pub directory: PathBuf,
    /// What holds the load together; `None` for the first of [`Containment::ALL`] that
    /// is permitted.
    pub containment: Option<Containment>,
    /// Where the load runs.
    pub surroundings: Surroundings,
}

impl HostOptions {
    /// Options with the system's directory for temporary files and the best containment,
    /// on a host.
    pub fn new(executable: PathBuf) -> Self {
        let directory = std::env::temp_dir();
        Self { executable, directory, containment: None, surroundings: Surroundings::Host }
    }
}

/// A load at work. It is ended when this is dropped.
#[derive(Debug)]
pub struct RunningLoad {
    /// The load and how many copies of its parts there are.
    task: Option<Task>,
    shortfalls: Vec<Shortfall>,
    containment: Option<Containment>,
    /// `None` for the idle load, for which nothing runs.
    host: Option<Host>,
    directory: PathBuf,
}

#[derive(Debug)]
struct Host {
    /// It ends the load when its standard input is closed.
    process: Peer,
    answers: MessageReader<BufReader<Output>>,
    counters: Counters,
}

/// The host gives up by itself after [`START_LIMIT`]; a host that is silent for this much longer
/// hangs.
const MARGIN: Duration = Duration::from_secs(30);

/// The longest wait for a host that ends its load and removes its files.
const END_LIMIT: Duration = Duration::from_secs(60);

impl RunningLoad {
    /// Starts a load and waits until each of its copies has finished its first
    /// operation, or has been started, where its operations cannot be counted.
    ///
    /// For `idle` nothing is started.
    ///
    /// # Errors
    /// The load cannot run here; what is missing is said with the way to get it.
    /// Nothing is left running.
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
        let order = Order::Host(HostOrder {
            task,
            directory: options.directory.clone(),
            containment: options.containment,
        });
        // From here on, leaving early drops the load, which ends it.
        let host = load.host.insert(Host::start(options, counters)?);
        match host.give(&order)? {
            Answer::Ready { containment, missing } => {
                load.containment = Some(containment);
                load.shortfalls = explain(missing);
                Ok(load)
            }
            Answer::Failed(error) => Err(error),
            Answer::Ended { copy, reason } => {
                Err(LoadError::new(format!("copy {copy} of the load ended: {reason}")))
            }
        }
    }

    /// What was asked for and not granted.
    pub fn shortfalls(&self) -> &[Shortfall] {
        &self.shortfalls
    }

    /// What holds the load together; `None` for the idle load.
    pub fn containment(&self) -> Option<Containment> {
        self.containment
    }

    /// The process number of the load's host; `None` for the idle load.
    pub fn host_process(&self) -> Option<u32> {
        self.host.as_ref().map(|host| host.process.id())
    }

    /// Reads what the load has achieved up to now.
    ///
    /// Operations and bytes are read first and at one moment; for the CPU time
    /// `/proc` is then searched, which takes some 10 µs for each process of the machine.
    pub fn snapshot(&mut self) -> LoadSnapshot {
        let (Some(host), Some(task)) = (&mut self.host, &self.task) else {
            return LoadSnapshot::default();
        };
        // Copies cannot outlive their host, whatever the counters say.
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

    /// Sleeps until a copy ends by itself, and tells why; `None` when no further end will
    /// be told, at once for the idle load. What this tells is not told again by
    /// [`stop`](Self::stop).
    pub fn next_end(&mut self) -> Option<String> {
        let host = self.host.as_mut()?;
        // What cannot be understood ends the list; the load goes on all the same.
        match host.answers.read().ok()? {
            Answer::Ended { copy, reason } => Some(format!("copy {copy}: {reason}")),
            Answer::Failed(error) => Some(error.reason),
            Answer::Ready { .. } => None,
        }
    }

    /// Ends the load, waits until all its processes are gone and its files removed, and
    /// tells why copies had ended by themselves, if some had (the first 16 of them).
    pub fn stop(mut self) -> Vec<String> {
        self.end()
    }

    fn end(&mut self) -> Vec<String> {
        let Some(mut host) = self.host.take() else { return Vec::new() };
        let mut reasons = Vec::new();
        host.process.close();
        // What cannot be understood ends the list; the load is ended all the same.
        while let Ok(answer) = host.answers.read_within(END_LIMIT) {
            match answer {
                Answer::Ended { copy, reason } => reasons.push(format!("copy {copy}: {reason}")),
                Answer::Failed(error) => reasons.push(error.reason),
                Answer::Ready { .. } => {}
            }
        }
        let status = host.process.wait_or_kill(END_LIMIT);
        if !status.is_ok_and(|status| status.success()) {
            directory::remove_stale(&self.directory);
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
        let (process, answers) = started.during(&action)?;
        Ok(Self { process, answers, counters })
    }

    /// Gives the order and waits for the first answer.
    fn give(&mut self, order: &Order) -> Result<Answer, LoadError> {
        // A host that has ended already cannot be told; its end is seen next.
        let _ = self.process.send(order);
        match self.answers.read_within(START_LIMIT + MARGIN) {
            Err(WireError::Closed | WireError::Truncated { .. }) => {
                let status = self.process.wait_or_kill(END_LIMIT);
                Err(LoadError::new(format!(
                    "the host of the load ended before it was ready: {}",
                    status.map_or_else(|error| error.to_string(), |status| status.to_string())
                )))
            }
            answer => answer.during("start the load"),
        }
    }
}

/// Says why each was not granted.
fn explain(missing: Vec<NotGranted>) -> Vec<Shortfall> {
    // Reading the facts takes its time, and mostly there is nothing to explain.
    if missing.is_empty() {
        return Vec::new();
    }
    let facts = facts::read(Path::new("/"));
    missing.into_iter().map(|one| one.explain(&facts)).collect()
}
