//! Watching a cell while it is measured.

use tactus_lab::causes::Causes;
use tactus_lab::live::LiveSamples;
use tactus_model::cell::Cell;
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides};
use tactus_model::settings::Layer;
use tactus_model::time::Nanos;

use crate::error::OrError;
use crate::{Error, ErrorKind, Places, Result};

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
        return Err(Error::usage("tactus watch cannot watch a guest; leave out --kernel")
            .with_hint("measure in a guest with: tactus lab measure --kernel KERNEL"));
    }
    if settings.values("duration").is_none() {
        cell.duration = WITHOUT_END;
    }
    Ok(cell)
}

/// Starts measuring in a process of its own.
///
/// # Errors
/// It cannot be started.
pub fn start(places: &Places, cell: &Cell, seed: u64) -> Result<LiveSamples> {
    LiveSamples::start(places.executable()?, &["internal", "live"], cell, seed)
        .or_error(ErrorKind::Unavailable, || "cannot start measuring".to_owned())
}

/// Starts recording kernel events in a process of its own.
///
/// # Errors
/// It cannot be started.
pub fn start_recording(places: &Places, cell: &Cell) -> Result<Causes> {
    Causes::start(places.executable()?, &["internal", "causes"], cell)
        .or_error(ErrorKind::Unavailable, || "cannot start recording".to_owned())
}
