//! The listener of a run: shows progress, and writes lines of JSON.

use std::io;
use std::sync::Arc;

use clap::Args;
use tactus_app::BuildListener;
use tactus_app::cluster::NoticeListener;
use tactus_app::measure::Listener;
use tactus_lab::event::Event;
use tactus_lab::target::Stopper;
use tactus_model::result::Shortfall;

use crate::building::Building;
use crate::error::CommandResult;
use crate::json_lines::JsonLines;
use crate::progress::Progress;
use crate::quietness::Quietness;
use crate::signals::on_interrupt;
use crate::terminal::{say, shortfall_text};

/// How a command that carries out runs prints them.
#[derive(Args, Clone, Copy)]
pub(crate) struct EventOptions {
    /// Print events and results as JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) quietness: Quietness,
}

impl EventOptions {
    /// The listener that prints so.
    pub(crate) fn listener(self) -> RunListener {
        RunListener::new(self.json, self.quietness)
    }
}

/// Shows the progress of runs and, with `json`, writes their events as lines of JSON. An
/// interrupt stops a run.
pub(crate) struct RunListener {
    progress: Progress,
    quietness: Quietness,
    verdict_follows: bool,
    lines: Option<JsonLines>,
}

impl RunListener {
    /// Shows nothing until the first event.
    pub(crate) fn new(json: bool, quietness: Quietness) -> Self {
        Self {
            progress: Progress::new(quietness),
            quietness,
            verdict_follows: false,
            lines: json.then(JsonLines::default),
        }
    }

    /// Leaves fixes to the verdict, which is printed after the run, if `verdict_follows`.
    #[must_use]
    pub(crate) fn before_verdict(self, verdict_follows: bool) -> Self {
        Self { verdict_follows, ..self }
    }

    /// Fails if an event could not be written.
    pub(crate) fn end(self) -> CommandResult {
        let error = self.lines.and_then(|lines| lines.error);
        error.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl Listener for RunListener {
    fn begins(&mut self, stopper: &Stopper) -> io::Result<()> {
        let progress = Progress::new(self.quietness);
        self.progress = if self.verdict_follows { progress.without_fixes() } else { progress };
        let stopper = stopper.clone();
        on_interrupt(move |_| stopper.stop())
    }

    fn on_event(&mut self, event: &Event<'_>) {
        if let Some(lines) = &mut self.lines {
            lines.write(event);
        }
        self.progress.show(event);
    }

    fn lacks(&self, shortfall: &Shortfall) {
        say!("{}", shortfall_text(shortfall).trim_end());
    }

    fn building(&self) -> BuildListener {
        // Lines of JSON contain only the events of the run.
        let building = Building::new(false, self.quietness);
        Box::new(move |event| building.show(event))
    }

    fn cluster(&self) -> NoticeListener {
        let show = self.progress.printer();
        let quietness = self.quietness;
        Arc::new(move |notice| {
            if notice.is_warning() || !quietness.is_quiet() {
                show(&notice.to_string());
            }
        })
    }
}
