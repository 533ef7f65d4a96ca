//! `tactus midi send`.

mod local;
mod server;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tactus_app::{Error, ErrorKind};
use tactus_delivery::receipt::{Evidence, Outcome, Receipt};
use tactus_midi::Message;
use tactus_midi::file::{self, Timed};
use tactus_model::format;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_stream::SOCKET;
use tactus_streamd::sinks::Rate;

use super::ports::{Distribution, Endpoint, ThreadArguments, as_text};
use crate::error::{CommandError, CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::terminal::{say, stdout};

/// Send messages, each at its time, and print what became of them.
///
/// Messages are given as words (note-on 1 60 100) or bytes (90 3c 64), all to be sent at once, or in
/// a file: a standard MIDI file, or a text with a time and a message on each line, such as
/// `1.5s note-off 1 60 64`. docs/midi.md lists the words.
///
/// Notes that are still sounding end with the command. `server:DEVICE` is a device of the delivery
/// server, tactus streamd; for other outputs, its code runs in this process.
///
/// Examples: tactus midi send /dev/snd/midiC0D0 "note-on 1 60 100" --hold 1s;
/// tactus midi send server:piano --file song.mid
#[derive(Args)]
pub(super) struct SendArguments {
    /// Output: pty, pty:LINK, the path of a device, jack, jack:CLIENT, or server:DEVICE
    #[arg(value_name = "OUTPUT")]
    output: Endpoint,
    /// Message to send
    #[arg(value_name = "MESSAGE", required_unless_present = "file")]
    messages: Vec<Message>,
    /// File of messages with times
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How long after the start the first message is due
    #[arg(long, value_name = "DURATION", default_value = "100ms")]
    delay: Nanos,
    /// How long to wait after the last message, before notes end
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    hold: Nanos,
    /// Bits a second of the output, or unpaced. A device of a server has its own
    #[arg(long, value_name = "RATE", default_value = "unpaced")]
    rate: Rate,
    /// Socket of the delivery server
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    #[command(flatten)]
    thread: ThreadArguments,
    /// Print JSON, one object a line: a receipt for each message, and a summary; times are in
    /// nanoseconds of CLOCK_MONOTONIC
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &SendArguments) -> CommandResult {
    let messages = arguments.all_messages()?;
    let mut answers = Answers::new(&messages, arguments.json);
    match &arguments.output {
        Endpoint::Port(port) => local::send(arguments, port, &messages, &mut answers)?,
        Endpoint::Server(device) => server::send(arguments, device, &messages, &mut answers)?,
    }
    answers.end()
}

impl SendArguments {
    /// The messages, each with its time after the start.
    fn all_messages(&self) -> CommandResult<Vec<Timed>> {
        let given = self.messages.iter().cloned();
        let mut all: Vec<Timed> = given.map(|message| Timed { at: self.delay, message }).collect();
        if let Some(path) = &self.file {
            let unread = |reason: &dyn fmt::Display| {
                let text = format!("cannot read `{}`: {reason}", path.display());
                CommandError::from(Error::new(ErrorKind::Usage, text))
            };
            // One byte more than the limit, which the reader then reports.
            let file = File::open(path).map_err(|error| unread(&error))?;
            let mut bytes = Vec::new();
            let mut limited = file.take(file::FILE_BYTES_MAX as u64 + 1);
            limited.read_to_end(&mut bytes).map_err(|error| unread(&error))?;
            let found = file::read(&bytes).map_err(|error| unread(&error))?;
            if found.messages.is_empty() {
                return Err(unread(&"it has no messages"));
            }
            if found.left_out > 0 {
                let count = format::counted(found.left_out as u64, "piece");
                say!("warning: {count} of bytes in the file that are no messages are left out");
            }
            all.extend(
                found
                    .messages
                    .into_iter()
                    .map(|timed| Timed { at: timed.at + self.delay, ..timed }),
            );
        }
        all.sort_by_key(|timed| timed.at);
        Ok(all)
    }
}

/// What became of the messages. The number of an item is the place of its message.
struct Answers<'a> {
    messages: &'a [Timed],
    json: bool,
    outcomes: BTreeMap<Outcome, u64>,
    error: LatencyHistogram,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Line<'a> {
    Receipt {
        #[serde(serialize_with = "as_text")]
        message: &'a Message,
        due: Instant<Monotonic>,
        began: Option<Instant<Monotonic>>,
        ended: Option<Instant<Monotonic>>,
        outcome: Outcome,
        evidence: Evidence,
    },
    Summary {
        outcomes: &'a BTreeMap<Outcome, u64>,
        /// From due to begun, of those that were delivered.
        error: Option<Distribution>,
    },
}

impl<'a> Answers<'a> {
    fn new(messages: &'a [Timed], json: bool) -> Self {
        Self { messages, json, outcomes: BTreeMap::new(), error: LatencyHistogram::new() }
    }

    fn add(&mut self, receipt: &Receipt) -> CommandResult {
        let Receipt { sequence, due, began, ended, outcome, evidence, .. } = *receipt;
        *self.outcomes.entry(outcome).or_default() += 1;
        if let (Outcome::Delivered, Some(began)) = (outcome, began) {
            self.error.record(began - due);
        }
        let message = usize::try_from(sequence).ok().and_then(|place| self.messages.get(place));
        match message {
            Some(Timed { message, .. }) if self.json => {
                for_any_reader(write_line(&Line::Receipt {
                    message,
                    due,
                    began,
                    ended,
                    outcome,
                    evidence,
                }))
            }
            _ => Ok(()),
        }
    }

    fn end(self) -> CommandResult {
        let error = Distribution::of(&self.error);
        let outcomes = &self.outcomes;
        let written = if self.json {
            write_line(&Line::Summary { outcomes, error })
        } else {
            let error = error.map(|error| format!("; error {error}")).unwrap_or_default();
            let parts: Vec<String> = outcomes
                .iter()
                .map(|(outcome, count)| format!("{} {}", format::count(*count), word(*outcome)))
                .collect();
            let total = format::counted(self.messages.len() as u64, "message");
            writeln!(stdout(), "{total}: {}{error}", parts.join(", "))
        };
        for_any_reader(written)?;
        let delivered = self.outcomes.get(&Outcome::Delivered).copied().unwrap_or_default();
        let rest = self.messages.len() as u64 - delivered;
        match rest {
            0 => Ok(()),
            _ => Err(CommandError::not_met(format_args!(
                "{} not delivered",
                format::counted(rest, "message")
            ))),
        }
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Delivered => "delivered",
        Outcome::Failed => "refused by the device",
        Outcome::Late => "too late",
        Outcome::Stopped => "stopped",
        Outcome::Cut => "cut",
        Outcome::Closed => "not reached",
        Outcome::Refused => "refused by the server",
        Outcome::Ended => "left when the output ended",
        Outcome::Unknown => "perhaps delivered",
    }
}
