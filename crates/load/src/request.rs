//! The messages between a load's processes: one JSON object per line.

use std::ops::Range;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};
use tactus_model::frames::Rate;
use tactus_model::load::{Load, LoadPlan};

use crate::containment::Containment;
use crate::error::LoadError;
use crate::not_granted::NotGranted;
use crate::surroundings::Surroundings;

/// The environment variable that every process of a load carries, so that people and tests can
/// identify it; its value is the process number of the measuring process.
pub const MARK: &str = "TACTUS_LOAD";

/// The role of one of our processes, as `tactus internal` names it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// The host or the supervisor, depending on the request.
    Load,
    /// A copy.
    Worker,
}

impl Role {
    /// The arguments that make our binary take this role.
    pub(crate) const fn arguments(self) -> [&'static str; 2] {
        match self {
            Self::Load => ["internal", "load"],
            Self::Worker => ["internal", "load-worker"],
        }
    }

    /// A command that starts our own binary in this role.
    pub(crate) fn of_this_binary(self) -> Command {
        tactus_wire::this_binary(&self.arguments())
    }
}

/// The first line on the standard input of a process in the role [`Role::Load`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Contain the load, and end it when the measurement has ended.
    Host(HostRequest),
    /// Start the copies and watch them.
    Supervisor(SupervisorRequest),
}

/// What every process of a load needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The load.
    pub plan: LoadPlan,
    /// The number of copies on this machine, of each load that runs side by side.
    pub copies: Vec<u32>,
    /// The file descriptor through which the counters are inherited.
    pub counters: RawFd,
    /// Where the load runs.
    pub surroundings: Surroundings,
}

impl Task {
    /// The number of copies of all loads together.
    pub(crate) fn total(&self) -> u32 {
        self.copies.iter().fold(0, |sum, copies| sum.saturating_add(*copies))
    }

    /// The loads that run side by side, each with the numbers of its copies.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&Load, Range<u32>)> {
        let ranges = self.copies.iter().scan(0_u32, |next, copies| {
            let first = *next;
            *next = first.saturating_add(*copies);
            Some(first..*next)
        });
        self.plan.load.parts().iter().zip(ranges)
    }

    /// The load of a copy.
    pub(crate) fn load_of(&self, copy: u32) -> &Load {
        let part = self.parts().find(|(_, copies)| copies.contains(&copy));
        part.map_or(&self.plan.load, |(load, _)| load)
    }
}

/// The request to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostRequest {
    pub task: Task,
    /// Where to create the load's temporary directory.
    pub directory: PathBuf,
    /// The containment to use; `None` for the first permitted.
    pub containment: Option<Containment>,
}

/// The request to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SupervisorRequest {
    pub task: Task,
    /// The load's own temporary directory.
    pub directory: PathBuf,
    /// What keeps the load together.
    pub containment: Containment,
    /// What has not been granted so far.
    pub missing: Vec<NotGranted>,
}

/// The request to a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerRequest {
    pub task: Task,
    /// The copy's number, counted from 0.
    pub copy: u32,
    /// The load's own temporary directory.
    pub directory: PathBuf,
    /// What keeps the load together.
    pub containment: Containment,
    /// The process number of the supervisor as the copy sees it; for a companion, that of its
    /// copy.
    pub supervisor: u32,
    /// What the process is, if it belongs to a copy instead of being the copy.
    pub companion: Option<Companion>,
}

impl WorkerRequest {
    /// The request to a process that this process starts and that ends with it.
    pub(crate) fn for_companion(&self, companion: Companion) -> Self {
        Self { supervisor: std::process::id(), companion: Some(companion), ..self.clone() }
    }
}

/// A process that belongs to a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "companion", rename_all = "kebab-case")]
pub(crate) enum Companion {
    /// A person who types into an editor.
    Typist {
        /// Keys a second.
        rate: Rate,
        /// The seed of the pauses between keys.
        seed: u64,
    },
    /// A pass of an imitated compiler.
    Pass {
        /// The pass.
        pass: Pass,
        /// The input files.
        inputs: Vec<PathBuf>,
        /// The output file.
        output: PathBuf,
        /// The directory of its headers and libraries.
        tree: PathBuf,
    },
}

/// The passes of a compiler, each a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pass {
    /// Translates a source to assembly, on its standard output.
    Compile,
    /// Translates the assembly on its standard input to an object.
    Assemble,
    /// Starts the linker.
    Collect,
    /// Links objects into a program.
    Link,
}

impl Companion {
    /// The name of its process.
    pub(crate) const fn program(&self) -> &'static str {
        match self {
            Self::Typist { .. } => "typist",
            // Named after GCC's passes, so that recordings of both look alike.
            Self::Pass { pass: Pass::Compile, .. } => "compile/cc1",
            Self::Pass { pass: Pass::Assemble, .. } => "compile/as",
            Self::Pass { pass: Pass::Collect, .. } => "compile/collect",
            Self::Pass { pass: Pass::Link, .. } => "compile/ld",
        }
    }
}

/// A response of the host or the supervisor to the measuring process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub(crate) enum Response {
    /// Every copy has finished its first operation.
    Ready { containment: Containment, missing: Vec<NotGranted> },
    /// The load cannot run.
    Failed(LoadError),
    /// A copy has ended by itself, after all copies were ready.
    Ended { copy: u32, reason: String },
    /// A signal has stopped a copy, after all copies were ready.
    Stopped { copy: u32, reason: String },
}

/// A response of a copy to its supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WorkerResponse {
    /// The copy.
    pub copy: u32,
    /// Its news.
    pub news: News,
}

/// The exit code of a copy that has sent the reason of its end.
pub(crate) const REASON_SENT: i32 = 3;

/// The news of a copy.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "kebab-case")]
pub(crate) enum News {
    /// The first operation is done.
    Running { missing: Vec<NotGranted> },
    /// It cannot run, or cannot continue.
    Failed(LoadError),
}

/// Whether a line is a message between processes of a load; for fuzzing.
#[doc(hidden)]
pub fn is_message(line: &[u8]) -> bool {
    let task = match tactus_wire::parse::<Request>(line) {
        Ok(Request::Host(HostRequest { task, .. }))
        | Ok(Request::Supervisor(SupervisorRequest { task, .. })) => Some(task),
        Err(_) => tactus_wire::parse::<WorkerRequest>(line).ok().map(|request| request.task),
    };
    if let Some(task) = &task {
        let last = task.total().saturating_sub(1);
        let _ = task.load_of(last).to_string();
    }
    task.is_some()
        || tactus_wire::parse::<Response>(line).is_ok()
        || tactus_wire::parse::<WorkerResponse>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_numbered_consecutively_through_all_loads() {
        let plan = LoadPlan { load: "compute:2+net+disk:3".parse().unwrap(), ..LoadPlan::IDLE };
        let surroundings = Surroundings::Host;
        let task = Task { plan, copies: vec![2, 1, 3], counters: 0, surroundings };
        assert_eq!(task.total(), 6);
        let loads: Vec<String> = (0..6).map(|copy| task.load_of(copy).to_string()).collect();
        assert_eq!(loads, ["compute:2", "compute:2", "net", "disk:3", "disk:3", "disk:3"]);
    }
}
