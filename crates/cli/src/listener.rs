//! The listener of a run: shows progress, and writes lines of JSON.

use std::io;

use tactus_app::BuildListener;
use tactus_app::measure::Listener;
use tactus_lab::event::Event;
use tactus_lab::target::Stopper;

use crate::building::Building;
use crate::error::CommandResult;
use crate::json_lines::JsonLines;
use crate::progress::Progress;
use crate::signals::on_interrupt;

/// Shows the progress of runs and, with `json`, writes their events as lines of JSON. An
/// interrupt stops a run.
pub(crate) struct RunListener {
    progress: Progress,
    quiet: bool,
    lines: Option<JsonLines>,
}

impl RunListener {
    /// With `quiet`, failures and shortfalls remain.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self { progress: Progress::new(quiet), quiet, lines: json.then(JsonLines::default) }
    }

    /// Fails if an event could not be written.
    pub(crate) fn end(self) -> CommandResult {
        let error = self.lines.and_then(|lines| lines.error);
        error.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl Listener for RunListener {
    fn begins(&mut self, stopper: &Stopper) -> io::Result<()> {
        self.progress = Progress::new(self.quiet);
        let stopper = stopper.clone();
        on_interrupt(move |_| stopper.stop())
    }

    fn on_event(&mut self, event: &Event<'_>) {
        if let Some(lines) = &mut self.lines {
            lines.write(event);
        }
        self.progress.show(event);
    }

    fn building(&self) -> BuildListener {
        // Lines of JSON contain only the events of the run.
        let building = Building::new(false);
        Box::new(move |event| building.show(event))
    }
}
