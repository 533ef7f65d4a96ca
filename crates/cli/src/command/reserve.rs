//! `tactus reserve`: runs a program under a reserve.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tactus_app::reserve;
use tactus_model::reserve::{Capacity, RefusedRung, ReserveUsage, Rung};
use tactus_report::reserve_text;
use tactus_reserve::program::{Control, Event, Threads, Wanted};

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::recorded_command::succeeded;
use crate::signals::on_interrupt;
use crate::terminal::{say, stdout, table_options};

/// Run a program with guaranteed CPU time.
///
/// CAPACITY is the CPU time in every period, e.g. 3ms/10ms, or 3ms/10ms:8ms with a deadline. The
/// program gets it by the best mechanism (rung) that the machine permits, which the output names
/// with its promise: partitioned, deadline, group, priority, weight, measured. Each rung is tried;
/// a refused one is named with its reason and fix. The use in every period is read until the program
/// ends (docs/reserve.md).
///
/// The exit code is that of the program, 128 plus the signal if a signal ended it, 127 if it does
/// not exist, 126 if it cannot be executed, or 3 if no rung grants the capacity. SIGTERM and SIGHUP
/// are passed on. If tactus is killed (SIGKILL), the program continues without its reserve.
///
/// Examples: tactus reserve 3ms/10ms --page use.html -- ./control;
/// tactus reserve --adjust 4711 4ms/10ms
#[derive(Args)]
pub(crate) struct ReserveArguments {
    /// CPU time and period of each thread: C/T or C/T:D
    #[arg(value_name = "CAPACITY")]
    capacity: Capacity,
    /// Change the capacity of a program that runs under `tactus reserve`, by its process ID
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "threads", "rung", "exclusive", "lock_memory", "page"])]
    adjust: Option<u32>,
    /// Threads that get the capacity, each its own: main, all, or names separated by commas
    #[arg(long, value_name = "THREADS", default_value = "main")]
    threads: Threads,
    /// Use only this rung; may be repeated [default: the best that is permitted]
    #[arg(long, value_name = "RUNG")]
    rung: Vec<Rung>,
    /// Set this CPU aside for the program (rung partitioned), with an exact test of all deadlines
    #[arg(long, value_name = "CPU")]
    exclusive: Option<u32>,
    /// Let the program lock any amount of memory (RLIMIT_MEMLOCK)
    ///
    /// A program locks its memory itself (mlockall); no other program can do that for it.
    #[arg(long)]
    lock_memory: bool,
    /// Also write a self-contained HTML page that plots the use over time
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print the use as JSON; durations are in nanoseconds
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
    /// Program to run, after `--`
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "adjust")]
    command: Vec<OsString>,
}

/// The result, for `--json`.
#[derive(Serialize)]
struct Result<'a> {
    #[serde(flatten)]
    usage: &'a ReserveUsage,
    /// The exit code of the program; absent if a signal ended it.
    exit_code: Option<i32>,
}

pub(crate) fn run(arguments: &ReserveArguments) -> CommandResult {
    if let Some(process) = arguments.adjust {
        reserve::adjust(process, arguments.capacity)?;
        let capacity = arguments.capacity;
        arguments.quietness.note(format_args!("process {process} has {capacity} now"));
        return Ok(());
    }
    let control = Control::new();
    let interrupter = control.interrupter();
    // A signal from the terminal reaches the program too.
    on_interrupt(move |request| {
        if request.by_process {
            interrupter.interrupt(request.signal);
        }
    })?;
    let wanted = arguments.wanted();
    let on_event = |event| print_event(&event, arguments);
    let (usage, status) = reserve::run(&wanted, arguments.page.as_deref(), control, on_event)?;
    let did_not_run = matches!(status.code(), Some(126 | 127)) && usage.threads.len() < 2;
    if arguments.json {
        write_line(&Result { usage: &usage, exit_code: status.code() })?;
    } else if !did_not_run {
        write!(stdout(), "{}", reserve_text(&usage, &table_options()))?;
    }
    succeeded(status)
}

impl ReserveArguments {
    fn wanted(&self) -> Wanted {
        let rungs: Vec<Rung> = match &*self.rung {
            [] => Rung::ALL
                .iter()
                .copied()
                .filter(|rung| *rung != Rung::Partitioned || self.exclusive.is_some())
                .collect(),
            asked => Rung::ALL.iter().copied().filter(|rung| asked.contains(rung)).collect(),
        };
        Wanted {
            command: self.command.clone(),
            capacity: self.capacity,
            threads: self.threads.clone(),
            rungs,
            exclusive: self.exclusive,
            lock_memory: self.lock_memory,
        }
    }
}

fn print_event(event: &Event, arguments: &ReserveArguments) {
    match event {
        Event::Started { process, rung, refused, largest_cost, is_adjustable } => {
            let capacity = arguments.capacity;
            for refused in refused {
                say!("{}", refusal(refused));
            }
            if let Some(cost) = largest_cost {
                say!("hint: the largest cost in {} that fits now is {cost}", capacity.period());
            }
            arguments.quietness.note(format_args!(
                "process {process} has {capacity} by rung {rung}: {}",
                rung.promise()
            ));
            if !is_adjustable {
                arguments
                    .quietness
                    .note(format_args!("its capacity cannot be changed by --adjust"));
            }
        }
        Event::Warning(text) => say!("warning: {text}"),
        Event::Changed(capacity) => {
            arguments.quietness.note(format_args!("the program has {capacity} now"));
        }
        Event::Ended(_) => {}
    }
}

fn refusal(refused: &RefusedRung) -> String {
    let RefusedRung { rung, reason, fix } = refused;
    let fix = fix.as_ref().map(|fix| format!(". fix: {fix}")).unwrap_or_default();
    format!("warning: rung {rung} is refused: {reason}{fix}")
}
