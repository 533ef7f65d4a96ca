//! The command that is recorded, and what is printed about a recording.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use tactus_model::recording::AbsentEvent;
use tactus_record::RecordingSummary;
use tactus_record::live::{Control, RecordEvent};
use tactus_report::format;

use crate::error::{CommandError, CommandResult};
use crate::signals::{self, on_interrupt};
use crate::terminal::{say, shortfall_text};

/// The control of a recording that the first interrupt stops. A signal from a process is passed
/// on to the command.
pub(crate) fn interruptible() -> io::Result<Control> {
    let control = Control::new();
    let stopper = control.stopper();
    on_interrupt(move |request| match request.by_process {
        true => stopper.interrupt(request.signal),
        false => stopper.stop(),
    })?;
    Ok(control)
}

/// The recorded command, if there is one.
#[derive(Default)]
pub(crate) struct RecordedCommand {
    process: Option<u32>,
    ended: Option<ExitStatus>,
}

impl RecordedCommand {
    /// Prints the events of a recording, and notes what becomes of the command. At its start,
    /// `hint` says how to stop it.
    pub(crate) fn take(&mut self, event: &RecordEvent, hint: Option<&str>) {
        match event {
            RecordEvent::Started(_) => hint.iter().for_each(|hint| say!("{hint}")),
            RecordEvent::CommandStarted { process } => self.process = Some(*process),
            RecordEvent::CommandEnded(status) => {
                if !status.success() {
                    say!("the command {}", failure_text(*status));
                }
                self.ended = Some(*status);
            }
        }
    }

    /// After an interrupt, waits for the command; fails as it does.
    pub(crate) fn end(mut self, control: &Control) -> CommandResult {
        if self.process.is_some() && self.ended.is_none() && signals::exit_code().is_some() {
            say!("waiting for the command to end; press Ctrl-C to leave it running");
            self.ended = control.wait_for_command();
        }
        self.say_if_it_continues();
        match self.ended {
            // After a signal, the exit code is that of the signal.
            Some(status) if signals::exit_code().is_none() => succeeded(status),
            _ => Ok(()),
        }
    }

    pub(crate) fn say_if_it_continues(&self) {
        if let (Some(process), None) = (self.process, self.ended) {
            say!("the command continues as process {process}");
        }
    }
}

/// The end of the command as our own.
fn succeeded(status: ExitStatus) -> CommandResult {
    let code = status.code().map(|code| u8::try_from(code).unwrap_or(u8::MAX));
    match code.or(status.signal().map(signals::code_of)) {
        None | Some(0) => Ok(()),
        Some(code) => Err(CommandError::CommandFailed(code)),
    }
}

/// How a command failed, after "the command".
fn failure_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (code, _) => format!("exited with status {}", code.unwrap_or_default()),
    }
}

/// The events that were not recorded, each reason once; `None` if all were recorded.
fn absent_text(absent: &[AbsentEvent]) -> Option<String> {
    let reasons: BTreeSet<&str> = absent.iter().map(|event| event.reason.as_str()).collect();
    let groups = reasons.into_iter().map(|reason| {
        let events = absent.iter().filter(|event| event.reason == reason);
        let names: Vec<&str> = events.map(|event| event.event.as_str()).collect();
        format!("{} ({reason})", names.join(", "))
    });
    let text = groups.collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then_some(text)
}

/// How many events are missing: those that did not fit the buffers, and those that the kernel
/// counted and did not write.
fn missing_text(lost: u64, unwritten: u64) -> String {
    let all = format::count(lost + unwritten);
    match (lost, unwritten) {
        (_, 0) => format!("lost {all}"),
        (0, _) => format!("lost {all}, which the kernel counted and did not write"),
        _ => format!(
            "lost {all}: {} did not fit the buffers, {} were counted by the kernel and not written",
            format::count(lost),
            format::count(unwritten)
        ),
    }
}

/// Prints the summary of a recording.
pub(crate) fn print_summary(summary: &RecordingSummary) {
    let cost = &summary.cost;
    say!(
        "recorded {} in {}, {}; reading them used {} of CPU time",
        format::counted(cost.events, "event"),
        format::latency(summary.length()),
        missing_text(summary.lost(), summary.unwritten()),
        format::latency(cost.drain_time),
    );
    if let Some(absent) = absent_text(&summary.absent) {
        say!("not recorded: {absent}");
    }
    for shortfall in &summary.shortfalls {
        say!("{}", shortfall_text(shortfall).trim_end());
    }
}
