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
/// deliveries began, since the start. Items of a client are delivered, too late for their policy and
/// not delivered, failed at the device or refused, cut or closed, or unknown: they may have come
/// out. Of those delivered, "late" had arrived at the queue of their device too late to be in time.
/// The slack of a client is how early its items arrived there in the last minute; lead is how far
/// ahead of its time it should submit an item.
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

const CLIENTS: Columns<13> = Columns([
    ("client", 16),
    ("process", 8),
    ("user", 6),
    ("streams", 7),
    ("waiting", 8),
    ("delivered", 10),
    ("late", 6),
    ("too late", 8),
    ("failed", 6),
    ("cut/closed", 10),
    ("unknown", 7),
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
    let [delivered, late, too_late, failed, ended, unknown] =
        counted(&status.total).map(format::count);
    let mut text = format!(
        "{}; {} accepted in {}: {delivered} delivered ({late} late), {too_late} too late, \
         {failed} failed, {ended} cut or closed, {unknown} unknown\n",
        format::counted(status.clients.len() as u64, "client"),
        format::counted(status.total.accepted, "item"),
        format::span(status.running),
    );
    text.push_str(&DEVICES.table(status.devices.iter().map(device_cells)));
    if !status.clients.is_empty() {
        text.push_str(&CLIENTS.table(status.clients.iter().map(client_cells)));
    }
    if !status.inputs.is_empty() {
        text.push_str(&INPUTS.table(status.inputs.iter().map(input_cells)));
    }
    for shortfall in &status.shortfalls {
        text.push_str(&format!("warning: {}\n", format::printable(shortfall)));
    }
    text
}

/// Items that were delivered, those of them that arrived late, and items that were too late, failed,
/// were cut or closed, and are unknown.
const fn counted(counts: &Counts) -> [u64; 6] {
    let Counts { delivered, delivered_late, late, failed, refused, cut, closed, unknown, .. } =
        *counts;
    [delivered, delivered_late, late, failed + refused, cut + closed, unknown]
}

fn device_cells(status: &DeviceStatus) -> [String; 7] {
    let DeviceStatus { info, streams, waiting, delivered, error } = status;
    [
        format::quoted(&info.name),
        // Whole: it ends with the place where programs find the device.
        format::printable(&info.spec),
        streams.to_string(),
        waiting.to_string(),
        delivered.to_string(),
        format::latency_or_nothing(error.map(|error| error.p50)),
        format::latency_or_nothing(error.map(|error| error.p99)),
    ]
}

fn client_cells(status: &ClientStatus) -> [String; 13] {
    let ClientStatus { name, process, user, streams, waiting, counts, slack, .. } = status;
    let [delivered, late, too_late, failed, ended, unknown] =
        counted(counts).map(|count| count.to_string());
    [
        format::quoted(name),
        process.to_string(),
        user.to_string(),
        streams.to_string(),
        waiting.to_string(),
        delivered,
        late,
        too_late,
        failed,
        ended,
        unknown,
        format::latency_or_nothing(slack.map(|slack| slack.p1)),
        format::latency_or_nothing(slack.map(|slack| slack.recommended_lead())),
    ]
}

fn input_cells(status: &InputStatus) -> [String; 6] {
    let InputStatus { name, spec, listeners, messages, problems, lost, is_gone } = status;
    [
        format::quoted(name),
        if *is_gone { "gone".to_owned() } else { format::printable(spec) },
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
        let counts = Counts {
            accepted: 105,
            delivered: 100,
            delivered_late: 3,
            late: 2,
            cut: 1,
            ..Counts::default()
        };
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
            "1 client; 105 items accepted in 5 s: 100 delivered (3 late), 2 too late, 0 failed, \
             1 cut or closed, 0 unknown\n\
             device        what                  streams  waiting   delivered   error p50   p99\n\
             null          measure               1        2         100         3.00 µs     12.0 µs\n\
             client            process   user    streams  waiting   delivered   late    too late  failed  cut/closed  unknown  slack p1    lead\n\
             player            4711      1000    1        2         100         3       2         0       1           0        900 µs      300 µs\n\
             warning: fifo:80: not permitted\n"
        );
    }
}
