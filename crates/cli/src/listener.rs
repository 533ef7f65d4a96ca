//! The listener of a run: a person reads its progress, a program lines of JSON.

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

/// Shows runs to a person and, where they are asked for, writes their events as lines of
/// JSON. An interrupt stops them.
pub(crate) struct RunListener {
    progress: Progress,
    lines: Option<JsonLines>,
}

impl RunListener {
    pub(crate) fn new(json: bool) -> Self {
        Self { progress: Progress::new(), lines: json.then(JsonLines::default) }
    }

    /// Fails when an event could not be written.
    pub(crate) fn end(self) -> CommandResult {
        let error = self.lines.and_then(|lines| lines.error);
        error.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl Listener for RunListener {
    fn begins(&mut self, stopper: &Stopper) -> io::Result<()> {
        self.progress = Progress::new();
        let stopper = stopper.clone();
        on_interrupt(move || stopper.stop())
    }

    fn hear(&mut self, event: &Event<'_>) {
        if let Some(lines) = &mut self.lines {
            lines.hear(event);
        }
        self.progress.hear(event);
    }

    fn building(&self) -> BuildListener {
        // Lines of JSON are for the events of the run alone.
        let building = Building::new(false);
        Box::new(move |event| building.hear(event))
    }
}
