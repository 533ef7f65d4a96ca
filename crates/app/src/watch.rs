//! Watching a cell while it is measured.

use tactus_explain::Origin;
use tactus_lab::causes::{CauseEvent, Causes, Lately};
use tactus_lab::live::{LiveEvent, LiveSamples};
use tactus_model::cell::Cell;
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides};
use tactus_model::settings::Layer;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_monitor::WatchEvent;
use tactus_sys::clock;

use crate::error::OrError;
use crate::{Error, ErrorKind, Places, Result, plan};

/// The default duration: practically without end.
const WITHOUT_END: Nanos = Nanos::from_secs(100 * 365 * 24 * 3600);

/// The cell of the settings; without a duration, its window does not end.
///
/// # Errors
/// The settings contradict each other, or name a guest, which cannot be watched.
pub fn cell(settings: &Layer) -> Result<Cell> {
    let overrides = Overrides { settings: settings.clone(), ..Overrides::default() };
    let mut cells = Experiment::parse(DEFAULTS)?.plan(&overrides)?.cells;
    let mut cell = cells.swap_remove(0);
    if cell.target.guest().is_some() {
        return Err(Error::usage("cannot watch a guest")
            .with_hint("measure in a guest with: tactus measure --kernel KERNEL"));
    }
    plan::require_cpus(std::slice::from_ref(&cell), settings)?;
    if settings.values("duration").is_none() {
        cell.duration = WITHOUT_END;
    }
    Ok(cell)
}

/// A cell that is watched, and the recorder that explains its late samples.
///
/// Each runs in a process of its own, which ends when this is dropped, or with the thread that
/// started it.
#[derive(Debug)]
pub struct Watch<'p> {
    places: &'p Places,
    cell: Cell,
    seed: u64,
    /// The latency above which a sample is explained.
    threshold: Nanos,
    /// `None` if nothing is measured.
    samples: Option<LiveSamples>,
    opened: Option<Instant<Monotonic>>,
    /// The newest samples, after the window opened.
    lately: Option<Lately>,
    /// `None` if kernel events are not recorded.
    causes: Option<Causes>,
}

impl<'p> Watch<'p> {
    /// Prepares to watch `cell` and to explain samples later than `threshold`; starts nothing.
    pub fn new(places: &'p Places, cell: Cell, seed: u64, threshold: Nanos) -> Self {
        let (samples, opened, lately, causes) = (None, None, None, None);
        Self { places, cell, seed, threshold, samples, opened, lately, causes }
    }

    /// The cell.
    pub fn cell(&self) -> &Cell {
        &self.cell
    }

    /// The seed of random intervals.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// When the window opened, or opens soon; `None` before the event.
    pub fn opened(&self) -> Option<Instant<Monotonic>> {
        self.opened
    }

    /// Starts measuring. A previous measurement ends first.
    ///
    /// # Errors
    /// The measuring process cannot be started.
    pub fn start(&mut self) -> Result<()> {
        (self.samples, self.opened, self.lately) = (None, None, None);
        let executable = self.places.executable()?;
        let samples = LiveSamples::start(executable, &["internal", "live"], &self.cell, self.seed)
            .or_error(ErrorKind::Unavailable, || "cannot start measuring".to_owned())?;
        self.samples = Some(samples);
        Ok(())
    }

    /// Measures another cell.
    ///
    /// # Errors
    /// See [`Self::start`].
    pub fn change(&mut self, cell: Cell) -> Result<()> {
        self.cell = cell;
        self.start()
    }

    /// Starts or stops recording kernel events.
    ///
    /// # Errors
    /// The recording process cannot be started.
    pub fn record(&mut self, record: bool) -> Result<()> {
        self.causes = None;
        if record {
            let executable = self.places.executable()?;
            let causes = Causes::start(executable, &["internal", "causes"], &self.cell)
                .or_error(ErrorKind::Unavailable, || "cannot start recording".to_owned())?;
            self.causes = Some(causes);
        }
        Ok(())
    }

    /// The events of the measurement since the last call; never waits.
    pub fn sample_events(&mut self) -> Vec<WatchEvent> {
        let events = self.samples.as_mut().map(LiveSamples::events).unwrap_or_default();
        events.into_iter().map(|event| self.take(event)).collect()
    }

    fn take(&mut self, event: LiveEvent) -> WatchEvent {
        match event {
            LiveEvent::Shortfall(shortfall) => WatchEvent::Shortfall(shortfall),
            LiveEvent::Opened { opened, threads } => {
                self.opened = Some(opened);
                let origin = match self.cell.probe.midi() {
                    Some(_) => Origin::Received,
                    None => Origin::Due(self.cell.probe.timer().sleep),
                };
                self.lately = Some(Lately::new(origin, opened, &threads));
                let cpus = self.samples.as_ref().map_or(&[][..], LiveSamples::cpus).to_vec();
                WatchEvent::Opened { cpus }
            }
            LiveEvent::Batch(batch) => {
                if let (Some(lately), Some(_)) = (&mut self.lately, &self.causes) {
                    lately.take(&batch);
                }
                WatchEvent::Batch(batch)
            }
            LiveEvent::Ended => WatchEvent::Ended,
            LiveEvent::Failed { reason, hint } => WatchEvent::Failed { reason, hint },
        }
    }

    /// The events of the recorder since the last call; never waits.
    pub fn cause_events(&mut self) -> Vec<WatchEvent> {
        let events = self.causes.as_mut().map(Causes::events).unwrap_or_default();
        let event = |event| match event {
            CauseEvent::Recording => WatchEvent::Recording,
            CauseEvent::Unavailable { reason, fix } => WatchEvent::NotRecorded { reason, fix },
            CauseEvent::Explained { samples } => WatchEvent::Explained(samples),
        };
        events.into_iter().map(event).collect()
    }

    /// Whether the recorder has not answered the last request.
    pub fn is_explaining(&self) -> bool {
        self.causes.as_ref().is_some_and(Causes::is_busy)
    }

    /// Requests the causes of the samples that were late since the last request.
    ///
    /// Returns false, and requests nothing, while the recorder is not ready.
    pub fn request_causes(&mut self) -> bool {
        let (Some(causes), Some(lately)) = (&mut self.causes, &mut self.lately) else {
            return false;
        };
        let free = causes.is_free();
        if free && let Some(tasks) = lately.late(clock::now::<Monotonic>(), self.threshold) {
            causes.request(tasks, self.threshold);
        }
        free
    }
}
