//! `tactus qos`: asks the QoS manager.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tactus_app::{Error, ErrorKind};
use tactus_model::format;
use tactus_model::time::Nanos;
use tactus_qos::{Connection, Constraint, NotAnswered, ReserveStatus, SOCKET, Status};

use crate::error::{CommandError, CommandResult};
use crate::status::{Columns, print_status};

/// Ask the QoS manager who has CPU time, and why.
///
/// The manager is tactus qosd. Any user may ask.
///
/// Example: tactus qos status --watch
#[derive(Args)]
pub(crate) struct QosArguments {
    #[command(subcommand)]
    question: QosCommand,
}

#[derive(Subcommand)]
enum QosCommand {
    Status(StatusArguments),
}

/// Print all reserves: who has what, of which range, and what limits it.
///
/// The last column says why a grant is not larger: `request` (it is the most that was asked for),
/// `measured use` (it adapts), `user` (the share of the user is full), `machine` (the share that may
/// be reserved is full), or `kernel` (other programs hold deadline bandwidth).
///
/// Example: tactus qos status --json
#[derive(Args)]
struct StatusArguments {
    /// Socket of the manager
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    /// Print it again every so often until Ctrl-C [default: 1s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "1s")]
    watch: Option<Nanos>,
    /// Print JSON: one object, or with --watch one a line; durations are in nanoseconds
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &QosArguments) -> CommandResult {
    let QosCommand::Status(arguments) = &arguments.question;
    let mut manager = Connection::open(&arguments.socket).map_err(not_answered)?;
    let Some(every) = arguments.watch else {
        let status = manager.status().map_err(not_answered)?;
        return print(arguments, &status);
    };
    for status in manager.watch_status(every).map_err(not_answered)? {
        print(arguments, &status.map_err(not_answered)?)?;
    }
    Ok(())
}

fn print(arguments: &StatusArguments, status: &Status) -> CommandResult {
    print_status(arguments.json, arguments.watch.is_some(), status, || text(status))
}

fn not_answered(error: NotAnswered) -> CommandError {
    let error = Error::new(ErrorKind::Unavailable, error);
    error.with_hint("is the manager running? start it by tactus qosd").into()
}

/// The columns of the table and their least widths.
const COLUMNS: Columns<8> = Columns([
    ("reserve", 7),
    ("thread", 8),
    ("name", 16),
    ("user", 6),
    ("granted", 20),
    ("asked", 22),
    ("weight", 6),
    ("limited by", 12),
]);

/// The status for people: a headline, and a row for each reserve.
fn text(status: &Status) -> String {
    let share = |cpus: f64| format::cpus(cpus);
    let mut text = format!(
        "{} of a CPU granted of {} that may be reserved on {}; minima {}, returning {}; {}\n",
        share(status.granted),
        share(status.capacity),
        format::counted(status.cpus.into(), "CPU"),
        share(status.least),
        share(status.returning),
        format::counted(status.connections.into(), "connection"),
    );
    if status.reserves.is_empty() {
        return text + "no reserves\n";
    }
    text.push_str(&COLUMNS.table(status.reserves.iter().map(cells)));
    for reserve in status.reserves.iter().filter(|reserve| reserve.stuck > 0) {
        text.push_str(&format!(
            "stuck: the kernel had left thread {} throttled {}; the manager set its policy again\n",
            reserve.thread,
            format::counted(reserve.stuck.into(), "time"),
        ));
    }
    text
}

fn cells(status: &ReserveStatus) -> [String; 8] {
    let need = &status.need;
    let (granted, limited_by) = match &status.grant {
        Some(grant) => (format!("{}/{}", grant.cost, grant.period), words(grant.bound_by)),
        None => ("waits".to_owned(), "returns of others"),
    };
    let most = need.cost_max.unwrap_or(need.cost_min);
    let asked = match most == need.cost_min {
        true => need.cost_min.to_string(),
        false => format!("{}-{most}", need.cost_min),
    };
    [
        status.reserve.0.to_string(),
        status.thread.to_string(),
        format::quoted(&status.name),
        status.user.to_string(),
        granted,
        asked,
        status.importance.to_string(),
        limited_by.to_owned(),
    ]
}

const fn words(constraint: Constraint) -> &'static str {
    match constraint {
        Constraint::Request => "request",
        Constraint::MeasuredUse => "measured use",
        Constraint::User => "user",
        Constraint::Machine => "machine",
        Constraint::Reserves => "reserves",
        Constraint::Kernel => "kernel",
    }
}

#[cfg(test)]
mod tests {
    use tactus_qos::{Grant, Need, ReserveId};

    use super::*;

    #[test]
    fn the_status_says_who_has_what_and_why() {
        let ms = Nanos::from_millis;
        let grant = Grant {
            reserve: ReserveId(1),
            cost: ms(3),
            period: ms(10),
            deadline: ms(10),
            rung: "deadline".to_owned(),
            promise: String::new(),
            bound_by: Constraint::Machine,
            largest_cost: ms(4),
        };
        let need = Need { cost_max: Some(ms(4)), ..Need::new(ms(10), ms(2)) };
        let first = ReserveStatus {
            reserve: ReserveId(1),
            thread: 4711,
            name: "player".to_owned(),
            user: 1000,
            need,
            importance: 10,
            grant: Some(grant),
            measured: None,
            stuck: 0,
        };
        let second = ReserveStatus {
            reserve: ReserveId(2),
            name: "a\nb".to_owned(),
            grant: None,
            stuck: 1,
            ..first.clone()
        };
        let status = Status {
            cpus: 2,
            capacity: 1.5,
            least: 0.4,
            granted: 0.3,
            returning: 0.1,
            connections: 2,
            reserves: vec![first, second],
        };
        let text = text(&status).replace('\u{202f}', " ");
        assert_eq!(
            text,
            "30 % of a CPU granted of 150 % that may be reserved on 2 CPUs; minima 40 %, returning 10 %; 2 connections\n\
             reserve  thread    name              user    granted               asked                   weight  limited by\n\
             1        4711      player            1000    3ms/10ms              2ms-4ms                 10      machine\n\
             2        4711      a\\nb              1000    waits                 2ms-4ms                 10      returns of others\n\
             stuck: the kernel had left thread 4711 throttled 1 time; the manager set its policy again\n"
        );
    }
}
