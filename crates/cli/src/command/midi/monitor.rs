//! `tactus midi monitor`.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tactus_midi::{Kinds, Message, Parsed};
use tactus_model::format;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_streamd::inputs::{Attentive, Gone, PortSpec, attend};
use tactus_sys::clock;

use super::ports::{Distribution, ThreadArguments, as_text, ended_by_signal, joined, open_inputs};
use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::terminal::stdout;
use crate::values::positive;

/// Print the messages of inputs with their arrival times.
///
/// Each line has the time since the start, the interval since the message before it on the same
/// input, and the message. Bytes that are no messages are reported as problems. A summary follows
/// at the end.
///
/// Example: tactus midi monitor /dev/snd/midiC0D0 --kinds notes+controllers
#[derive(Args)]
pub(super) struct MonitorArguments {
    /// Input: pty, pty:LINK, or the path of a device; several are possible
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PortSpec>,
    /// Kinds to print: notes, controllers, programs, pressure, bend, common, real-time, exclusive,
    /// joined by +, or all, or normal (all but exclusive)
    #[arg(long, value_name = "KINDS", default_value = "all")]
    kinds: Kinds,
    /// How long to monitor [default: until Ctrl-C]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    duration: Option<Nanos>,
    #[command(flatten)]
    thread: ThreadArguments,
    /// Print JSON, one object a line; times are in nanoseconds of CLOCK_MONOTONIC
    #[arg(long)]
    json: bool,
}

/// Messages that may wait to be printed. A full queue never delays the thread of the inputs.
const QUEUE: usize = 4096;
/// How often the queue is looked at. The thread of the inputs need not wake anybody.
const LOOK: Duration = Duration::from_millis(10);

/// What the thread of the inputs passes on.
enum Event {
    Parsed(usize, Parsed),
    Gone(usize, Gone),
}

struct Keeper {
    kinds: Kinds,
    events: SyncSender<Event>,
    lost: Arc<AtomicU64>,
}

impl Keeper {
    fn keep(&self, event: Event) {
        if self.events.try_send(event).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Attentive for Keeper {
    fn parsed(&mut self, input: usize, parsed: Parsed) {
        let is_wanted = match &parsed {
            Parsed::Message { message, .. } => self.kinds.contain(message),
            Parsed::Problem { .. } => true,
        };
        if is_wanted {
            self.keep(Event::Parsed(input, parsed));
        }
    }

    fn gone(&mut self, input: usize, why: Gone) {
        self.keep(Event::Gone(input, why));
    }
}

pub(super) fn run(arguments: &MonitorArguments) -> CommandResult {
    let mut inputs = open_inputs(&arguments.inputs, arguments.thread.quietness)?;
    let handle = ended_by_signal()?;
    let (sender, receiver) = sync_channel(QUEUE);
    let lost = Arc::new(AtomicU64::new(0));
    let mut keeper = Keeper { kinds: arguments.kinds, events: sender, lost: Arc::clone(&lost) };
    let start = clock::now::<Monotonic>();
    let until = arguments.duration.map(|duration| start + duration);
    let of_thread = handle.clone();
    let thread =
        arguments.thread.spawn(move || attend(&mut inputs, &of_thread, until, &mut keeper))?;
    let names = arguments.inputs.iter().map(ToString::to_string).collect();
    let mut printer = Printer::new(names, start, arguments.json);
    let printed = printer.print_all(&receiver);
    // A reader that closed the output ends it.
    handle.end();
    joined(thread).map_err(CommandError::internal)?;
    printed?;
    printer.summary.lost = lost.load(Ordering::Relaxed);
    printer.print_summary()
}

/// A line of JSON.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Line<'a> {
    Message {
        input: &'a str,
        began: Instant<Monotonic>,
        ended: Instant<Monotonic>,
        interval: Option<Nanos>,
        #[serde(serialize_with = "as_text")]
        text: &'a Message,
        bytes: &'a [u8],
    },
    Problem {
        input: &'a str,
        at: Instant<Monotonic>,
        text: String,
    },
    Gone {
        input: &'a str,
        text: String,
    },
    Summary(&'a Summary),
}

#[derive(Default, Serialize)]
struct Summary {
    messages: u64,
    problems: u64,
    /// Messages that were not printed in time.
    lost: u64,
    /// Between the beginnings of messages of one input.
    interval: Option<Distribution>,
}

struct Printer {
    names: Vec<String>,
    start: Instant<Monotonic>,
    json: bool,
    last: Vec<Option<Instant<Monotonic>>>,
    intervals: LatencyHistogram,
    summary: Summary,
}

impl Printer {
    fn new(names: Vec<String>, start: Instant<Monotonic>, json: bool) -> Self {
        let last = vec![None; names.len()];
        let (intervals, summary) = (LatencyHistogram::new(), Summary::default());
        Self { names, start, json, last, intervals, summary }
    }

    /// Prints until the thread of the inputs ends.
    fn print_all(&mut self, events: &Receiver<Event>) -> CommandResult {
        if !self.json {
            let input = if self.names.len() > 1 { "  input       " } else { "" };
            writeln!(stdout(), "     time s  interval ms{input}  message")?;
        }
        loop {
            match events.try_recv() {
                Ok(event) => self.print(&event)?,
                Err(TryRecvError::Empty) => thread::sleep(LOOK),
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }

    fn print(&mut self, event: &Event) -> CommandResult {
        let (Event::Parsed(place, _) | Event::Gone(place, _)) = event;
        let input = self.names[*place].clone();
        let (at, interval, text, line);
        match event {
            Event::Parsed(_, Parsed::Message { message, began, ended }) => {
                self.summary.messages += 1;
                interval = self.last[*place].replace(*began).map(|last| *began - last);
                interval.into_iter().for_each(|interval| self.intervals.record(interval));
                (at, text) = (Some(*began), message.to_string());
                let (input, text, bytes) = (&*input, message, message.bytes());
                line = Line::Message { input, began: *began, ended: *ended, interval, text, bytes };
            }
            Event::Parsed(_, Parsed::Problem { problem, began }) => {
                self.summary.problems += 1;
                (at, interval, text) = (Some(*began), None, format!("problem: {problem}"));
                let text = problem.to_string();
                line = Line::Problem { input: &input, at: *began, text };
            }
            Event::Gone(_, why) => {
                (at, interval, text) = (None, None, why.to_string());
                line = Line::Gone { input: &input, text: why.to_string() };
            }
        }
        if self.json {
            return Ok(write_line(&line)?);
        }
        let seconds = |at: Instant<Monotonic>| format!("{:.6}", (at - self.start).as_secs_f64());
        let millis = |interval: Nanos| format!("{:.3}", interval.as_micros_f64() / 1e3);
        let at = at.map(seconds).unwrap_or_default();
        let interval = interval.map_or_else(|| "-".to_owned(), millis);
        let input = match self.names.len() {
            1 => String::new(),
            _ => format!("  {input:12}"),
        };
        writeln!(stdout(), "{at:>11}  {interval:>11}{input}  {text}")?;
        Ok(())
    }

    fn print_summary(&mut self) -> CommandResult {
        self.summary.interval = Distribution::of(&self.intervals);
        if self.json {
            return Ok(write_line(&Line::Summary(&self.summary))?);
        }
        let Summary { messages, problems, lost, interval } = &self.summary;
        let mut text = format!(
            "{}, {}",
            format::counted(*messages, "message"),
            format::counted(*problems, "problem")
        );
        if *lost > 0 {
            text.push_str(&format!(", {} not printed in time", format::count(*lost)));
        }
        if let Some(interval) = interval {
            text.push_str(&format!("; interval {interval}"));
        }
        writeln!(stdout(), "{text}")?;
        Ok(())
    }
}
