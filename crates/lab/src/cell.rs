//! What runs inside a measuring process: one cell, told by an order, answered by messages.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tactus_load::{HostOptions, LoadError, LoadSnapshot, RunningLoad};
use tactus_model::message::{Message, Order};
use tactus_model::result::{LoadResult, MachineRates, Measurement, Shortfall};
use tactus_probe::{ProbeError, ProbeEvent, ProbeOutcome, TaskProcess};
use tactus_sys::counters::MachineCounters;

/// Runs the measuring process of this program: the order on standard input, the
/// messages on standard output.
///
/// # Errors
/// The messages cannot be written, so that nobody can be told what went wrong.
pub fn main() -> io::Result<()> {
    let mut messages = Messages { out: io::stdout().lock(), error: None };
    let answer = match read_order(&mut io::stdin().lock()) {
        Ok(order) => measure(&order, &mut messages),
        Err(reason) => Err(Stopped { reason, hint: None }),
    };
    match answer {
        Ok(measurement) => messages.say(&Message::Finished(Box::new(measurement))),
        Err(Stopped { reason, hint }) => messages.say(&Message::Failed { reason, hint }),
    }
    messages.error.map_or(Ok(()), Err)
}

fn read_order(input: &mut impl BufRead) -> Result<Order, String> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| format!("the order cannot be read: {error}"))?;
    serde_json::from_str(&line).map_err(|error| format!("the order is not understood: {error}"))
}

/// The messages to whoever ordered the measurement.
struct Messages<W> {
    out: W,
    /// The first failure to write; nothing is written after it.
    error: Option<io::Error>,
}

impl<W: Write> Messages<W> {
    fn say(&mut self, message: &Message) {
        if self.error.is_none() {
            self.error = self.write(message).err();
        }
    }

    fn write(&mut self, message: &Message) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, message)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

/// Why a cell has no result.
struct Stopped {
    reason: String,
    hint: Option<String>,
}

impl From<LoadError> for Stopped {
    fn from(error: LoadError) -> Self {
        Self { reason: format!("the load cannot run: {}", error.reason), hint: error.hint }
    }
}

impl From<ProbeError> for Stopped {
    fn from(error: ProbeError) -> Self {
        Self { reason: error.to_string(), hint: error.hint().map(str::to_owned) }
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self { reason: format!("the path of this program cannot be found: {error}"), hint: None }
    }
}

/// Starts the load, lets it warm up, and measures.
fn measure<W: Write>(order: &Order, messages: &mut Messages<W>) -> Result<Measurement, Stopped> {
    let executable = std::env::current_exe()?;
    let load = RunningLoad::start(&order.cell.load, &HostOptions::new(executable.clone()))?;
    let mut shortfalls: Vec<Shortfall> = load.shortfalls().to_vec();
    for shortfall in &shortfalls {
        messages.say(&Message::Shortfall(shortfall.clone()));
    }
    thread::sleep(Duration::from(order.cell.warmup));

    let process = task_process(executable);
    let mut meanwhile = Meanwhile { load: Some(load), ..Meanwhile::default() };
    let outcome = tactus_probe::run(&order.cell, order.seed, &process, &mut |event| match event {
        ProbeEvent::Shortfall(shortfall) => messages.say(&Message::Shortfall(shortfall)),
        ProbeEvent::Opened => {
            messages.say(&Message::Opened);
            meanwhile.open();
        }
        ProbeEvent::Closed => {
            meanwhile.close();
            messages.say(&Message::Closed);
        }
        ProbeEvent::Samples { task, block } => messages.say(&Message::Samples { task, block }),
    })?;
    let Meanwhile { achieved: load, rates, ends, .. } = meanwhile;
    for reason in ends {
        let ended = load_ended(&order.cell.load.load.to_string(), &reason);
        messages.say(&Message::Shortfall(ended.clone()));
        shortfalls.push(ended);
    }
    let ProbeOutcome { started, window, block_length, tasks, cost, shortfalls: more } = outcome;
    shortfalls.extend(more);
    Ok(Measurement {
        turn: order.turn,
        started,
        window,
        block_length,
        tasks,
        load,
        rates,
        cost,
        shortfalls,
    })
}

/// How a task that is a process of its own is started: `tactus internal task`.
fn task_process(executable: PathBuf) -> TaskProcess {
    TaskProcess { executable, arguments: ["internal", "task"].map(str::to_owned).into() }
}

fn load_ended(load: &str, reason: &str) -> Shortfall {
    Shortfall {
        asked: format!("load {load} for the whole window"),
        granted: "the copies that were left".to_owned(),
        reason: reason.to_owned(),
        mend: None,
    }
}

/// What the load and the machine did while the window was open.
#[derive(Default)]
struct Meanwhile {
    load: Option<RunningLoad>,
    opened: Option<(MachineCounters, LoadSnapshot)>,
    achieved: LoadResult,
    rates: MachineRates,
    /// Why copies of the load ended by themselves.
    ends: Vec<String>,
}

impl Meanwhile {
    fn open(&mut self) {
        let Some(load) = &mut self.load else { return };
        let snapshot = load.snapshot();
        self.opened = Some((MachineCounters::read(Path::new("/")), snapshot));
    }

    /// Takes the second reading and ends the load: nothing is gained from one that
    /// runs beside the evaluation.
    fn close(&mut self) {
        let counters = MachineCounters::read(Path::new("/"));
        let (Some(mut load), Some((earlier, snapshot))) = (self.load.take(), self.opened.take())
        else {
            return;
        };
        self.rates = counters.since(&earlier);
        self.achieved = load.snapshot().since(&snapshot);
        self.ends = load.stop();
    }
}
