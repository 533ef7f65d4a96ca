//! The monitor as lines, for pipes, files and simple terminals.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::Serialize;
use tactus_app::watch::{start, start_recording};
use tactus_app::{Error, ErrorKind, Places};
use tactus_explain::ExplainedSample;
use tactus_lab::causes::{CauseEvent, Causes, Lately};
use tactus_lab::live::{LiveEvent, LiveSamples};
use tactus_model::cell::Cell;
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_monitor::{
    LiveFigures, StretchFigures, plain_cause, plain_header, plain_line, plain_total,
};
use tactus_sys::clock;

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::signals::on_interrupt;
use crate::terminal::shortfall_text;

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

/// Watches `cell` until its window ends or an interrupt. With `explain_beyond`, records kernel
/// events and explains later samples.
pub(super) fn watch(
    places: &Places,
    cell: &Cell,
    seed: u64,
    json: bool,
    explain_beyond: Option<Nanos>,
) -> CommandResult {
    let cpus = tactus_probe::places(cell).map_err(CommandError::internal)?;
    let (sender, stopped) = channel();
    on_interrupt(move || {
        // At the end, the receiver may be gone.
        let _ = sender.send(());
    })?;
    let why = match explain_beyond {
        Some(threshold) => {
            Some(Why { causes: start_recording(places, cell)?, threshold, lately: None })
        }
        None => None,
    };
    let samples = start(places, cell, seed)?;
    let figures = LiveFigures::new();
    let mut watch = Watch { cell, seed, json, cpus, samples, stopped, figures, why };
    if let Some(opened) = watch.wait_for_opening()? {
        let length = watch.seconds(opened)?;
        watch.print_total(length)?;
    }
    Ok(())
}

/// The time between two polls before the window opens.
const PATIENCE: Duration = Duration::from_millis(20);
const SECOND: Nanos = Nanos::from_secs(1);
/// How many times to poll for the last causes, [`PATIENCE`] apart.
const LAST_POLLS: u32 = 100;

struct Watch<'a> {
    cell: &'a Cell,
    seed: u64,
    json: bool,
    /// The CPU of each task.
    cpus: Vec<u32>,
    samples: LiveSamples,
    stopped: Receiver<()>,
    figures: LiveFigures,
    why: Option<Why>,
}

/// The process that explains late samples.
struct Why {
    causes: Causes,
    threshold: Nanos,
    /// The newest samples, after the window opened.
    lately: Option<Lately>,
}

impl Watch<'_> {
    /// Waits until the window opens; `None` if it was interrupted before.
    fn wait_for_opening(&mut self) -> CommandResult<Option<Instant<Monotonic>>> {
        loop {
            for event in self.samples.events() {
                match event {
                    LiveEvent::Shortfall(shortfall) => self.print_shortfall(&shortfall)?,
                    LiveEvent::Opened { opened, threads } => {
                        let sleep = self.cell.probe.timer().sleep;
                        if let Some(why) = &mut self.why {
                            why.lately = Some(Lately::new(sleep, opened, &threads));
                        }
                        self.print_opening()?;
                        return Ok(Some(opened));
                    }
                    LiveEvent::Failed { reason, hint } => return Err(failed(reason, hint)),
                    LiveEvent::Batch(_) | LiveEvent::Ended => {}
                }
            }
            if self.is_stopped_within(PATIENCE) {
                return Ok(None);
            }
        }
    }

    /// Prints every second, and returns how long it watched.
    fn seconds(&mut self, opened: Instant<Monotonic>) -> CommandResult<Nanos> {
        let window = self.cell.duration;
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

    /// Receives the samples since the last call.
    fn receive(&mut self) -> CommandResult {
        for event in self.samples.events() {
            match event {
                LiveEvent::Batch(batch) => {
                    if let Some(lately) = self.why.as_mut().and_then(|why| why.lately.as_mut()) {
                        lately.take(&batch);
                    }
                    self.figures.take(&batch, |_, _| {});
                }
                LiveEvent::Shortfall(shortfall) => self.print_shortfall(&shortfall)?,
                LiveEvent::Failed { reason, hint } => return Err(failed(reason, hint)),
                LiveEvent::Opened { .. } | LiveEvent::Ended => {}
            }
        }
        Ok(())
    }

    fn is_stopped_within(&self, time: Duration) -> bool {
        !matches!(self.stopped.recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }

    fn print_opening(&self) -> CommandResult {
        let Self { cell, seed, cpus, .. } = self;
        if self.json {
            return Ok(write_line(&Line::Opened { cell, seed: *seed, cpus })?);
        }
        Ok(writeln!(io::stdout(), "{}", plain_header())?)
    }

    fn print_second(&mut self, at: Nanos) -> CommandResult {
        let figures = &self.figures.end_second();
        if self.json {
            return Ok(write_line(&Line::Second { at, figures })?);
        }
        Ok(writeln!(io::stdout(), "{}", plain_line(at, figures, &self.cpus))?)
    }

    fn print_total(&self, at: Nanos) -> CommandResult {
        let figures = &self.figures.whole();
        if self.json {
            return Ok(write_line(&Line::Total { at, figures })?);
        }
        Ok(writeln!(io::stdout(), "{}", plain_total(at, figures, &self.cpus))?)
    }

    /// Prints the explanations that arrived, and requests those of newer samples.
    fn explain_causes(&mut self) -> CommandResult {
        let Some(why) = &mut self.why else { return Ok(()) };
        let events = why.causes.events();
        if let Some(lately) = why.lately.as_mut().filter(|_| why.causes.is_free())
            && let Some(tasks) = lately.late(clock::now::<Monotonic>(), why.threshold)
        {
            why.causes.request(tasks, why.threshold);
        }
        events.iter().try_for_each(|event| self.print_cause(event))
    }

    /// Waits a short time for the last explanations.
    fn print_last_causes(&mut self) -> CommandResult {
        for _ in 0..LAST_POLLS {
            if self.why.as_ref().is_none_or(|why| why.causes.is_free()) {
                break;
            }
            if self.is_stopped_within(PATIENCE) {
                break;
            }
            self.explain_causes()?;
        }
        Ok(())
    }

    fn print_cause(&self, event: &CauseEvent) -> CommandResult {
        match event {
            CauseEvent::Recording if self.json => write_line(&Line::Recording)?,
            CauseEvent::Recording => {}
            CauseEvent::Unavailable { reason, fix } => {
                let fix = fix.as_deref();
                if self.json {
                    write_line(&Line::NotRecorded { reason, fix })?;
                }
                eprintln!("warning: cannot explain late samples: {reason}");
                if let Some(fix) = fix {
                    eprintln!("fix: {fix}");
                }
            }
            CauseEvent::Explained { samples } => {
                for sample in samples {
                    let cpu = self.cpus.get(sample.task as usize).copied();
                    if self.json {
                        write_line(&Line::Late { cpu, sample })?;
                    } else {
                        writeln!(io::stdout(), "{}", plain_cause(sample, cpu))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn print_shortfall(&self, shortfall: &Shortfall) -> CommandResult {
        if self.json {
            write_line(&Line::Shortfall { shortfall })?;
        }
        eprint!("{}", shortfall_text(shortfall));
        Ok(())
    }
}

fn failed(reason: String, hint: Option<String>) -> CommandError {
    Error::new(ErrorKind::Unavailable, reason).with_hint_if_any(hint).into()
}
