//! What a load's processes tell each other: one JSON object a line.

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

/// The environment variable that every process of a load carries, so that people and
/// tests can tell whose it is; its value is the number of the measuring process.
pub const MARK: &str = "TACTUS_LOAD";

/// The role of a process of ours, as `tactus internal` names it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// The host, and the keeper, which its order tells apart.
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

/// What the first line on the standard input tells a process in the role [`Role::Load`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Contain the load, and end it when the measurement has gone.
    Host(HostOrder),
    /// Start the copies, and watch them.
    Keeper(KeeperOrder),
}

/// What every process of a load has to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The load.
    pub plan: LoadPlan,
    /// How many copies that is here, of each load that runs side by side.
    pub copies: Vec<u32>,
    /// The file by which the counters are inherited.
    pub counters: RawFd,
    /// Where that is.
    pub surroundings: Surroundings,
}

impl Task {
    /// How many copies there are of all loads together.
    pub(crate) fn total(&self) -> u32 {
        self.copies.iter().sum()
    }

    /// The loads that run side by side, each with the numbers of its copies.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&Load, Range<u32>)> {
        let ranges = self.copies.iter().scan(0, |next, copies| {
            let first = *next;
            *next += copies;
            Some(first..*next)
        });
        self.plan.load.parts().iter().zip(ranges)
    }

    /// What a copy is: its load.
    pub(crate) fn load_of(&self, copy: u32) -> &Load {
        let part = self.parts().find(|(_, copies)| copies.contains(&copy));
        part.map_or(&self.plan.load, |(load, _)| load)
    }
}

/// What the host is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostOrder {
    pub task: Task,
    /// Where the load's temporary directory is to be made.
    pub directory: PathBuf,
    /// The containment to use; `None` for the first that is permitted.
    pub containment: Option<Containment>,
}

/// What the keeper is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeeperOrder {
    pub task: Task,
    /// The load's own temporary directory.
    pub directory: PathBuf,
    /// What holds the load together.
    pub containment: Containment,
    /// What was not granted so far.
    pub missing: Vec<NotGranted>,
}

/// What a copy is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerOrder {
    pub task: Task,
    /// The copy's number, counted from 0.
    pub copy: u32,
    /// The load's own temporary directory.
    pub directory: PathBuf,
    /// What holds the load together.
    pub containment: Containment,
    /// The process number of the keeper, as the copy sees it; for a companion that of its
    /// copy.
    pub keeper: u32,
    /// What the process is where it is not the copy itself but belongs to it.
    pub companion: Option<Companion>,
}

impl WorkerOrder {
    /// What a process is told that this process starts and that ends with it.
    pub(crate) fn for_companion(&self, companion: Companion) -> Self {
        Self { keeper: std::process::id(), companion: Some(companion), ..self.clone() }
    }
}

/// A process that belongs to a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "companion", rename_all = "kebab-case")]
pub(crate) enum Companion {
    /// Who types into an editor.
    Typist {
        /// Keys a second.
        rate: Rate,
        /// The seed of the times between two keys.
        seed: u64,
    },
    /// A pass of a compiler that is imitated.
    Pass {
        /// Which.
        pass: Pass,
        /// The files that it is given.
        inputs: Vec<PathBuf>,
        /// The file that it makes.
        output: PathBuf,
        /// Where its headers and libraries are.
        tree: PathBuf,
    },
}

/// The passes of a compiler, each a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pass {
    /// Makes assembly of a source, on its standard output.
    Compile,
    /// Makes an object of the assembly on its standard input.
    Assemble,
    /// Starts the linker.
    Collect,
    /// Makes a program of objects.
    Link,
}

impl Companion {
    /// What its process is called.
    pub(crate) const fn program(&self) -> &'static str {
        match self {
            Self::Typist { .. } => "typist",
            // After GCC's own, so that recordings of both look alike.
            Self::Pass { pass: Pass::Compile, .. } => "compile/cc1",
            Self::Pass { pass: Pass::Assemble, .. } => "compile/as",
            Self::Pass { pass: Pass::Collect, .. } => "compile/collect",
            Self::Pass { pass: Pass::Link, .. } => "compile/ld",
        }
    }
}

/// What host and keeper answer to the measuring process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// Every copy has finished its first operation.
    Ready { containment: Containment, missing: Vec<NotGranted> },
    /// The load cannot run.
    Failed(LoadError),
    /// A copy has ended by itself, after all were ready.
    Ended { copy: u32, reason: String },
}

/// What a copy tells its keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WorkerAnswer {
    /// Which copy.
    pub copy: u32,
    /// What it says.
    pub news: News,
}

/// The exit code of a copy that has told why it ended.
pub(crate) const TOLD_WHY: i32 = 3;

/// What a copy says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "kebab-case")]
pub(crate) enum News {
    /// The first operation is done.
    Running { missing: Vec<NotGranted> },
    /// It cannot run, or cannot go on.
    Failed(LoadError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_numbered_through_all_loads() {
        let plan = LoadPlan { load: "compute:2+net+disk:3".parse().unwrap(), ..LoadPlan::IDLE };
        let surroundings = Surroundings::Host;
        let task = Task { plan, copies: vec![2, 1, 3], counters: 0, surroundings };
        assert_eq!(task.total(), 6);
        let loads: Vec<String> = (0..6).map(|copy| task.load_of(copy).to_string()).collect();
        assert_eq!(loads, ["compute:2", "compute:2", "net", "disk:3", "disk:3", "disk:3"]);
    }
}
