//! `tactus midi monitor`.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tactus_app::{Error, ErrorKind};
use tactus_midi::{Heard, Kinds, Message, Parsed};
use tactus_model::format;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_stream::{Ended, Listener, SOCKET};
use tactus_streamd::Handle;
use tactus_streamd::inputs::{Attentive, Gone, attend};
use tactus_sys::clock;

use super::ports::{
    Distribution, Endpoint, ThreadArguments, as_text, ended_by_signal, joined, open_input,
};
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
    /// Input: pty, pty:LINK, the path of a device, jack, jack:CLIENT, or server:INPUT; several are possible
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<Endpoint>,
    /// Socket of the delivery server
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
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

/// What the threads of the inputs pass on, with the place of the input.
enum Event {
    Parsed(usize, Parsed),
    Heard(usize, Heard),
    Gone(usize, Gone),
    Ended(usize, Ended),
}

/// Passes on what inputs of this process receive.
struct Forwarder {
    kinds: Kinds,
    /// The place of each port among the inputs.
    places: Vec<usize>,
    events: SyncSender<Event>,
    lost: Arc<AtomicU64>,
}

impl Forwarder {
    fn forward(&self, event: Event) {
        if self.events.try_send(event).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Attentive for Forwarder {
    fn parsed(&mut self, input: usize, parsed: Parsed) {
        let is_wanted = match &parsed {
            Parsed::Message { message, .. } => self.kinds.contain(message),
            Parsed::Problem { .. } => true,
        };
        if is_wanted {
            self.forward(Event::Parsed(self.places[input], parsed));
        }
    }

    fn gone(&mut self, input: usize, why: Gone) {
        self.forward(Event::Gone(self.places[input], why));
    }
}

pub(super) fn run(arguments: &MonitorArguments) -> CommandResult {
    let MonitorArguments { inputs, kinds, duration, thread, .. } = arguments;
    let quietness = thread.quietness;
    let (mut ports, mut places, mut listeners) = (Vec::new(), Vec::new(), Vec::new());
    for (place, source) in inputs.iter().enumerate() {
        match source {
            Endpoint::Port(port) => {
                ports.push(open_input(port, quietness)?);
                places.push(place);
            }
            Endpoint::Server(input) => {
                let listener = Listener::connect(&arguments.socket, input, *kinds);
                let unavailable = |error| Error::new(ErrorKind::Unavailable, error);
                listeners.push((place, listener.map_err(unavailable)?));
            }
        }
    }
    let handle = ended_by_signal()?;
    let (sender, receiver) = sync_channel(QUEUE);
    let lost = Arc::new(AtomicU64::new(0));
    let start = clock::now::<Monotonic>();
    let until = duration.map(|duration| start + duration);
    let mut threads = Vec::new();
    for (place, mut listener) in listeners {
        let (handle, events) = (handle.clone(), sender.clone());
        threads.push(std::thread::spawn(move || {
            listen(&mut listener, place, &handle, until, &events);
            Ok(())
        }));
    }
    let mut forwarder =
        Forwarder { kinds: *kinds, places, events: sender, lost: Arc::clone(&lost) };
    if !ports.is_empty() {
        let handle = handle.clone();
        threads.push(
            thread.spawn(move || attend(&mut ports, &handle, until, &mut forwarder).map(drop))?,
        );
    } else {
        drop(forwarder);
    }
    let names = inputs.iter().map(ToString::to_string).collect();
    let mut printer = Printer::new(names, start, arguments.json);
    let printed = printer.print_all(&receiver);
    // A reader that closed the output ends it.
    handle.end();
    drop(receiver);
    for thread in threads {
        joined(thread).map_err(CommandError::internal)?;
    }
    printed?;
    printer.summary.lost += lost.load(Ordering::Relaxed);
    printer.print_summary()
}

/// Passes on what a listener gets, until the end.
fn listen(
    listener: &mut Listener,
    place: usize,
    handle: &Handle,
    until: Option<Instant<Monotonic>>,
    events: &SyncSender<Event>,
) {
    while !handle.is_ending() && until.is_none_or(|until| clock::now::<Monotonic>() < until) {
        let event = match listener.message(Some(LOOK)) {
            Ok(None) => continue,
            Ok(Some(heard)) => Event::Heard(place, heard),
            Err(ended) => Event::Ended(place, ended),
        };
        let is_last = matches!(event, Event::Ended(..));
        if events.send(event).is_err() || is_last {
            return;
        }
    }
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
        text: &'a str,
    },
    Lost {
        input: &'a str,
        count: u64,
    },
    Gone {
        input: &'a str,
        text: &'a str,
    },
    Summary(&'a Summary),
}

#[derive(Default, Serialize)]
struct Summary {
    messages: u64,
    problems: u64,
    /// Messages that were not read or printed in time.
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
        match event {
            Event::Parsed(place, Parsed::Message { message, began, ended }) => {
                self.message(*place, message, *began, *ended)
            }
            Event::Heard(place, heard) => {
                if heard.lost > 0 {
                    self.lost(*place, heard.lost)?;
                }
                self.message(*place, &heard.message, heard.began, heard.ended)
            }
            Event::Parsed(place, Parsed::Problem { problem, began }) => {
                self.summary.problems += 1;
                let (input, text) = (&*self.names[*place], problem.to_string());
                let line = Line::Problem { input, at: *began, text: &text };
                self.line(*place, Some(*began), None, &format!("problem: {text}"), &line)
            }
            Event::Gone(place, why) => self.gone(*place, &why.to_string()),
            Event::Ended(place, why) => self.gone(*place, &why.to_string()),
        }
    }

    fn message(
        &mut self,
        place: usize,
        message: &Message,
        began: Instant<Monotonic>,
        ended: Instant<Monotonic>,
    ) -> CommandResult {
        self.summary.messages += 1;
        let interval = self.last[place].replace(began).map(|last| began - last);
        interval.into_iter().for_each(|interval| self.intervals.record(interval));
        let (input, bytes) = (&*self.names[place], message.bytes());
        let line = Line::Message { input, began, ended, interval, text: message, bytes };
        self.line(place, Some(began), interval, &message.to_string(), &line)
    }

    /// A gap: messages were lost before the next one.
    fn lost(&mut self, place: usize, count: u64) -> CommandResult {
        self.summary.lost += count;
        // The interval across a gap says nothing.
        self.last[place] = None;
        let line = Line::Lost { input: &self.names[place], count };
        let text = format!("lost: {}", format::counted(count, "message"));
        self.line(place, None, None, &text, &line)
    }

    fn gone(&self, place: usize, text: &str) -> CommandResult {
        let line = Line::Gone { input: &self.names[place], text };
        self.line(place, None, None, text, &line)
    }

    /// Prints a line, as text or as JSON.
    fn line(
        &self,
        place: usize,
        at: Option<Instant<Monotonic>>,
        interval: Option<Nanos>,
        text: &str,
        line: &Line<'_>,
    ) -> CommandResult {
        if self.json {
            return Ok(write_line(line)?);
        }
        let seconds = |at: Instant<Monotonic>| format!("{:.6}", (at - self.start).as_secs_f64());
        let millis = |interval: Nanos| format!("{:.3}", interval.as_micros_f64() / 1e3);
        let at = at.map(seconds).unwrap_or_default();
        let interval = interval.map_or_else(|| "-".to_owned(), millis);
        let input = match self.names.len() {
            1 => String::new(),
            _ => format!("  {:12}", self.names[place]),
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
            text.push_str(&format!(
                ", {} lost because they were not read or printed in time",
                format::count(*lost)
            ));
        }
        if let Some(interval) = interval {
            text.push_str(&format!("; interval {interval}"));
        }
        writeln!(stdout(), "{text}")?;
        Ok(())
    }
}
