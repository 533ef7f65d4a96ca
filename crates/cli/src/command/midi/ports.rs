//! Opening ports, and the thread that serves them.

use std::fmt;
use std::str::FromStr;
use std::thread::{self, JoinHandle};

use clap::Args;
use serde::{Serialize, Serializer};
use tactus_app::{Error, ErrorKind};
use tactus_model::format;
use tactus_model::policy::Scheduling;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_streamd::Handle;
use tactus_streamd::inputs::{Input, LineOptions, NotAPort, PortSpec, prepare};
use tactus_streamd::sink::Sink;
use tactus_streamd::sinks::PortError;

use crate::error::{CommandError, CommandResult};
use crate::quietness::Quietness;
use crate::signals;
use crate::terminal::{say, shortfall_text};

/// How the thread of the ports runs.
#[derive(Args, Clone, Copy)]
pub(super) struct ThreadArguments {
    /// Scheduling policy of the thread that reads and writes
    #[arg(long, value_name = "POLICY", default_value = "fifo:80")]
    policy: Scheduling,
    #[command(flatten)]
    pub(super) quietness: Quietness,
}

impl ThreadArguments {
    /// Starts the thread.
    pub(super) fn spawn<T: Send + 'static>(
        self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<JoinHandle<T>> {
        thread::Builder::new().name("midi".to_owned()).spawn(move || {
            match prepare(self.policy) {
                Ok(None) => {}
                Ok(Some(shortfall)) => say!("{}", shortfall_text(&shortfall)),
                Err(error) => say!("warning: cannot set the policy {}: {error}", self.policy),
            }
            body()
        })
    }
}

/// The beginning of the names of inputs and devices of the delivery server.
const SERVER: &str = "server:";

/// Where messages come from, or where they go.
#[derive(Clone, Debug)]
pub(super) enum Endpoint {
    /// A port of this process.
    Port(PortSpec),
    /// An input or a device of the delivery server.
    Server(String),
}

impl FromStr for Endpoint {
    type Err = NotAPort;

    fn from_str(text: &str) -> Result<Self, NotAPort> {
        match text.strip_prefix(SERVER) {
            Some(name) => Ok(Self::Server(name.to_owned())),
            None => text.parse().map(Self::Port),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => port.fmt(f),
            Self::Server(name) => write!(f, "{SERVER}{name}"),
        }
    }
}

/// Opens an input, and prints where programs write to a pseudo-terminal.
pub(super) fn open_input(spec: &PortSpec, quietness: Quietness) -> CommandResult<Input> {
    let input = Input::open(spec).map_err(not_opened)?;
    if matches!(spec, PortSpec::Pty(_) | PortSpec::Jack(_)) {
        quietness.note(format_args!("input {spec}: programs write to {}", input.address()));
    }
    Ok(input)
}

/// Opens an output, and prints where programs read from a pseudo-terminal.
pub(super) fn open_output(
    spec: &PortSpec,
    line: LineOptions,
    quietness: Quietness,
) -> CommandResult<Box<dyn Sink>> {
    let sink = spec.open_output(line).map_err(not_opened)?;
    if let Some(address) = sink.address() {
        quietness.note(format_args!("output {spec}: programs read from {address}"));
    }
    Ok(sink)
}

fn not_opened(error: PortError) -> CommandError {
    Error::new(ErrorKind::Unavailable, error).into()
}

/// A handle that the first signal uses to end a thread.
pub(super) fn ended_by_signal() -> CommandResult<Handle> {
    let handle = Handle::new().map_err(CommandError::internal)?;
    let of_signal = handle.clone();
    signals::on_interrupt(move |_| of_signal.end())?;
    Ok(handle)
}

/// The end of a thread.
pub(super) fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The figures of a distribution of durations.
#[derive(Serialize)]
pub(super) struct Distribution {
    p50: Nanos,
    p99: Nanos,
    max: Nanos,
}

impl Distribution {
    /// The figures; `None` if it is empty.
    pub(super) fn of(histogram: &LatencyHistogram) -> Option<Self> {
        let p50 = histogram.quantile(0.5)?;
        let p99 = histogram.quantile(0.99)?;
        Some(Self { p50, p99, max: histogram.max()? })
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p50, p99, max } = self;
        let [p50, p99, max] = [p50, p99, max].map(|length| format::latency(*length));
        write!(f, "p50 {p50}, p99 {p99}, max {max}")
    }
}

/// Writes a value as its text.
pub(super) fn as_text<T: fmt::Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
