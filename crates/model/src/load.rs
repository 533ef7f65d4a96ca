//! Competing work.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuChoice;
use crate::policy::Scheduling;
use crate::text::{UnknownWord, keywords, serde_as_text};

keywords! {
    /// The loads that Tactus brings with it.
    pub enum BuiltinLoad: "load" {
        /// Nothing: the machine is left alone.
        Idle = "idle",
        /// Arithmetic in registers.
        Compute = "compute",
        /// Dirties more cache lines than the last-level cache holds and more pages than the TLB.
        Memory = "memory",
        /// Endless compiles of a generated 200-line C program.
        Compile = "compile",
        /// Buffered reads and writes of a file.
        File = "file",
        /// Direct writes with fsync(2).
        Disk = "disk",
        /// UDP and TCP over the loopback interface.
        Net = "net",
        /// A 200-line file copied to a pseudo-terminal with a reading end.
        Serial = "serial",
        /// fork, exec, exit.
        Process = "process",
        /// A cheap system call again and again.
        Syscall = "syscall",
        /// Maps, touches and unmaps memory.
        Pagefault = "pagefault",
        /// Many senders and receivers of short messages, as hackbench does.
        Message = "message",
        /// Storms of short timers.
        Timer = "timer",
        /// Compiles whose sources come through a loopback server.
        BuildOverNetwork = "build-over-network",
    }
}

/// What a load does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadKind {
    /// One of our own.
    Builtin(BuiltinLoad),
    /// A command given to the shell.
    Command(String),
    /// stress-ng with these options, where it is installed.
    StressNg(String),
}

/// How many copies of a load run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Copies {
    /// So many; 0 for `idle` alone.
    Count(u32),
    /// One for each processor the load may use, written `:cpus`.
    PerCpu,
}

impl Copies {
    /// How many copies that is where the load may use `cpus` processors.
    pub const fn on(self, cpus: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::PerCpu => cpus,
        }
    }
}

/// A load and how many copies of it run at once.
///
/// As text: `idle`, `compile:2`, `compute:cpus`, `cmd:"make -j4":1`, `stress-ng:"--vm 2"`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Load {
    /// What it does.
    pub kind: LoadKind,
    /// How many copies run at once.
    pub copies: Copies,
}

impl Load {
    /// The most copies that are accepted.
    pub const MAX_COPIES: u32 = 1024;

    /// The machine left alone.
    pub const IDLE: Self =
        Self { kind: LoadKind::Builtin(BuiltinLoad::Idle), copies: Copies::Count(0) };

    /// Whether there is no competing work at all.
    pub fn is_idle(&self) -> bool {
        self.kind == LoadKind::Builtin(BuiltinLoad::Idle)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.kind {
            LoadKind::Builtin(load) => load.to_string(),
            LoadKind::Command(command) => format!("cmd:\"{command}\""),
            LoadKind::StressNg(options) => format!("stress-ng:\"{options}\""),
        };
        match self.copies {
            Copies::Count(0 | 1) => f.pad(&name),
            Copies::Count(count) => f.pad(&format!("{name}:{count}")),
            Copies::PerCpu => f.pad(&format!("{name}:cpus")),
        }
    }
}

/// Why a text is not a load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotALoad {
    /// There is no such load.
    #[error(transparent)]
    Kind(#[from] UnknownWord),
    /// The number of copies cannot be read.
    #[error(
        "`{0}` is not a number of copies: write 1 to 1024, as in compile:2, or `cpus` for one each processor"
    )]
    Copies(String),
    /// The command is missing or its quotes do not match.
    #[error("`{0}` names no command: write it in double quotes, as in cmd:\"make -j4\"")]
    Command(String),
}

impl FromStr for Load {
    type Err = NotALoad;

    fn from_str(text: &str) -> Result<Self, NotALoad> {
        if let Some(rest) = text.strip_prefix("cmd:") {
            let (command, copies) = parse_quoted(rest, text)?;
            return Ok(Self { kind: LoadKind::Command(command), copies });
        }
        if let Some(rest) = text.strip_prefix("stress-ng:") {
            let (options, copies) = parse_quoted(rest, text)?;
            return Ok(Self { kind: LoadKind::StressNg(options), copies });
        }
        if matches!(text, "cmd" | "stress-ng") {
            return Err(NotALoad::Command(text.to_owned()));
        }
        let (name, copies) = match text.split_once(':') {
            Some((name, copies)) => (name, parse_copies(copies)?),
            None => (text, Copies::Count(1)),
        };
        let known: Vec<&str> =
            BuiltinLoad::ALL.iter().map(|load| load.word()).chain(["cmd", "stress-ng"]).collect();
        let builtin: BuiltinLoad =
            name.parse().map_err(|_| UnknownWord::new("load", name, &known))?;
        if builtin == BuiltinLoad::Idle {
            return Ok(Self::IDLE);
        }
        Ok(Self { kind: LoadKind::Builtin(builtin), copies })
    }
}

/// Reads `"…"` or `"…":N`; without quotes the whole rest is the command.
fn parse_quoted(rest: &str, whole: &str) -> Result<(String, Copies), NotALoad> {
    let missing = || NotALoad::Command(whole.to_owned());
    let (command, copies) = match rest.strip_prefix('"') {
        Some(quoted) => {
            let (command, after) = quoted.rsplit_once('"').ok_or_else(missing)?;
            let copies = match after.strip_prefix(':') {
                Some(copies) => parse_copies(copies)?,
                None if after.is_empty() => Copies::Count(1),
                None => return Err(missing()),
            };
            (command, copies)
        }
        None => (rest, Copies::Count(1)),
    };
    if command.trim().is_empty() { Err(missing()) } else { Ok((command.to_owned(), copies)) }
}

fn parse_copies(text: &str) -> Result<Copies, NotALoad> {
    if text == "cpus" {
        return Ok(Copies::PerCpu);
    }
    text.parse()
        .ok()
        .filter(|copies| (1..=Load::MAX_COPIES).contains(copies))
        .map(Copies::Count)
        .ok_or_else(|| NotALoad::Copies(text.to_owned()))
}

serde_as_text!(Load);

/// A load together with how it is scheduled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// The work and its copies.
    pub load: Load,
    /// How every copy is scheduled.
    pub scheduling: Scheduling,
    /// The processors it may use.
    pub cpus: CpuChoice,
}

impl LoadPlan {
    /// No load at all.
    pub const IDLE: Self =
        Self { load: Load::IDLE, scheduling: Scheduling::ORDINARY, cpus: CpuChoice::All };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        let load: Load = text.parse().unwrap();
        assert_eq!(load.to_string(), shown);
        assert_eq!(shown.parse(), Ok(load));
    }

    #[test]
    fn loads_are_read_and_written() {
        check("idle", "idle");
        check("idle:3", "idle");
        check("compile:2", "compile:2");
        check("compute:1", "compute");
        check("compute:cpus", "compute:cpus");
        check("build-over-network", "build-over-network");
        check("cmd:make -j4", "cmd:\"make -j4\"");
        check("cmd:\"echo \"a\"\":3", "cmd:\"echo \"a\"\":3");
        check("stress-ng:\"--vm 2\"", "stress-ng:\"--vm 2\"");
    }

    #[test]
    fn a_wrong_load_names_the_nearest() {
        let error = "compil:2".parse::<Load>().unwrap_err().to_string();
        assert!(error.contains("did you mean `compile`?"), "{error}");
        for text in ["compile:0", "compile:x", "cmd:\"\"", "cmd:\"a\"b", "compile:5000"] {
            assert!(text.parse::<Load>().is_err(), "{text}");
        }
        let error = "cmd".parse::<Load>().unwrap_err().to_string();
        assert!(error.contains("write it in double quotes"), "{error}");
    }
}
