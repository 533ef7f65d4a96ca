//! `tactus lint`: what the real-time threads of a program do that they must not.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use clap::Args;
use tactus_app::lint::{Answer, News, Question, Watched, lint};
use tactus_app::{Error, ErrorKind};
use tactus_model::recording::THREAD_NAME_MAX;
use tactus_model::text::nearest;
use tactus_model::time::Nanos;
use tactus_model::violation::{CodePlace, LintReport};
use tactus_report::{format, violations_text};
use tactus_sys::pidfd::PidFd;
use tactus_sys::process::wait_for_any_child;

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::recorded_command::{failure_text, succeeded};
use crate::signals::{self, on_each_interrupt};
use crate::terminal::{say, stdout, table_options};
use crate::values::{positive, process_id};

/// Show what the real-time code of a program does that it must not, with file and line.
///
/// It watches threads while a program runs, and lists the system calls, page faults and contended
/// locks in their real-time sections. A section begins when the thread returns from the system
/// call in which it waits for its next period, and ends when it waits again. The wait is the call
/// in which it sleeps longest; --until names it. What the thread does before its first wait and
/// after its last is in no section.
///
/// Each violation is reported at the innermost line of the program itself, also if a library made
/// the system call; the program needs debug information for that (`-g`). It need not be linked with
/// Tactus. Memory that the allocator has in stock is not seen: that needs the library tactus-lint.
///
/// It ends when the command and all processes that it started have ended, after --duration, or at an
/// interrupt, which it passes on to the command.
///
/// It needs root or CAP_PERFMON. Without, it sees at most page faults in user mode. The exit code
/// is 1 if there are violations or sections were watched only in part, 3 if something could not be
/// seen, otherwise that of the command; after a signal, it is that of the signal. --accept-partial
/// accepts what was not seen.
///
/// Examples: tactus lint --thread servo -- ./my-program; tactus lint --pid 812 --allow ppoll --duration 10s
#[derive(Args)]
pub(crate) struct LintArguments {
    /// Watch only threads with this name or thread ID; may be repeated [default: all threads]
    #[arg(long, value_name = "NAME|NUMBER", value_parser = thread_word)]
    thread: Vec<String>,
    /// Watch this process and its children; may be repeated
    #[arg(long, value_name = "PID", conflicts_with = "command", value_parser = process_id("`pgrep NAME` prints it"))]
    pid: Vec<u32>,
    /// System call that sections may make; may be repeated [default: none]
    #[arg(long, value_name = "CALL")]
    allow: Vec<String>,
    /// System call in which the threads wait for their next period [default: found for each thread]
    #[arg(long, value_name = "CALL|CALL@FILE:LINE")]
    until: Option<String>,
    /// Pass also if sections, threads or kinds of violations were not or only partly watched
    #[arg(long)]
    accept_partial: bool,
    /// How long to watch [default: until the program ends or an interrupt]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    duration: Option<Nanos>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
    /// Command to run and watch, after `--`
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "pid")]
    command: Vec<OsString>,
}

pub(crate) fn run(arguments: &LintArguments) -> CommandResult {
    let (stop, process) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    stop_on_interrupt(stop.clone(), process.clone())?;
    let quietness = arguments.quietness;
    let mut answer = lint(&arguments.question(), &stop, |news| match news {
        News::Started(number) => process.store(number, Ordering::SeqCst),
        News::Watching { name, thread } => {
            quietness.note(format_args!("watching {} ({thread})", format::printable(&name)));
        }
        News::Ended { status, has_left } => {
            process.store(0, Ordering::SeqCst);
            if !status.success() {
                say!("the command {}", failure_text(status));
            }
            if has_left {
                let hint = "watching the processes that it started until they end, or Ctrl-C";
                quietness.note(format_args!("the command has ended; {hint}"));
            }
        }
    })?;
    shorten(&mut answer);
    let printed = print(&answer, arguments);
    let outcome = outcome(&answer, arguments);
    let running = process.load(Ordering::SeqCst);
    if signals::exit_code().is_some() {
        // The exit code is that of the signal: the check has not come to its end.
        if let Err(error) = outcome {
            let _ = error.report();
        }
        await_end(running);
        return Ok(());
    }
    if running != 0 {
        say!("the command continues as process {running}");
    }
    // A failed check counts more than a reader that closes the output.
    outcome.and(printed)
}

/// After an interrupt, waits for the command if it still runs: `process`, or 0.
fn await_end(process: u32) {
    if process != 0 {
        say!("waiting for the command to end; press Ctrl-C to leave it running");
        while wait_for_any_child().is_ok_and(|(ended, _)| ended != process) {}
    }
}

/// Parses the name or the number of a thread.
fn thread_word(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("the name is empty; without --thread, all threads are watched".to_owned());
    }
    if text.len() > THREAD_NAME_MAX {
        let end = (0..=THREAD_NAME_MAX).rfind(|end| text.is_char_boundary(*end));
        let kept = &text[..end.unwrap_or(0)];
        return Err(format!(
            "names of threads have at most {THREAD_NAME_MAX} bytes; of `{text}`, the kernel keeps `{kept}`"
        ));
    }
    Ok(text.to_owned())
}

impl LintArguments {
    fn question(&self) -> Question {
        Question {
            command: self.command.clone(),
            processes: self.pid.clone(),
            threads: self.thread.clone(),
            allowed: self.allow.clone(),
            wait: self.until.clone(),
            duration: self.duration,
        }
    }
}

/// The first interrupt ends the watching. One from a process is passed on to the command, which
/// the terminal's own reaches too.
fn stop_on_interrupt(stop: Arc<AtomicBool>, process: Arc<AtomicU32>) -> std::io::Result<()> {
    on_each_interrupt(move |request| {
        let command = process.load(Ordering::SeqCst);
        if request.by_process && command != 0 {
            // A command that has just ended gets none.
            let _ = PidFd::of_process(command).map(|command| command.send(request.signal));
        }
        !stop.swap(true, Ordering::SeqCst)
    })
}

/// Shows paths below the present directory as relative ones.
fn shorten(answer: &mut Answer) {
    let Ok(here) = std::env::current_dir() else { return };
    let places = answer.report.violations.iter_mut().map(|violation| &mut violation.at);
    let waits = answer.threads.iter_mut().filter_map(|thread| thread.at.as_mut());
    for CodePlace { file, .. } in places.chain(waits) {
        let below = file.as_ref().and_then(|file| Path::new(file).strip_prefix(&here).ok());
        if let Some(below) = below.map(|below| below.display().to_string()) {
            *file = Some(below);
        }
    }
}

fn print(answer: &Answer, arguments: &LintArguments) -> CommandResult {
    if arguments.json {
        return Ok(write_line(answer)?);
    }
    if answer.report.sections > 0 || !answer.report.is_clean() {
        write!(stdout(), "{}", violations_text(&answer.report, &table_options()))?;
    }
    for thread in answer.threads.iter().chain(&answer.elsewhere) {
        arguments.quietness.note(format_args!("{}", waits(thread)));
    }
    Ok(())
}

/// Where a thread waits, in a sentence.
fn waits(thread: &Watched) -> String {
    let name = format::printable(&thread.name);
    let Some((call, at)) = thread.wait.as_ref().zip(thread.at.as_ref()) else {
        return format!("{name}: a section is any time awake");
    };
    let period = match thread.period {
        Some(period) => format!(", every {}", format::latency(period.length)),
        None if thread.sections == 0 => String::new(),
        None => ", and returns too irregularly here to see a period".to_owned(),
    };
    format!("{name} waits in {call} ({}){period}", format::printable(&at.to_string()))
}

/// The end of the command; violations count more than its own exit code.
fn outcome(answer: &Answer, arguments: &LintArguments) -> CommandResult {
    if let Some(name) = answer.unseen_names.first() {
        let others: Vec<&str> = answer.others.iter().map(String::as_str).collect();
        let hint = match nearest(name, &others) {
            Some(other) => format!("did you mean `{other}`?"),
            None if others.is_empty() => "no other thread was seen".to_owned(),
            None => format!("seen: {}", format::printable(&others.join(", "))),
        };
        return Err(CommandError::usage(format!("no thread `{name}` was seen; {hint}")));
    }
    let report = &answer.report;
    if !report.is_clean() {
        let least = if report.is_whole() { "" } else { "at least " };
        let count = format::counted(report.count(), "violation");
        return Err(CommandError::not_met(format!("{least}{count} in real-time sections")));
    }
    if report.sections == 0 {
        // A clean result that watched nothing would pass every gate.
        let call = arguments.until.as_ref().map(|call| format!("`{call}`"));
        let call = call.as_deref().unwrap_or("the same call");
        let elsewhere = answer.elsewhere.first().map(|thread| format!("; {}", waits(thread)));
        return Err(CommandError::not_met(format!(
            "no section was seen: no watched thread waited twice in {call}{}",
            elsewhere.unwrap_or_default()
        )));
    }
    if !arguments.accept_partial {
        complete(report)?;
    }
    answer.ended.map_or(Ok(()), succeeded)
}

/// What accepts a check in part.
const ACCEPT: &str = "--accept-partial accepts it";

/// Fails if threads were never watched. That one is watched some milliseconds after it began is
/// usual, and reported.
fn watched_threads(report: &LintReport) -> CommandResult {
    if report.missed_threads == 0 {
        return Ok(());
    }
    let missed = format::counted(report.missed_threads, "thread");
    Err(CommandError::not_met(format!("{missed} never watched; {ACCEPT}")))
}

/// Fails if a violation could have gone unseen.
fn complete(report: &LintReport) -> CommandResult {
    if !report.has_whole_sections() {
        let count = format::counted(report.interrupted + report.lost, "section");
        return Err(CommandError::not_met(format!(
            "{count} not watched from begin to end; {ACCEPT}"
        )));
    }
    let Some(unseen) = report.unseen.first() else { return watched_threads(report) };
    let error = format!("{} not seen: {}", unseen.asked, unseen.reason);
    let hint = match &unseen.fix {
        Some(fix) => format!("{fix}; {ACCEPT}"),
        None => ACCEPT.to_owned(),
    };
    Err(Error::new(ErrorKind::Unavailable, error).with_hint(hint).into())
}

#[cfg(test)]
mod tests {
    use tactus_model::result::Shortfall;

    use super::*;

    /// The exit of a clean report: 0, 1 or 3.
    fn exit(report: &LintReport) -> u8 {
        match complete(report) {
            Ok(()) => 0,
            Err(CommandError::NotMet(_)) => 1,
            Err(CommandError::Failed(error)) if error.kind() == ErrorKind::Unavailable => 3,
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_report_passes_only_if_all_was_seen() {
        let report = LintReport { sections: 9, ..LintReport::default() };
        assert_eq!(exit(&report), 0);
        assert_eq!(exit(&LintReport { interrupted: 1, ..report.clone() }), 1);
        assert_eq!(exit(&LintReport { lost: 1, ..report.clone() }), 1);
        assert_eq!(exit(&LintReport { late_threads: 1, ..report.clone() }), 0);
        assert_eq!(exit(&LintReport { missed_threads: 1, ..report.clone() }), 1);
        let unseen = Shortfall {
            asked: "system calls".to_owned(),
            granted: "page faults".to_owned(),
            reason: "CAP_PERFMON is not held".to_owned(),
            fix: None,
        };
        assert_eq!(exit(&LintReport { unseen: vec![unseen], ..report }), 3);
    }
}
