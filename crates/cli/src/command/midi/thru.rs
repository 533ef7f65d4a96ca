//! `tactus midi thru`.

use std::io::Write as _;

use clap::Args;
use serde::Serialize;
use tactus_midi::Filter;
use tactus_model::format;
use tactus_model::time::{Monotonic, Nanos};
use tactus_streamd::inputs::{LineOptions, PortSpec, Thru, ThruCounts, attend};
use tactus_streamd::sinks::Rate;
use tactus_sys::clock;

use super::ports::{
    Distribution, ThreadArguments, ended_by_signal, joined, open_input, open_output,
};
use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::terminal::stdout;
use crate::values::positive;

/// Pass messages from inputs to an output, each as soon as it is whole.
///
/// Messages of several inputs are merged whole. An input that goes leaves no note sounding, and
/// Ctrl-C ends all notes. The summary at the end has the latency from the arrival of the last byte
/// of a message to the end of its write.
///
/// A filter has keys joined by commas: channels=1-4+10, kinds=notes+bend, transpose=-12,
/// move=1:10+2:11 (from channel 1 to 10, from 2 to 11).
///
/// Example: tactus midi thru pty:/tmp/keys /dev/snd/midiC0D0 --filter channels=1,transpose=12
#[derive(Args)]
pub(super) struct ThruArguments {
    /// Input: pty, pty:LINK, the path of a device, jack, or jack:CLIENT; several are possible
    #[arg(value_name = "INPUT", required = true, num_args = 1..)]
    inputs: Vec<PortSpec>,
    /// Output: pty, pty:LINK, the path of a device, jack, or jack:CLIENT
    #[arg(value_name = "OUTPUT", required = true)]
    output: PortSpec,
    /// What passes, and how it is changed
    #[arg(long, value_name = "FILTER", default_value = "", hide_default_value = true)]
    filter: Filter,
    /// Bits a second of the output, or unpaced: as fast as it takes bytes. A MIDI cable has 31250
    #[arg(long, value_name = "RATE", default_value = "unpaced")]
    rate: Rate,
    /// Leave out status bytes that do not change: chords take up to a third less time on a cable
    #[arg(long)]
    running_status: bool,
    /// How long to run [default: until Ctrl-C]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    duration: Option<Nanos>,
    #[command(flatten)]
    thread: ThreadArguments,
    /// Print the summary as JSON; durations are in nanoseconds
    #[arg(long)]
    json: bool,
}

/// How long a slow output may take for the last messages.
const PATIENCE: Nanos = Nanos::from_secs(2);

pub(super) fn run(arguments: &ThruArguments) -> CommandResult {
    let quietness = arguments.thread.quietness;
    let inputs = arguments.inputs.iter().map(|spec| open_input(spec, quietness));
    let mut inputs = inputs.collect::<CommandResult<Vec<_>>>()?;
    let has_running_status = arguments.running_status;
    let line = LineOptions { rate: arguments.rate, has_running_status };
    let sink = open_output(&arguments.output, line, quietness)?;
    let handle = ended_by_signal()?;
    let mut thru = Thru::new(arguments.filter, sink);
    let until = arguments.duration.map(|duration| clock::now::<Monotonic>() + duration);
    let thread = arguments.thread.spawn(move || {
        let ended = attend(&mut inputs, &handle, until, &mut thru);
        thru.end(inputs.len(), PATIENCE);
        let latency = Distribution::of(thru.latency());
        ended.map(|_| Summary { counts: thru.counts(), latency })
    })?;
    let summary = joined(thread).map_err(CommandError::internal)?;
    if arguments.json {
        return Ok(write_line(&summary)?);
    }
    Ok(writeln!(stdout(), "{}", summary.text())?)
}

#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    counts: ThruCounts,
    /// From the arrival of the last byte to the end of the write.
    latency: Option<Distribution>,
}

impl Summary {
    fn text(&self) -> String {
        let counts = &self.counts;
        let mut text = format!(
            "{} in, {} out",
            format::counted(counts.messages, "message"),
            format::count(counts.delivered)
        );
        let parts = [
            (counts.filtered, "left out by the filter"),
            (counts.failed, "refused by the output"),
            (counts.lost, "lost because the output is too slow"),
            (counts.problems, "pieces of bytes that are no messages"),
        ];
        for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!(", {} {what}", format::count(count)));
        }
        if let Some(latency) = &self.latency {
            text.push_str(&format!("; latency {latency}"));
        }
        text
    }
}
