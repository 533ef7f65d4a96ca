//! Competing work.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuChoice;
use crate::frames::{NotARate, Rate};
use crate::policy::Scheduling;
use crate::text::{UnknownWord, keywords, serde_as_text};

keywords! {
    /// The built-in loads.
    pub enum BuiltinLoad: "load" {
        /// No load: the machine is left alone.
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
        /// Output of a 200-line file to a pseudo-terminal with a reader; in a guest, to a
        /// serial port.
        Serial = "serial",
        /// fork, exec, exit.
        Process = "process",
        /// A cheap system call in a loop.
        Syscall = "syscall",
        /// Maps, touches and unmaps memory.
        Pagefault = "pagefault",
        /// Many senders and receivers of short messages, like hackbench.
        Message = "message",
        /// Storms of short timers.
        Timer = "timer",
        /// Compiles with sources from a loopback server.
        BuildOverNetwork = "build-over-network",
        /// An editor that receives keystrokes at a rate.
        Editor = "editor",
        /// A multi-threaded film player with a 4 ms alarm, at a frame rate.
        Player = "player",
        /// A game that draws as many frames as its CPU time allows.
        Adaptive = "adaptive",
        /// A display server, which serves the players and games that run with it.
        Display = "display",
        /// Mouse moves, at a rate, over windows that a program shows on a display elsewhere.
        X11Events = "x11-events",
        /// Keys typed, at a rate, into a terminal program on an X server.
        X11Keyboard = "x11-keyboard",
        /// Mouse moves, at a rate, over the empty screen of an X server.
        X11Mouse = "x11-mouse",
        /// Return keys, at a rate, at a console with a shell.
        ConsoleInput = "console-input",
    }
}

impl BuiltinLoad {
    /// The default rate per second; `None` if the load has no rate.
    pub const fn rate(self) -> Option<u64> {
        match self {
            // From the experiments of 2003: a fast typist, and film.
            Self::Editor => Some(8),
            Self::Player => Some(25),
            // A mouse passed rapidly over windows, and one that reports 40 times a second.
            Self::X11Events => Some(100),
            Self::X11Mouse => Some(40),
            // About the rate at which a key of a PC repeats that is held down.
            Self::X11Keyboard | Self::ConsoleInput => Some(10),
            _ => None,
        }
    }

    /// Whether it starts an X server.
    pub const fn needs_x_server(self) -> bool {
        matches!(self, Self::X11Events | Self::X11Keyboard | Self::X11Mouse)
    }
}

/// What kind of work a load does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadKind {
    /// A built-in load.
    Builtin(BuiltinLoad),
    /// A built-in load at a rate other than its [default](BuiltinLoad::rate).
    Paced(BuiltinLoad, Rate),
    /// A shell command.
    Command(String),
    /// stress-ng with these options; it must be installed.
    StressNg(String),
    /// Several loads that run together: two or more, none of them a mix or idle.
    Mix(Vec<Load>),
}

/// How many copies of a load run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Copies {
    /// A fixed number; 0 for `idle` only.
    Count(u32),
    /// One copy per CPU the load may use, written `:cpus`.
    PerCpu,
}

impl Copies {
    /// The number of copies if the load may use `cpus` CPUs.
    pub const fn on(self, cpus: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::PerCpu => cpus,
        }
    }
}

/// A load and its number of copies.
///
/// As text: `idle`, `compile:2`, `compute:cpus`, `player@30`, `cmd:"make -j4":1`,
/// `stress-ng:"--vm 2"`; several that run together: `player+display+compute:2`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Load {
    /// What kind of work it does.
    pub kind: LoadKind,
    /// The number of copies; 1 for a mix, whose parts have their own numbers.
    pub copies: Copies,
}

impl Load {
    /// The maximum number of copies.
    pub const MAX_COPIES: u32 = 1024;

    /// No load.
    pub const IDLE: Self =
        Self { kind: LoadKind::Builtin(BuiltinLoad::Idle), copies: Copies::Count(0) };

    /// The forms of the text, each with its meaning.
    pub fn forms() -> Vec<(&'static str, &'static str)> {
        let builtin = BuiltinLoad::ALL.iter().map(|load| (load.word(), load.about()));
        let others = [
            ("cmd:\"COMMAND\"", "A shell command."),
            ("stress-ng:\"OPTIONS\"", "stress-ng(1) with these options; it must be installed."),
            ("LOAD:N", "N copies of a load, 1 to 1024; LOAD:cpus for one copy per CPU."),
            (
                "LOAD@RATE",
                "A load with a rate, such as an editor or a player, at another rate per second.",
            ),
            ("LOAD+LOAD", "Several loads that run together, e.g. player@60+display+compute:2."),
        ];
        builtin.chain(others).collect()
    }

    /// Whether there is no competing work.
    pub fn is_idle(&self) -> bool {
        self.kind == LoadKind::Builtin(BuiltinLoad::Idle)
    }

    /// Checks whether the load can run in a guest, which has no disk and only the programs of
    /// Tactus.
    ///
    /// # Errors
    /// The load cannot run there; the error gives the reason and the nearest load.
    pub fn check_in_guest(&self) -> Result<(), NotInGuest> {
        self.parts().iter().try_for_each(|part| match &part.kind {
            LoadKind::Builtin(BuiltinLoad::Disk) => Err(NotInGuest::Disk),
            LoadKind::Builtin(load) | LoadKind::Paced(load, _) if load.needs_x_server() => {
                Err(NotInGuest::XServer(*load))
            }
            LoadKind::Command(_) => Err(NotInGuest::Command(part.to_string())),
            LoadKind::StressNg(_) => Err(NotInGuest::StressNg),
            LoadKind::Builtin(_) | LoadKind::Paced(..) | LoadKind::Mix(_) => Ok(()),
        })
    }

    /// The loads that run together: the parts of a mix, or this load alone.
    pub fn parts(&self) -> &[Self] {
        match &self.kind {
            LoadKind::Mix(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.kind {
            LoadKind::Builtin(load) => load.to_string(),
            LoadKind::Paced(load, rate) => format!("{load}@{rate}"),
            LoadKind::Mix(parts) => {
                parts.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
            }
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

/// The error for a text that is not a load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotALoad {
    /// The load is unknown.
    #[error(transparent)]
    Kind(#[from] UnknownWord),
    /// The number of copies cannot be read.
    #[error(
        "`{0}` is not a number of copies: write 1 to 1024, e.g. compile:2, or `cpus` for one per CPU"
    )]
    Copies(String),
    /// The command is missing or its quotes do not match.
    #[error("`{0}` has no command: write it in double quotes, e.g. cmd:\"make -j4\"")]
    Command(String),
    /// The command contains a quote that looks like its end, followed by another load.
    #[error(
        "the command of `{0}` contains a double quote that looks like its end; use single quotes inside the command"
    )]
    Quote(String),
    /// The rate cannot be read.
    #[error(transparent)]
    Rate(#[from] NotARate),
    /// The load has no rate.
    #[error("the load {0} has no rate; loads with a rate: {1}")]
    NoRate(BuiltinLoad, String),
    /// `idle` combined with other loads.
    #[error("`{0}` combines `idle` with other loads; remove `idle`")]
    IdleBeside(String),
}

/// Why a load cannot run in a guest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInGuest {
    /// It needs a disk.
    #[error(
        "the load disk cannot run in a guest, which has no disk, since a disk of the host would add the host's timing; use `file`, which runs there on a RAM disk"
    )]
    Disk,
    /// It needs an X server.
    #[error(
        "the load {0} cannot run in a guest, which has no X server; use `display`, or `console-input`"
    )]
    XServer(BuiltinLoad),
    /// It needs a shell.
    #[error(
        "the load {0} cannot run in a guest, which has no shell and only the programs of Tactus; use `process`, or `compile` for longer processes"
    )]
    Command(String),
    /// It needs stress-ng.
    #[error(
        "the load stress-ng cannot run in a guest, which has only the programs of Tactus; use the nearest of: compute, memory, pagefault, process, syscall, timer"
    )]
    StressNg,
}

impl FromStr for Load {
    type Err = NotALoad;

    fn from_str(text: &str) -> Result<Self, NotALoad> {
        let mut parts = Vec::new();
        let mut rest = Some(text);
        while let Some(from) = rest {
            let (part, after) = part(from)?;
            parts.push(part);
            rest = after;
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        if parts.iter().any(Self::is_idle) {
            return Err(NotALoad::IdleBeside(text.to_owned()));
        }
        Ok(Self { kind: LoadKind::Mix(parts), copies: Copies::Count(1) })
    }
}

/// Parses one load, and returns it with the text after a `+`.
fn part(text: &str) -> Result<(Load, Option<&str>), NotALoad> {
    if let Some(rest) = text.strip_prefix("cmd:") {
        let (command, copies, after) = parse_quoted(rest, text)?;
        return Ok((Load { kind: LoadKind::Command(command), copies }, after));
    }
    if let Some(rest) = text.strip_prefix("stress-ng:") {
        let (options, copies, after) = parse_quoted(rest, text)?;
        return Ok((Load { kind: LoadKind::StressNg(options), copies }, after));
    }
    let (own, after) = match text.split_once('+') {
        Some((own, after)) => (own, Some(after)),
        None => (text, None),
    };
    Ok((own_load(own)?, after))
}

/// Words of other tools for built-in loads.
const MEANINGS: [(&str, &str); 3] = [("cpu", "compute"), ("io", "disk"), ("network", "net")];

/// Parses one built-in load.
fn own_load(text: &str) -> Result<Load, NotALoad> {
    if matches!(text, "cmd" | "stress-ng") {
        return Err(NotALoad::Command(text.to_owned()));
    }
    let (name, copies) = match text.split_once(':') {
        Some((name, copies)) => (name, parse_copies(copies)?),
        None => (text, Copies::Count(1)),
    };
    let (name, rate) = match name.split_once('@') {
        Some((name, rate)) => (name, Some(rate.parse::<Rate>()?)),
        None => (name, None),
    };
    let known: Vec<&str> =
        BuiltinLoad::ALL.iter().map(|load| load.word()).chain(["cmd", "stress-ng"]).collect();
    let builtin: BuiltinLoad =
        name.parse().map_err(|_| UnknownWord::new("load", name, &known).or_meaning(&MEANINGS))?;
    if builtin == BuiltinLoad::Idle {
        return Ok(Load::IDLE);
    }
    let kind = match (rate, builtin.rate()) {
        (Some(_), None) => {
            let paced = BuiltinLoad::ALL.iter().filter(|load| load.rate().is_some());
            let paced: Vec<&str> = paced.map(|load| load.word()).collect();
            return Err(NotALoad::NoRate(builtin, paced.join(", ")));
        }
        (Some(rate), Some(usual)) if rate.per_second() != usual.into() => {
            LoadKind::Paced(builtin, rate)
        }
        _ => LoadKind::Builtin(builtin),
    };
    Ok(Load { kind, copies })
}

/// Parses `"…"` or `"…":N`, and returns it with the text after a `+`; without quotes the whole
/// rest is the command.
fn parse_quoted<'a>(
    rest: &'a str,
    whole: &str,
) -> Result<(String, Copies, Option<&'a str>), NotALoad> {
    let missing = || NotALoad::Command(whole.to_owned());
    let (command, copies, after) = match rest.strip_prefix('"') {
        Some(quoted) => {
            let end = closing_quote(quoted).ok_or_else(missing)?;
            let (copies, after) = match quoted[end + 1..].split_once('+') {
                Some((copies, after)) => (copies, Some(after)),
                None => (&quoted[end + 1..], None),
            };
            let copies = match copies.strip_prefix(':') {
                Some(copies) => parse_copies(copies)?,
                None => Copies::Count(1),
            };
            (&quoted[..end], copies, after)
        }
        None if closing_quote(rest).is_some() => return Err(NotALoad::Quote(whole.to_owned())),
        None => (rest, Copies::Count(1), None),
    };
    if command.trim().is_empty() {
        return Err(missing());
    }
    Ok((command.to_owned(), copies, after))
}

/// The position of the quote that ends a command: the first that is followed only by a number
/// of copies and another load. A command may itself contain quotes.
fn closing_quote(quoted: &str) -> Option<usize> {
    let ends = |after: &str| {
        let (copies, beside) = match after.split_once('+') {
            Some((copies, beside)) => (copies, Some(beside)),
            None => (after, None),
        };
        (copies.is_empty() || copies.starts_with(':') && !copies.contains('"'))
            && beside.is_none_or(begins_a_load)
    };
    let quotes = quoted.match_indices('"').map(|(index, _)| index);
    quotes.into_iter().find(|index| ends(&quoted[index + 1..]))
}

/// Whether a text begins with the name of a load.
fn begins_a_load(text: &str) -> bool {
    let end = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'));
    let name = &text[..end.unwrap_or(text.len())];
    matches!(name, "cmd" | "stress-ng") || name.parse::<BuiltinLoad>().is_ok()
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

/// A load with its scheduling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// The work and its copies.
    pub load: Load,
    /// How every copy is scheduled.
    pub scheduling: Scheduling,
    /// The CPUs it may use.
    pub cpus: CpuChoice,
}

impl LoadPlan {
    /// No load.
    pub const IDLE: Self =
        Self { load: Load::IDLE, scheduling: Scheduling::ORDINARY, cpus: CpuChoice::All };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_load_round_trips(
            text in "(cmd:|stress-ng:|compute|player@3|[+\"]|:2|:cpus|a| ){1,12}",
        ) {
            if let Ok(load) = text.parse::<Load>() {
                prop_assert_eq!(load.to_string().parse(), Ok(load));
            }
        }
    }

    fn check(text: &str, shown: &str) {
        let load: Load = text.parse().unwrap();
        assert_eq!(load.to_string(), shown);
        assert_eq!(shown.parse(), Ok(load));
    }

    #[test]
    fn loads_are_parsed_and_formatted() {
        check("idle", "idle");
        check("idle:3", "idle");
        check("compile:2", "compile:2");
        check("compute:1", "compute");
        check("compute:cpus", "compute:cpus");
        check("build-over-network", "build-over-network");
        check("cmd:make -j4", "cmd:\"make -j4\"");
        check("cmd:\"echo \"a\"\":3", "cmd:\"echo \"a\"\":3");
        check("stress-ng:\"--vm 2\"", "stress-ng:\"--vm 2\"");
        check("player@25", "player");
        check("player@24.000:2", "player@24:2");
        check("editor@60000/1001", "editor@60000/1001");
    }

    #[test]
    fn loads_are_combined_with_plus() {
        check("player+display:1+compute:2", "player+display+compute:2");
        check("cmd:\"a + b\":2+cmd:\"c\"+player@30", "cmd:\"a + b\":2+cmd:\"c\"+player@30");
        check("compute+cmd:a+b", "compute+cmd:\"a+b\"");
        let mix: Load = "player+compute:2".parse().unwrap();
        let parts: Vec<String> = mix.parts().iter().map(ToString::to_string).collect();
        assert_eq!(parts, ["player", "compute:2"]);
        let alone: Load = "compute:2".parse().unwrap();
        assert_eq!(alone.parts(), std::slice::from_ref(&alone));
        // Quotes and plus signs inside a command belong to the command.
        let one: Load = "cmd:\"echo \"a\"+\"b\"\"".parse().unwrap();
        assert_eq!(one.kind, LoadKind::Command("echo \"a\"+\"b\"".to_owned()));
    }

    #[test]
    fn invalid_combinations_are_rejected() {
        let error = |text: &str| text.parse::<Load>().unwrap_err().to_string();
        assert!(error("compute+idle").contains("remove `idle`"));
        assert!(error("compute+").contains("load"));
        assert!(error("player+compuet").contains("did you mean `compute`?"));
        assert!(error("compute@3").contains("loads with a rate: editor, player"));
        assert!(error("player@fast").contains("is not a rate"));
        assert!(error("cmd:say \"a\"+compute").contains("looks like its end"));
    }

    #[test]
    fn a_load_that_cannot_run_in_a_guest_is_rejected_with_the_nearest() {
        let check = |text: &str| text.parse::<Load>().unwrap().check_in_guest();
        for load in BuiltinLoad::ALL {
            let runs = *load != BuiltinLoad::Disk && !load.needs_x_server();
            assert_eq!(check(load.word()).is_ok(), runs, "{load}");
        }
        assert_eq!(check("player@30+display+compute:2"), Ok(()));
        let refused = |text: &str| check(text).unwrap_err().to_string();
        assert!(refused("compute+disk:2").contains("use `file`"));
        assert!(refused("x11-mouse@80").contains("use `display`"));
        assert!(refused("cmd:\"make\"+compute").contains("cmd:\"make\" cannot run"));
        assert!(refused("stress-ng:--vm 2").contains("memory"));
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
