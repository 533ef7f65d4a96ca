//! The kinds of load, one file each.

mod build_over_network;
mod command;
mod compile;
mod compiler;
mod compute;
mod disk;
mod file;
mod memory;
mod message;
mod net;
mod pagefault;
mod process;
mod program;
mod scratch;
mod serial;
mod source;
mod stress_ng;
mod syscall;
mod timer;

use std::convert::Infallible;

use tactus_model::load::{BuiltinLoad, LoadKind};

use crate::error::LoadError;
use crate::site::Site;

/// What the work of a copy comes to: it never ends but by an error.
pub(crate) type Endless = Result<Infallible, LoadError>;

/// What a load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measure {
    /// What one operation is; empty where operations cannot be counted.
    pub unit: &'static str,
    /// Whether bytes are counted as well.
    pub bytes: bool,
}

/// One kind of load.
struct Kind {
    load: BuiltinLoad,
    measure: Measure,
    /// Whether a copy makes threads or processes.
    makes_tasks: bool,
    /// Works for good.
    run: fn(&'static Site) -> Endless,
}

const fn kind(load: BuiltinLoad, unit: &'static str, run: fn(&'static Site) -> Endless) -> Kind {
    Kind { load, measure: Measure { unit, bytes: false }, makes_tasks: false, run }
}

impl Kind {
    const fn counts_bytes(mut self) -> Self {
        self.measure.bytes = true;
        self
    }

    const fn makes_tasks(mut self) -> Self {
        self.makes_tasks = true;
        self
    }
}

/// Every load of our own but `idle`, for which nothing runs.
static KINDS: [Kind; 13] = [
    kind(BuiltinLoad::Compute, "round of arithmetic", compute::run),
    kind(BuiltinLoad::Memory, "page dirtied", memory::run).counts_bytes(),
    kind(BuiltinLoad::Compile, "compile", compile::run).makes_tasks(),
    kind(BuiltinLoad::File, "transfer", file::run).counts_bytes(),
    kind(BuiltinLoad::Disk, "synced write", disk::run).counts_bytes(),
    kind(BuiltinLoad::Net, "receive", net::run).counts_bytes().makes_tasks(),
    kind(BuiltinLoad::Serial, "file copied", serial::run).counts_bytes().makes_tasks(),
    kind(BuiltinLoad::Process, "process", process::run).makes_tasks(),
    kind(BuiltinLoad::Syscall, "call", syscall::run),
    kind(BuiltinLoad::Pagefault, "page fault", pagefault::run),
    kind(BuiltinLoad::Message, "message", message::run).counts_bytes().makes_tasks(),
    kind(BuiltinLoad::Timer, "expiry", timer::run).makes_tasks(),
    kind(BuiltinLoad::BuildOverNetwork, "build", build_over_network::run)
        .counts_bytes()
        .makes_tasks(),
];

fn find(load: BuiltinLoad) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.load == load)
}

/// What a load of this kind counts.
pub(crate) fn measure(kind: &LoadKind) -> Measure {
    const NOTHING: Measure = Measure { unit: "", bytes: false };
    match kind {
        LoadKind::Builtin(load) => find(*load).map_or(NOTHING, |kind| kind.measure),
        LoadKind::Command(_) | LoadKind::StressNg(_) => NOTHING,
    }
}

/// What the process of a copy is called, in `ps` as in recordings.
pub(crate) fn program(kind: &LoadKind) -> &'static str {
    match kind {
        LoadKind::Builtin(load) => load.word(),
        LoadKind::Command(_) => "cmd",
        LoadKind::StressNg(_) => "stress-ng/copy",
    }
}

/// Whether a copy of this kind makes threads or processes.
pub(crate) fn makes_tasks(kind: &LoadKind) -> bool {
    match kind {
        LoadKind::Builtin(load) => find(*load).is_some_and(|kind| kind.makes_tasks),
        LoadKind::Command(_) | LoadKind::StressNg(_) => true,
    }
}

/// Whether a copy of this kind runs a program of which nothing is known.
pub(crate) fn runs_any_program(kind: &LoadKind) -> bool {
    matches!(kind, LoadKind::Command(_) | LoadKind::StressNg(_))
}

/// Works for good, as one copy of this kind.
pub(crate) fn run(kind: &LoadKind, site: &'static Site) -> Endless {
    match kind {
        LoadKind::Builtin(load) => match find(*load) {
            Some(kind) => (kind.run)(site),
            None => Err(LoadError::new(format!("the load {load} is no work"))),
        },
        LoadKind::Command(command) => command::run(command, site),
        LoadKind::StressNg(options) => stress_ng::run(options, site),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_but_idle_stands_in_the_table_once() {
        for load in BuiltinLoad::ALL {
            let rows = KINDS.iter().filter(|kind| kind.load == *load).count();
            assert_eq!(rows, usize::from(*load != BuiltinLoad::Idle), "{load}");
        }
    }
}
