//! The kinds of load, one file each.

mod adaptive;
mod build_over_network;
mod command;
mod compile;
mod compiler;
mod compute;
mod console_input;
mod disk;
mod display;
mod editor;
mod file;
mod imitation;
mod memory;
mod message;
mod net;
mod pace;
mod pagefault;
mod picture;
mod player;
mod process;
mod program;
mod pseudo_terminal;
mod scratch;
mod serial;
mod source;
mod stress_ng;
mod syscall;
mod timer;
mod x11;
mod x11_events;
mod x11_keyboard;
mod x11_mouse;

use std::convert::Infallible;

use tactus_model::frames::Rate;
use tactus_model::load::{BuiltinLoad, LoadKind};

use crate::error::LoadError;
use crate::request::{Companion, WorkerRequest};
use crate::site::Site;
use crate::surroundings::Surroundings;

/// The result of a copy's work, which ends only by an error.
pub(crate) type Endless = Result<Infallible, LoadError>;

/// What a load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measure {
    /// What one operation is; empty if operations cannot be counted.
    pub unit: &'static str,
    /// Whether bytes are counted as well.
    pub bytes: bool,
    /// What else is counted, in the singular; at most [`crate::counters::OTHERS_MAX`].
    pub others: &'static [&'static str],
}

/// One kind of load.
struct Kind {
    load: BuiltinLoad,
    measure: Measure,
    /// Whether a copy makes threads or processes.
    makes_tasks: bool,
    /// The work, which does not end.
    run: Run,
}

/// How a kind of load works.
#[derive(Clone, Copy)]
enum Run {
    /// As fast as it can.
    Free(fn(&'static Site) -> Endless),
    /// At a rate.
    Paced(fn(Rate, &'static Site) -> Endless),
}

const fn kind(load: BuiltinLoad, unit: &'static str, run: fn(&'static Site) -> Endless) -> Kind {
    Kind { load, measure: Measure { unit, ..NOTHING }, makes_tasks: false, run: Run::Free(run) }
}

const fn paced(
    load: BuiltinLoad,
    unit: &'static str,
    run: fn(Rate, &'static Site) -> Endless,
) -> Kind {
    Kind { load, measure: Measure { unit, ..NOTHING }, makes_tasks: true, run: Run::Paced(run) }
}

/// The measure of a load whose work cannot be counted.
const NOTHING: Measure = Measure { unit: "", bytes: false, others: &[] };

impl Kind {
    const fn counts_bytes(mut self) -> Self {
        self.measure.bytes = true;
        self
    }

    const fn makes_tasks(mut self) -> Self {
        self.makes_tasks = true;
        self
    }

    const fn counts(mut self, others: &'static [&'static str]) -> Self {
        self.measure.others = others;
        self
    }
}

/// Every built-in load except `idle`, which starts nothing.
static KINDS: [Kind; 21] = [
    kind(BuiltinLoad::Compute, "rounds of arithmetic", compute::run),
    kind(BuiltinLoad::Memory, "pages dirtied", memory::run).counts_bytes(),
    kind(BuiltinLoad::Compile, "compiles", compile::run).makes_tasks(),
    kind(BuiltinLoad::File, "transfers", file::run).counts_bytes(),
    kind(BuiltinLoad::Disk, "synced writes", disk::run).counts_bytes(),
    kind(BuiltinLoad::Net, "receives", net::run).counts_bytes().makes_tasks(),
    kind(BuiltinLoad::Serial, "files copied", serial::run).counts_bytes().makes_tasks(),
    kind(BuiltinLoad::Process, "processes", process::run).makes_tasks(),
    kind(BuiltinLoad::Syscall, "calls", syscall::run),
    kind(BuiltinLoad::Pagefault, "page faults", pagefault::run),
    kind(BuiltinLoad::Message, "messages", message::run).counts_bytes().makes_tasks(),
    kind(BuiltinLoad::Timer, "expiries", timer::run).makes_tasks(),
    kind(BuiltinLoad::BuildOverNetwork, "builds", build_over_network::run)
        .counts_bytes()
        .makes_tasks(),
    paced(BuiltinLoad::Editor, "keystrokes", editor::run),
    paced(BuiltinLoad::Player, "frames", player::run).counts(player::OTHERS),
    kind(BuiltinLoad::Adaptive, "frames", adaptive::run),
    kind(BuiltinLoad::Display, "requests", display::run).makes_tasks(),
    paced(BuiltinLoad::X11Events, "events", x11_events::run),
    paced(BuiltinLoad::X11Keyboard, "keys", x11_keyboard::run),
    paced(BuiltinLoad::X11Mouse, "moves", x11_mouse::run),
    paced(BuiltinLoad::ConsoleInput, "keys", console_input::run),
];

fn find(load: BuiltinLoad) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.load == load)
}

/// What a load of this kind counts in these surroundings. In a mix, each part counts its own.
pub(crate) fn measure(kind: &LoadKind, surroundings: Surroundings) -> Measure {
    match kind {
        LoadKind::Builtin(load @ (BuiltinLoad::Compile | BuiltinLoad::BuildOverNetwork))
            if surroundings == Surroundings::Guest =>
        {
            let measure = find(*load).map_or(NOTHING, |kind| kind.measure);
            Measure { unit: imitation::UNIT, ..measure }
        }
        LoadKind::Builtin(load) | LoadKind::Paced(load, _) => {
            find(*load).map_or(NOTHING, |kind| kind.measure)
        }
        LoadKind::Command(_) | LoadKind::StressNg(_) | LoadKind::Mix(_) => NOTHING,
    }
}

/// The name of a copy's process, in `ps` and in recordings.
pub(crate) fn program(kind: &LoadKind) -> &'static str {
    match kind {
        LoadKind::Builtin(load) | LoadKind::Paced(load, _) => load.word(),
        LoadKind::Command(_) => "cmd",
        LoadKind::StressNg(_) => "stress-ng/copy",
        LoadKind::Mix(_) => "mix",
    }
}

/// Whether a copy of this kind makes threads or processes.
pub(crate) fn makes_tasks(kind: &LoadKind) -> bool {
    match kind {
        LoadKind::Builtin(load) | LoadKind::Paced(load, _) => {
            find(*load).is_some_and(|kind| kind.makes_tasks)
        }
        LoadKind::Command(_) | LoadKind::StressNg(_) => true,
        LoadKind::Mix(parts) => parts.iter().any(|part| makes_tasks(&part.kind)),
    }
}

/// Whether a copy of this kind runs a program about which nothing is known.
pub(crate) fn runs_any_program(kind: &LoadKind) -> bool {
    match kind {
        LoadKind::Builtin(_) | LoadKind::Paced(..) => false,
        LoadKind::Command(_) | LoadKind::StressNg(_) => true,
        LoadKind::Mix(parts) => parts.iter().any(|part| runs_any_program(&part.kind)),
    }
}

/// Whether a copy of this kind is a client of the display that runs beside it.
pub(crate) fn draws(kind: &LoadKind) -> bool {
    matches!(
        kind,
        LoadKind::Builtin(BuiltinLoad::Player | BuiltinLoad::Adaptive)
            | LoadKind::Paced(BuiltinLoad::Player, _)
    )
}

/// Works without end as one copy of this kind.
pub(crate) fn run(kind: &LoadKind, site: &'static Site) -> Endless {
    match kind {
        LoadKind::Builtin(load) => run_builtin(*load, None, site),
        LoadKind::Paced(load, rate) => run_builtin(*load, Some(*rate), site),
        LoadKind::Command(command) => command::run(command, site),
        LoadKind::StressNg(options) => stress_ng::run(options, site),
        LoadKind::Mix(_) => Err(LoadError::new("one copy cannot be several loads")),
    }
}

fn run_builtin(load: BuiltinLoad, rate: Option<Rate>, site: &'static Site) -> Endless {
    let usual = || load.rate().and_then(|usual| Rate::of_ratio(usual.into()));
    let nothing = || LoadError::new(format!("the load {load} does no work"));
    match find(load).ok_or_else(nothing)?.run {
        Run::Free(run) => run(site),
        Run::Paced(run) => run(rate.or_else(usual).ok_or_else(nothing)?, site),
    }
}

/// Works as a process that belongs to a copy, until the copy has ended.
pub(crate) fn run_companion(
    companion: &Companion,
    request: &WorkerRequest,
) -> Result<(), LoadError> {
    match companion {
        Companion::Typist { rate, seed } => editor::type_keys(*rate, *seed),
        Companion::Pass { pass, inputs, output, tree } => {
            imitation::work(*pass, inputs, output, tree, request)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_but_idle_is_in_the_table_once() {
        for load in BuiltinLoad::ALL {
            let rows = KINDS.iter().filter(|kind| kind.load == *load).count();
            assert_eq!(rows, usize::from(*load != BuiltinLoad::Idle), "{load}");
        }
    }

    #[test]
    fn loads_with_a_rate_are_given_a_rate() {
        for kind in &KINDS {
            let is_paced = matches!(kind.run, Run::Paced(_));
            assert_eq!(is_paced, kind.load.rate().is_some(), "{}", kind.load);
            assert!(kind.measure.others.len() <= crate::counters::OTHERS_MAX);
        }
    }
}
