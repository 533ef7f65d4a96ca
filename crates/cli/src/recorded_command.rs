//! The command that is recorded, and what is printed about a recording.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use tactus_model::recording::AbsentEvent;
use tactus_record::RecordingSummary;
use tactus_record::live::{Control, RecordEvent};
use tactus_report::format;

use crate::error::{CommandError, CommandResult};
use crate::quietness::Quietness;
use crate::signals::{self, on_each_interrupt};
use crate::terminal::{say, shortfall_text};

/// The control of a recording that the first interrupt stops. A signal from a process is passed
/// on to the command. A signal after the recording cuts the work of its reader short.
pub(crate) fn interruptible() -> io::Result<Control> {
    let control = Control::new();
    let (stopper, mut is_first) = (control.stopper(), true);
    on_each_interrupt(move |request| {
        let was_first = std::mem::take(&mut is_first);
        if stopper.cut_short() {
            return true;
        }
        match request.by_process {
            true => stopper.interrupt(request.signal),
            false => stopper.stop(),
        }
        was_first
    })?;
    Ok(control)
}

/// The recorded command, if there is one.
pub(crate) struct RecordedCommand {
    quietness: Quietness,
    process: Option<u32>,
    ended: Option<ExitStatus>,
}

impl RecordedCommand {
    pub(crate) const fn new(quietness: Quietness) -> Self {
        Self { quietness, process: None, ended: None }
    }

    /// Prints the events of a recording, and notes what becomes of the command. At its start,
    /// `hint` says how to stop it.
    pub(crate) fn take(&mut self, event: &RecordEvent, hint: Option<&str>) {
        match event {
            RecordEvent::Started(_) => {
                hint.iter().for_each(|hint| self.quietness.note(format_args!("{hint}")));
            }
            RecordEvent::ReaderWorks => {
                say!("explaining the end of the recording; Ctrl-C writes what is known by then");
            }
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

    pub(crate) const fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    pub(crate) fn say_if_it_continues(&self) {
        if let (Some(process), None) = (self.process, self.ended) {
            say!("the command continues as process {process}");
        }
    }
}

/// The end of the command as our own.
pub(crate) fn succeeded(status: ExitStatus) -> CommandResult {
    let code = status.code().map(|code| u8::try_from(code).unwrap_or(u8::MAX));
    match code.or(status.signal().map(signals::code_of)) {
        None | Some(0) => Ok(()),
        Some(code) => Err(CommandError::CommandFailed(code)),
    }
}

/// How a command failed, after "the command".
pub(crate) fn failure_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (code, _) => format!("exited with status {}", code.unwrap_or_default()),
    }
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
pub(crate) fn print_summary(summary: &RecordingSummary, quietness: Quietness) {
    let cost = &summary.cost;
    quietness.note(format_args!(
        "recorded {} in {}, {}; reading them used {} of CPU time",
        format::counted(cost.events, "event"),
        format::latency(summary.length()),
        missing_text(summary.lost(), summary.unwritten()),
        format::latency(cost.drain_time),
    ));
    if summary.lost() > 0 {
        say!(
            "warning: lost {}; waits and CPU time around the gaps may be wrong",
            format::counted(summary.lost(), "event")
        );
    }
    if let Some(missing) = missing_events(&summary.absent) {
        quietness.note(format_args!("{missing}"));
    }
    for shortfall in &summary.shortfalls {
        say!("{}", shortfall_text(shortfall).trim_end());
    }
}

/// The events that were not recorded, with the effect, in a line; `None` if there are none. An
/// interrupt without an event in the kernel is not missing: the machine does not have it.
fn missing_events(absent: &[AbsentEvent]) -> Option<String> {
    let mut of_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for AbsentEvent { event, reason } in absent {
        let interrupt = event.starts_with("irq_vectors/");
        if !(interrupt && reason == AbsentEvent::NOT_IN_KERNEL) {
            of_reason.entry(reason).or_default().push(event);
        }
    }
    let listed: Vec<String> = of_reason
        .into_iter()
        .map(|(reason, events)| format!("{}: {reason}", events.join(", ")))
        .collect();
    let listed = (!listed.is_empty()).then(|| listed.join("; "))?;
    Some(format!("events not recorded, so latency that they cause is not explained: {listed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_events_are_one_line_without_those_of_other_machines() {
        let absent = |event: &str, reason: &str| AbsentEvent {
            event: event.to_owned(),
            reason: reason.to_owned(),
        };
        let amd = absent("irq_vectors/threshold_apic_entry", AbsentEvent::NOT_IN_KERNEL);
        assert_eq!(missing_events(std::slice::from_ref(&amd)), None);
        let refused = absent("irq_vectors/irq_work_exit", "perf refuses it");
        let lacking = absent("sched/sched_stat_runtime", AbsentEvent::NOT_IN_KERNEL);
        assert_eq!(
            missing_events(&[amd, refused, lacking]).unwrap(),
            "events not recorded, so latency that they cause is not explained: \
             irq_vectors/irq_work_exit: perf refuses it; \
             sched/sched_stat_runtime: this kernel does not have the event"
        );
    }
}
