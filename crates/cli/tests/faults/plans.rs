//! What runs, and what happens to it.

use std::fmt;

use rustix::process::Signal;

/// A command, and the faults that it must survive.
pub struct Plan {
    pub name: &'static str,
    pub arguments: &'static [&'static str],
    /// The longest time from the start of a victim to its fault.
    pub length_ms: u64,
    pub faults: &'static [Fault],
}

/// A signal to some process.
#[derive(Clone, Copy)]
pub struct Fault {
    pub victim: Victim,
    pub signal: Signal,
    /// Whether only the next start removes what is left: because the guardian was killed, and its
    /// program too.
    pub needs_next_start: bool,
}

/// The process that gets the signal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// The command itself.
    Command,
    /// One of its processes `tactus internal ROLE`.
    Role(&'static str),
    /// No process: the command ends by itself.
    Nobody,
    /// All processes at once.
    Everything,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let victim = match self.victim {
            Victim::Nobody => return f.write_str("none"),
            Victim::Command => "command",
            Victim::Role(role) => role,
            Victim::Everything => "everything",
        };
        let signal = match self.signal {
            Signal::KILL => "killed",
            Signal::TERM => "terminated",
            Signal::INT => "interrupted",
            Signal::HUP => "hung up",
            _ => "signalled",
        };
        write!(f, "{victim} {signal}")
    }
}

const fn killed(role: &'static str) -> Fault {
    Fault { victim: Victim::Role(role), signal: Signal::KILL, needs_next_start: false }
}

const fn command(signal: Signal) -> Fault {
    Fault { victim: Victim::Command, signal, needs_next_start: false }
}

const NONE: Fault = Fault { victim: Victim::Nobody, signal: Signal::KILL, needs_next_start: false };

const EVERYTHING: Fault =
    Fault { victim: Victim::Everything, signal: Signal::KILL, needs_next_start: true };

/// A measurement that removes what a killed load, cell and guardian have left.
pub const NEXT_START: &[&str] = &[
    "measure",
    "--load",
    "compute:1",
    "--duration",
    "50ms",
    "--traced",
    "0s",
    "--warmup",
    "0ns",
    "--no-page",
];

pub const PLANS: &[Plan] = &[
    Plan {
        name: "measure",
        arguments: &[
            "measure",
            "--policy",
            "rr:5",
            "--quantum",
            "60ms",
            "--load",
            "idle",
            "--duration",
            "400ms",
            "--traced",
            "0s",
            "--warmup",
            "0ns",
            "--no-page",
        ],
        length_ms: 400,
        faults: &[
            NONE,
            command(Signal::KILL),
            command(Signal::TERM),
            command(Signal::INT),
            killed("cell"),
            killed("guardian"),
            EVERYTHING,
        ],
    },
    Plan {
        name: "loaded measure",
        arguments: &[
            "measure",
            "--load",
            "compute:1",
            "--duration",
            "300ms",
            "--traced",
            "0s",
            "--warmup",
            "100ms",
            "--no-page",
        ],
        length_ms: 400,
        faults: &[
            NONE,
            command(Signal::KILL),
            killed("cell"),
            killed("load"),
            killed("load-worker"),
            EVERYTHING,
        ],
    },
    Plan {
        name: "streamd",
        arguments: &["streamd", "--socket", "socket", "--device", "null=measure"],
        length_ms: 100,
        faults: &[command(Signal::KILL), command(Signal::TERM), command(Signal::INT)],
    },
    Plan {
        name: "net measure",
        arguments: &[
            "measure",
            "--probe",
            "net",
            "--clock",
            "realtime",
            "--net-path",
            "relay",
            "--net-rivals",
            "1",
            "--duration",
            "300ms",
            "--traced",
            "0s",
            "--warmup",
            "0ns",
            "--no-page",
        ],
        length_ms: 400,
        faults: &[NONE, command(Signal::KILL), killed("cell"), killed("relay"), EVERYTHING],
    },
    Plan {
        name: "interrupted measure",
        arguments: &[
            "measure",
            "--interrupted",
            "process",
            "--dirt",
            "l2",
            "--load",
            "idle",
            "--duration",
            "300ms",
            "--traced",
            "0s",
            "--warmup",
            "0ns",
            "--no-page",
        ],
        length_ms: 400,
        faults: &[NONE, command(Signal::KILL), killed("cell"), killed("interrupted"), EVERYTHING],
    },
    Plan {
        name: "traced measure",
        arguments: &[
            "measure",
            "--policy",
            "rr:5",
            "--quantum",
            "60ms",
            "--load",
            "idle",
            "--duration",
            "200ms",
            "--traced",
            "500ms",
            "--warmup",
            "0ns",
            "--no-page",
        ],
        length_ms: 1_500,
        faults: &[
            NONE,
            command(Signal::KILL),
            command(Signal::TERM),
            killed("cell"),
            killed("guardian"),
            EVERYTHING,
        ],
    },
    Plan {
        name: "record",
        arguments: &["record", "--duration", "800ms", "-o", "faults.tactusrec"],
        length_ms: 800,
        faults: &[
            NONE,
            command(Signal::KILL),
            command(Signal::TERM),
            command(Signal::INT),
            killed("guardian"),
            EVERYTHING,
        ],
    },
    Plan {
        name: "why",
        arguments: &["why", "--over", "1us", "--duration", "800ms", "-o", "faults.tactusrec"],
        length_ms: 1_200,
        faults: &[
            NONE,
            command(Signal::KILL),
            command(Signal::TERM),
            command(Signal::INT),
            command(Signal::HUP),
            killed("guardian"),
            EVERYTHING,
        ],
    },
    Plan {
        name: "watch",
        arguments: &[
            "watch",
            "--plain",
            "--causes",
            "--load",
            "idle",
            "--policy",
            "rr:5",
            "--quantum",
            "60ms",
            "--warmup",
            "0ns",
            "--duration",
            "1s",
        ],
        length_ms: 1_000,
        faults: &[
            NONE,
            command(Signal::KILL),
            command(Signal::TERM),
            killed("live"),
            killed("causes"),
            // The watch kills its processes at its end.
            Fault { needs_next_start: true, ..killed("guardian") },
            EVERYTHING,
        ],
    },
    Plan {
        name: "loaded watch",
        arguments: &[
            "watch",
            "--plain",
            "--load",
            "compute:1",
            "--warmup",
            "0ns",
            "--duration",
            "500ms",
        ],
        length_ms: 500,
        faults: &[command(Signal::KILL), killed("live"), killed("load"), EVERYTHING],
    },
];
