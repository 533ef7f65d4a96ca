//! `tactus streams`: asks the delivery server.

use std::path::PathBuf;

use clap::Args;
use tactus_app::{Error, ErrorKind};
use tactus_model::format;
use tactus_model::time::Nanos;
use tactus_stream::message::{ClientStatus, Counts, DeviceStatus, InputStatus, Status};
use tactus_stream::{ConnectError, SOCKET, status};

use crate::error::{CommandError, CommandResult};
use crate::status::{Columns, print_status};

/// Print what the delivery server delivers: its devices, its clients, and how early items arrive.
///
/// The server is tactus streamd. Any user may ask. The error of a device is how much later than due
/// deliveries began, since the start. The slack of a client is how early its items arrived at the
/// queue of their device in the last minute; lead is how far ahead of its time it should submit an
/// item.
///
/// Example: tactus streams --watch
#[derive(Args)]
pub(crate) struct StreamsArguments {
    /// Socket of the server
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    /// Print it again every so often until Ctrl-C [default: 1s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "1s")]
    watch: Option<Nanos>,
    /// Print JSON: one object, or with --watch one a line; durations are in nanoseconds
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &StreamsArguments) -> CommandResult {
    loop {
        let found = status(&arguments.socket).map_err(not_answered)?;
        let is_repeated = arguments.watch.is_some();
        print_status(arguments.json, is_repeated, &found, || text(&found))?;
        match arguments.watch {
            Some(every) => std::thread::sleep(every.into()),
            None => return Ok(()),
        }
    }
}

fn not_answered(error: ConnectError) -> CommandError {
    let error = Error::new(ErrorKind::Unavailable, error);
    error.with_hint("is the server running? start it by tactus streamd").into()
}

const DEVICES: Columns<7> = Columns([
    ("device", 12),
    ("what", 20),
    ("streams", 7),
    ("waiting", 8),
    ("delivered", 10),
    ("error p50", 10),
    ("p99", 10),
]);

const CLIENTS: Columns<10> = Columns([
    ("client", 16),
    ("process", 8),
    ("user", 6),
    ("streams", 7),
    ("waiting", 8),
    ("delivered", 10),
    ("late", 6),
    ("dropped", 8),
    ("slack p1", 10),
    ("lead", 10),
]);

const INPUTS: Columns<6> = Columns([
    ("input", 12),
    ("what", 20),
    ("listeners", 9),
    ("messages", 10),
    ("problems", 8),
    ("lost", 6),
]);

/// The status for people: a headline, a row for each device, and a row for each client.
fn text(status: &Status) -> String {
    let Counts { accepted, delivered, .. } = status.total;
    let mut text = format!(
        "{}; {} accepted in {}: {} delivered, {} late, {} dropped\n",
        format::counted(status.clients.len() as u64, "client"),
        format::counted(accepted, "item"),
        format::span(status.running),
        format::count(delivered),
        format::count(status.total.late),
        format::count(dropped(&status.total)),
    );
    text.push_str(&DEVICES.header());
    for device in &status.devices {
        text.push_str(&DEVICES.row(device_cells(device)));
    }
    if !status.clients.is_empty() {
        text.push_str(&CLIENTS.header());
    }
    for client in &status.clients {
        text.push_str(&CLIENTS.row(client_cells(client)));
    }
    if !status.inputs.is_empty() {
        text.push_str(&INPUTS.header());
    }
    for input in &status.inputs {
        text.push_str(&INPUTS.row(input_cells(input)));
    }
    for shortfall in &status.shortfalls {
        text.push_str(&format!("warning: {}\n", format::printable(shortfall)));
    }
    text
}

/// Items that were not delivered, but for those that were late.
const fn dropped(counts: &Counts) -> u64 {
    counts.failed + counts.cut + counts.closed + counts.refused + counts.unknown
}

fn device_cells(status: &DeviceStatus) -> [String; 7] {
    let DeviceStatus { info, streams, waiting, delivered, error } = status;
    [
        format::quoted(&info.name),
        format::quoted(&info.spec),
        streams.to_string(),
        waiting.to_string(),
        delivered.to_string(),
        format::latency_or_nothing(error.map(|error| error.p50)),
        format::latency_or_nothing(error.map(|error| error.p99)),
    ]
}

fn client_cells(status: &ClientStatus) -> [String; 10] {
    let ClientStatus { name, process, user, streams, waiting, counts, slack, .. } = status;
    [
        format::quoted(name),
        process.to_string(),
        user.to_string(),
        streams.to_string(),
        waiting.to_string(),
        counts.delivered.to_string(),
        counts.late.to_string(),
        dropped(counts).to_string(),
        format::latency_or_nothing(slack.map(|slack| slack.p1)),
        format::latency_or_nothing(slack.map(|slack| slack.recommended_lead())),
    ]
}

fn input_cells(status: &InputStatus) -> [String; 6] {
    let InputStatus { name, spec, listeners, messages, problems, lost, is_gone } = status;
    [
        format::quoted(name),
        if *is_gone { "gone".to_owned() } else { format::quoted(spec) },
        listeners.to_string(),
        messages.to_string(),
        problems.to_string(),
        lost.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use tactus_stream::message::{DeviceInfo, Errors};
    use tactus_stream::{ClientId, Format, Slack};

    use super::*;

    #[test]
    fn the_status_says_what_is_delivered_and_how_early_items_come() {
        let us = Nanos::from_micros;
        let info = DeviceInfo {
            name: "null".to_owned(),
            spec: "measure".to_owned(),
            format: Format::Midi,
            lead: Nanos::ZERO,
        };
        let error = Errors { p50: us(3), p99: us(12), p999: us(20), max: us(40) };
        let device =
            DeviceStatus { info, streams: 1, waiting: 2, delivered: 100, error: Some(error) };
        let counts = Counts { accepted: 105, delivered: 100, late: 2, cut: 1, ..Counts::default() };
        let slack = Slack { items: 105, late: 2, p1: us(900), least: us(0), needed: us(150) };
        let client = ClientStatus {
            client: ClientId(1),
            name: "player".to_owned(),
            process: 4711,
            user: 1000,
            streams: 1,
            waiting: 2,
            items: 1024,
            counts,
            slack: Some(slack),
        };
        let status = Status {
            running: Nanos::from_secs(5),
            devices: vec![device],
            clients: vec![client],
            inputs: Vec::new(),
            total: counts,
            shortfalls: vec!["fifo:80: not permitted".to_owned()],
        };
        assert_eq!(
            text(&status).replace('\u{202f}', " "),
            "1 client; 105 items accepted in 5 s: 100 delivered, 2 late, 1 dropped\n\
             device        what                  streams  waiting   delivered   error p50   p99\n\
             null          measure               1        2         100         3.00 µs     12.0 µs\n\
             client            process   user    streams  waiting   delivered   late    dropped   slack p1    lead\n\
             player            4711      1000    1        2         100         2       1         900 µs      300 µs\n\
             warning: fifo:80: not permitted\n"
        );
    }
}
