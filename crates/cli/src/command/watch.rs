//! `tactus watch`: the timing monitor.

mod plain;

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use tactus_lab::stream::SampleStream;
use tactus_model::cell::Cell;
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides};
use tactus_model::settings::Layer;
use tactus_model::time::Nanos;

use super::new_seed;
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::setting_options::SettingOptions;

/// Watch wakeups while they happen.
///
/// One cell is measured as by `measure`, in a process of its own, until it is ended;
/// its samples are looked at through shared memory. Nothing is kept.
#[derive(Args)]
pub(crate) struct WatchArguments {
    #[command(flatten)]
    settings: SettingOptions,
    /// The seed of random intervals
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write a line a second
    #[arg(long)]
    plain: bool,
    /// Write one JSON object a line: what happens, and every second's figures
    #[arg(long)]
    json: bool,
}

/// How long is watched unless a duration is given: without end.
const WITHOUT_END: Nanos = Nanos::from_secs(100 * 365 * 24 * 3600);

pub(crate) fn run(arguments: &WatchArguments) -> CommandResult {
    let cell = cell(&arguments.settings.0)?;
    let seed = arguments.seed.unwrap_or_else(new_seed);
    plain::watch(&cell, seed, arguments.json)
}

/// The cell that the options describe; its window has no end unless they say so.
fn cell(options: &Layer) -> CommandResult<Cell> {
    let experiment = Experiment::parse(DEFAULTS)?;
    let overrides = Overrides { settings: options.clone(), ..Overrides::default() };
    let mut cells = experiment.plan(&overrides)?.cells;
    let mut cell = cells.swap_remove(0);
    if options.values("duration").is_none() {
        cell.duration = WITHOUT_END;
    }
    Ok(cell)
}

/// Starts to measure in a process of its own.
fn start(cell: &Cell, seed: u64) -> CommandResult<SampleStream> {
    let unavailable = |error| CommandError::new(ErrorKind::Unavailable, error);
    let executable: PathBuf = std::env::current_exe()
        .context("the path of this program cannot be found")
        .map_err(unavailable)?;
    SampleStream::start(&executable, &["internal", "stream"], cell, seed)
        .context("measuring cannot be started")
        .map_err(unavailable)
}
