//! `tactus reserve`: runs a program under a reserve.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tactus_app::{Error, reserve};
use tactus_model::reserve::{Capacity, RefusedRung, ReserveUsage, Rung};
use tactus_report::{format, reserve_text};
use tactus_reserve::program::{Change, Control, Event, Share, Threads, Wanted, Which};

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
/// tactus reserve --threads audio=2ms/10ms,video=5ms/40ms -- ./player;
/// tactus reserve --adjust 4711 4ms/10ms
#[derive(Args)]
pub(crate) struct ReserveArguments {
    /// CPU time and period of each thread: C/T or C/T:D; needed unless --threads gives each its own
    #[arg(value_name = "CAPACITY")]
    capacity: Option<Capacity>,
    /// Change the capacity of a program that runs under `tactus reserve`, by its process ID
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "rung", "exclusive", "lock_memory", "page"])]
    adjust: Option<u32>,
    /// Threads that get the capacity, each its own: main (the first), all, or names separated by
    /// commas, e.g. audio,video; a name can have its own capacity: main=1ms/10ms,audio=2ms/10ms
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
    let shares = arguments.shares()?;
    if let Some(process) = arguments.adjust {
        return adjust(process, &arguments.threads, &shares, arguments.quietness);
    }
    let wanted = arguments.wanted(shares)?;
    let control = Control::new();
    let interrupter = control.interrupter();
    // A signal from the terminal reaches the program too.
    on_interrupt(move |request| {
        if request.by_process {
            interrupter.interrupt(request.signal);
        }
    })?;
    let on_event = |event| print_event(&event, arguments);
    let (usage, status) = reserve::run(&wanted, arguments.page.as_deref(), control, on_event)?;
    let did_not_run = matches!(status.code(), Some(126 | 127)) && usage.threads.len() < 2;
    if arguments.json {
        write_line(&Result { usage: &usage, exit_code: status.code() })?;
    } else if !did_not_run {
        write!(stdout(), "{}", reserve_text(&usage, &table_options()))?;
    }
    // What was measured is printed by now, whatever becomes of the page.
    let page = arguments.page.as_deref().map(|path| reserve::write_page(path, &usage));
    match (page, succeeded(status)) {
        (Some(Err(error)), Ok(())) => Err(error.into()),
        (Some(Err(error)), failed) => {
            say!("error: {error}");
            failed
        }
        (_, ended) => ended,
    }
}

/// Changes the capacities of a running program.
fn adjust(
    process: u32,
    threads: &Threads,
    shares: &[Share],
    quietness: Quietness,
) -> CommandResult {
    for Share { which, capacity } in shares {
        let thread = match which {
            Which::Named(name) => Some(name.clone()),
            Which::Main if matches!(threads, Threads::Named(_)) => Some("main".to_owned()),
            Which::All | Which::Main => None,
        };
        let change = Change { thread, capacity: *capacity };
        reserve::adjust(process, &change)?;
        quietness.note(format_args!("{}", changed(&format!("process {process}"), &change)));
    }
    Ok(())
}

/// That a program has another capacity now.
fn changed(program: &str, change: &Change) -> String {
    let Change { thread, capacity } = change;
    match thread {
        Some(name) => {
            format!("{program} has {capacity} for its threads `{}` now", format::printable(name))
        }
        None => format!("{program} has {capacity} now"),
    }
}

impl ReserveArguments {
    fn shares(&self) -> CommandResult<Vec<Share>> {
        let shares = self.threads.shares(self.capacity);
        Ok(shares.map_err(|error| {
            Error::usage(error.to_string())
                .with_hint("tactus reserve 3ms/10ms …, or --threads NAME=3ms/10ms")
        })?)
    }

    fn wanted(&self, shares: Vec<Share>) -> CommandResult<Wanted> {
        if let (Some(cpu), false) = (self.exclusive, self.permits(Rung::Partitioned)) {
            let rungs: Vec<&str> = self.rung.iter().map(|rung| rung.word()).collect();
            let message = format!("CPU {cpu} cannot be set aside by rung {}", rungs.join(", "));
            let hint = "leave out --rung, or add --rung partitioned";
            return Err(Error::usage(message).with_hint(hint).into());
        }
        let rungs = Rung::ALL.iter().copied().filter(|rung| self.permits(*rung)).collect();
        Ok(Wanted {
            command: self.command.clone(),
            shares,
            rungs,
            exclusive: self.exclusive,
            lock_memory: self.lock_memory,
        })
    }

    /// What its process gets, after its number. Threads with a name get it when they have the name.
    fn what_it_gets(&self) -> String {
        let given = self.shares().unwrap_or_default();
        let each: Vec<String> = given
            .iter()
            .map(|Share { which, capacity }| match which {
                Which::Main if given.len() == 1 => format!(" has {capacity}"),
                Which::Main => format!(" {capacity} for its first thread"),
                Which::All => format!(" has {capacity} for each thread"),
                Which::Named(name) => {
                    format!(" {capacity} for threads named `{}`", format::printable(name))
                }
            })
            .collect();
        match &*given {
            [Share { which: Which::All | Which::Main, .. }] => each.concat(),
            _ => format!(" gets{}", each.join(",")),
        }
    }

    /// Whether to try a rung.
    fn permits(&self, rung: Rung) -> bool {
        match &*self.rung {
            [] => rung != Rung::Partitioned || self.exclusive.is_some(),
            asked => asked.contains(&rung),
        }
    }
}

fn print_event(event: &Event, arguments: &ReserveArguments) {
    match event {
        Event::Started { process, rung, refused, largest_cost, is_adjustable } => {
            for refused in refused {
                say!("{}", refusal(refused));
            }
            if let Some((cost, first)) = largest_cost.zip(arguments.shares().ok()) {
                let period = first[0].capacity.period();
                say!("hint: the largest cost in {period} that fits now is {cost}");
            }
            let promise = rung.promise();
            arguments.quietness.note(format_args!(
                "process {process}{} by rung {rung}: {promise}",
                arguments.what_it_gets()
            ));
            if !is_adjustable {
                arguments
                    .quietness
                    .note(format_args!("its capacity cannot be changed by --adjust"));
            }
        }
        Event::Warning(text) => say!("warning: {text}"),
        Event::Granted { thread, name, capacity } => {
            arguments
                .quietness
                .note(format_args!("thread {thread} ({}) has {capacity}", format::printable(name)));
        }
        Event::Changed(change) => {
            arguments.quietness.note(format_args!("{}", changed("the program", change)));
        }
        Event::Ended(_) => {}
    }
}

fn refusal(refused: &RefusedRung) -> String {
    let RefusedRung { rung, reason, fix } = refused;
    let fix = fix.as_ref().map(|fix| format!(". fix: {fix}")).unwrap_or_default();
    format!("warning: rung {rung} is refused: {reason}{fix}")
}
