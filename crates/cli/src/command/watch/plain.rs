//! The monitor as lines, for pipes, files and terminals that are none.

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

/// A line of `--json`.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Line<'a> {
    /// The window opens.
    Opened { cell: &'a Cell, seed: u64, cpus: &'a [u32] },
    /// Something was not granted.
    Shortfall {
        #[serde(flatten)]
        shortfall: &'a Shortfall,
    },
    /// The kernel's events are recorded from now on.
    Recording,
    /// They cannot be, or not any longer.
    NotRecorded { reason: &'a str, fix: Option<&'a str> },
    /// A late sample, explained.
    Late {
        /// The CPU of its task.
        cpu: Option<u32>,
        #[serde(flatten)]
        sample: &'a ExplainedSample,
    },
    /// The second that ended `at` since the window opened.
    Second {
        at: Nanos,
        #[serde(flatten)]
        figures: &'a StretchFigures,
    },
    /// Everything since the window opened.
    Total {
        at: Nanos,
        #[serde(flatten)]
        figures: &'a StretchFigures,
    },
}

/// Watches `cell` until its window is over or an interrupt comes. Where a latency is given,
/// the kernel's events are recorded, and samples later than that are explained.
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
        // Nobody waits any more when it is over.
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
        watch.tell_total(length)?;
    }
    Ok(())
}

/// How long is slept between two looks while nothing is measured yet.
const PATIENCE: Duration = Duration::from_millis(20);
const SECOND: Nanos = Nanos::from_secs(1);
/// How many times the last causes are looked for, [`PATIENCE`] apart.
const LAST_LOOKS: u32 = 100;

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

/// What finds out why samples are late.
struct Why {
    causes: Causes,
    threshold: Nanos,
    /// The newest samples, once the window is open.
    lately: Option<Lately>,
}

impl Watch<'_> {
    /// Waits until the window opens; `None` when it was interrupted before.
    fn wait_for_opening(&mut self) -> CommandResult<Option<Instant<Monotonic>>> {
        loop {
            for event in self.samples.events() {
                match event {
                    LiveEvent::Shortfall(shortfall) => self.tell_shortfall(&shortfall)?,
                    LiveEvent::Opened { opened, threads } => {
                        let sleep = self.cell.probe.timer().sleep;
                        if let Some(why) = &mut self.why {
                            why.lately = Some(Lately::new(sleep, opened, &threads));
                        }
                        self.tell_opening()?;
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

    /// Tells every second, and gives how long was watched.
    fn seconds(&mut self, opened: Instant<Monotonic>) -> CommandResult<Nanos> {
        let window = self.cell.duration;
        let mut at = Nanos::ZERO;
        loop {
            // The last second of a window may be a part of one.
            at = (at + SECOND).min(window);
            let left = (opened + at) - clock::now::<Monotonic>();
            let stopped = self.is_stopped_within(left.into());
            self.look()?;
            if stopped {
                return Ok((clock::now::<Monotonic>() - opened).min(window));
            }
            self.tell_second(at)?;
            self.explain_causes()?;
            if at == window {
                self.tell_last_causes()?;
                return Ok(window);
            }
        }
    }

    /// Takes what was measured since.
    fn look(&mut self) -> CommandResult {
        for event in self.samples.events() {
            match event {
                LiveEvent::Batch(batch) => {
                    if let Some(lately) = self.why.as_mut().and_then(|why| why.lately.as_mut()) {
                        lately.take(&batch);
                    }
                    self.figures.take(&batch, |_, _| {});
                }
                LiveEvent::Shortfall(shortfall) => self.tell_shortfall(&shortfall)?,
                LiveEvent::Failed { reason, hint } => return Err(failed(reason, hint)),
                LiveEvent::Opened { .. } | LiveEvent::Ended => {}
            }
        }
        Ok(())
    }

    fn is_stopped_within(&self, time: Duration) -> bool {
        !matches!(self.stopped.recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }

    fn tell_opening(&self) -> CommandResult {
        let Self { cell, seed, cpus, .. } = self;
        if self.json {
            return Ok(write_line(&Line::Opened { cell, seed: *seed, cpus })?);
        }
        Ok(writeln!(io::stdout(), "{}", plain_header())?)
    }

    fn tell_second(&mut self, at: Nanos) -> CommandResult {
        let figures = &self.figures.end_second();
        if self.json {
            return Ok(write_line(&Line::Second { at, figures })?);
        }
        Ok(writeln!(io::stdout(), "{}", plain_line(at, figures, &self.cpus))?)
    }

    fn tell_total(&self, at: Nanos) -> CommandResult {
        let figures = &self.figures.whole();
        if self.json {
            return Ok(write_line(&Line::Total { at, figures })?);
        }
        Ok(writeln!(io::stdout(), "{}", plain_total(at, figures, &self.cpus))?)
    }

    /// Tells what was found of the samples that were asked about, and asks about those since.
    fn explain_causes(&mut self) -> CommandResult {
        let Some(why) = &mut self.why else { return Ok(()) };
        let events = why.causes.events();
        if let Some(lately) = why.lately.as_mut().filter(|_| why.causes.is_free())
            && let Some(tasks) = lately.late(clock::now::<Monotonic>(), why.threshold)
        {
            why.causes.request(tasks, why.threshold);
        }
        events.iter().try_for_each(|event| self.tell_cause(event))
    }

    /// Waits a little for what was asked last, and for what came after it.
    fn tell_last_causes(&mut self) -> CommandResult {
        for _ in 0..LAST_LOOKS {
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

    fn tell_cause(&self, event: &CauseEvent) -> CommandResult {
        match event {
            CauseEvent::Recording if self.json => write_line(&Line::Recording)?,
            CauseEvent::Recording => {}
            CauseEvent::Unavailable { reason, fix } => {
                let fix = fix.as_deref();
                if self.json {
                    write_line(&Line::NotRecorded { reason, fix })?;
                }
                eprintln!("late samples cannot be explained: {reason}");
                if let Some(fix) = fix {
                    eprintln!("to fix it: {fix}");
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

    fn tell_shortfall(&self, shortfall: &Shortfall) -> CommandResult {
        if self.json {
            write_line(&Line::Shortfall { shortfall })?;
        }
        eprintln!("asked for {}, got {}: {}", shortfall.asked, shortfall.granted, shortfall.reason);
        if let Some(fix) = &shortfall.fix {
            eprintln!("to fix it: {fix}");
        }
        Ok(())
    }
}

fn failed(reason: String, hint: Option<String>) -> CommandError {
    Error::new(ErrorKind::Unavailable, reason).with_hint_if_any(hint).into()
}
