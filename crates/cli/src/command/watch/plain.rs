//! The monitor as lines, for pipes, files and simple terminals.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::Serialize;
use tactus_app::watch::Watch;
use tactus_app::{Error, ErrorKind};
use tactus_explain::ExplainedSample;
use tactus_model::cell::Cell;
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_monitor::{
    LiveFigures, StretchFigures, WatchEvent, plain_cause, plain_header, plain_line, plain_total,
};
use tactus_sys::clock;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::signals::on_interrupt;
use crate::terminal::{say, shortfall_text, stdout};

/// A line of `--json`.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Line<'a> {
    /// The window opens.
    Opened { cell: &'a Cell, seed: u64, cpus: &'a [u32] },
    /// The machine did not grant a setting.
    Shortfall {
        #[serde(flatten)]
        shortfall: &'a Shortfall,
    },
    /// Kernel events are recorded from now on.
    Recording,
    /// Kernel events cannot be recorded, or not any longer.
    NotRecorded { reason: &'a str, fix: Option<&'a str> },
    /// A late sample, explained.
    Late {
        /// The CPU of its task.
        cpu: Option<u32>,
        #[serde(flatten)]
        sample: &'a ExplainedSample,
    },
    /// The figures of the second that ended at `at`, counted from the opening of the window.
    Second {
        at: Nanos,
        #[serde(flatten)]
        figures: &'a StretchFigures,
    },
    /// The figures since the window opened.
    Total {
        at: Nanos,
        #[serde(flatten)]
        figures: &'a StretchFigures,
    },
}

/// Watches until the window ends or an interrupt. With `causes`, records kernel events and
/// explains late samples.
pub(super) fn watch(mut watch: Watch<'_>, json: bool, causes: bool) -> CommandResult {
    let (sender, stopped) = channel();
    on_interrupt(move |_| {
        // At the end, the receiver may be gone.
        let _ = sender.send(());
    })?;
    watch.record(causes)?;
    watch.start()?;
    let mut lines = Lines { watch, json, cpus: Vec::new(), stopped, figures: LiveFigures::new() };
    if let Some(opened) = lines.wait_for_opening()? {
        let length = lines.seconds(opened)?;
        lines.print_total(length)?;
    }
    Ok(())
}

/// The time between two polls before the window opens.
const PATIENCE: Duration = Duration::from_millis(20);
const SECOND: Nanos = Nanos::from_secs(1);
/// How many times to poll for the last causes, [`PATIENCE`] apart.
const LAST_POLLS: u32 = 100;

/// The printer of lines.
struct Lines<'p> {
    watch: Watch<'p>,
    json: bool,
    /// The CPU of each task; empty until the window opens.
    cpus: Vec<u32>,
    stopped: Receiver<()>,
    figures: LiveFigures,
}

impl Lines<'_> {
    /// Waits until the window opens; `None` if it was interrupted before.
    fn wait_for_opening(&mut self) -> CommandResult<Option<Instant<Monotonic>>> {
        loop {
            self.receive()?;
            if self.watch.opened().is_some() || self.is_stopped_within(PATIENCE) {
                return Ok(self.watch.opened());
            }
        }
    }

    /// Prints every second, and returns how long it watched.
    fn seconds(&mut self, opened: Instant<Monotonic>) -> CommandResult<Nanos> {
        let window = self.watch.cell().duration;
        let mut at = Nanos::ZERO;
        loop {
            // The last second of a window may be shorter.
            at = (at + SECOND).min(window);
            let left = (opened + at) - clock::now::<Monotonic>();
            let stopped = self.is_stopped_within(left.into());
            self.receive()?;
            if stopped {
                return Ok((clock::now::<Monotonic>() - opened).min(window));
            }
            self.print_second(at)?;
            self.explain_causes()?;
            if at == window {
                self.print_last_causes()?;
                return Ok(window);
            }
        }
    }

    /// Handles the events of the measurement since the last call.
    fn receive(&mut self) -> CommandResult {
        self.watch.sample_events().into_iter().try_for_each(|event| self.handle(event))
    }

    fn handle(&mut self, event: WatchEvent) -> CommandResult {
        match event {
            WatchEvent::Opened { cpus } => {
                self.cpus = cpus;
                self.print_opening()?;
            }
            WatchEvent::Batch(batch) => self.figures.take(&batch, |_, _| {}),
            WatchEvent::Shortfall(shortfall) => self.print_shortfall(&shortfall)?,
            WatchEvent::Ended => {}
            WatchEvent::Failed { reason, hint } => {
                let error = Error::new(ErrorKind::Unavailable, reason);
                return Err(error.with_hint_if_any(hint).into());
            }
            WatchEvent::Recording if self.json => write_line(&Line::Recording)?,
            WatchEvent::Recording => {}
            WatchEvent::NotRecorded { reason, fix } => {
                self.print_not_recorded(&reason, fix.as_deref())?;
            }
            WatchEvent::Explained(samples) => {
                samples.iter().try_for_each(|sample| self.print_cause(sample))?;
            }
        }
        Ok(())
    }

    fn is_stopped_within(&self, time: Duration) -> bool {
        !matches!(self.stopped.recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }

    fn print_opening(&self) -> CommandResult {
        if self.json {
            let Self { watch, cpus, .. } = self;
            return Ok(write_line(&Line::Opened { cell: watch.cell(), seed: watch.seed(), cpus })?);
        }
        Ok(writeln!(stdout(), "{}", plain_header())?)
    }

    fn print_second(&mut self, at: Nanos) -> CommandResult {
        let figures = &self.figures.end_second();
        if self.json {
            return Ok(write_line(&Line::Second { at, figures })?);
        }
        Ok(writeln!(stdout(), "{}", plain_line(at, figures, &self.cpus))?)
    }

    fn print_total(&self, at: Nanos) -> CommandResult {
        let figures = &self.figures.whole();
        if self.json {
            return Ok(write_line(&Line::Total { at, figures })?);
        }
        Ok(writeln!(stdout(), "{}", plain_total(at, figures, &self.cpus))?)
    }

    /// Prints the explanations that arrived, and requests those of newer samples.
    fn explain_causes(&mut self) -> CommandResult {
        let events = self.watch.cause_events();
        self.watch.request_causes();
        events.into_iter().try_for_each(|event| self.handle(event))
    }

    /// Waits a short time for the last explanations.
    fn print_last_causes(&mut self) -> CommandResult {
        for _ in 0..LAST_POLLS {
            if !self.watch.is_explaining() || self.is_stopped_within(PATIENCE) {
                break;
            }
            self.explain_causes()?;
        }
        Ok(())
    }

    fn print_not_recorded(&self, reason: &str, fix: Option<&str>) -> CommandResult {
        if self.json {
            write_line(&Line::NotRecorded { reason, fix })?;
        }
        say!("warning: cannot explain late samples: {reason}");
        if let Some(fix) = fix {
            say!("fix: {fix}");
        }
        Ok(())
    }

    fn print_cause(&self, sample: &ExplainedSample) -> CommandResult {
        let cpu = self.cpus.get(sample.task as usize).copied();
        if self.json {
            return Ok(write_line(&Line::Late { cpu, sample })?);
        }
        Ok(writeln!(stdout(), "{}", plain_cause(sample, cpu))?)
    }

    fn print_shortfall(&self, shortfall: &Shortfall) -> CommandResult {
        if self.json {
            write_line(&Line::Shortfall { shortfall })?;
        }
        say!("{}", shortfall_text(shortfall).trim_end());
        Ok(())
    }
}
