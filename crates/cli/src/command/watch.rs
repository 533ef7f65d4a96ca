//! `tactus watch`: the timing monitor.

mod plain;
mod screen;

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use tactus_lab::causes::Causes;
use tactus_lab::live::LiveSamples;
use tactus_model::cell::Cell;
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides};
use tactus_model::settings::Layer;
use tactus_model::time::Nanos;
use tactus_monitor::{Monitor, Scale};

use self::screen::Wishes;
use super::new_seed;
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::setting_options::SettingOptions;

/// Watch wakeups while they happen: a scope, a percentile graph, and why some were late.
///
/// One cell is measured as by `measure`, in a process of its own, until you end it. Keys
/// change load, policy and interval (? tells all of them); of an option that is given
/// several times, its values are what the key steps through. Nothing is kept.
///
/// What disturbs the measurement: this program takes the samples out of shared memory and
/// draws ten times a second, a few milliseconds each time, and so does the terminal; keep
/// the probe away from a processor (--cpus) and there is one for them. Recording the kernel's
/// events (--causes, key t) costs about half a microsecond an event, which makes latencies
/// longer, and explaining late samples takes processor time once a second.
#[derive(Args)]
pub(crate) struct WatchArguments {
    #[command(flatten)]
    settings: SettingOptions,
    /// The seed of random intervals
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How far the scope's lines are apart; without it as it fits
    #[arg(long, value_name = "LENGTH", conflicts_with_all = ["plain", "json"])]
    scale: Option<Nanos>,
    /// Record the kernel's events from the beginning, to tell why samples were late
    #[arg(long)]
    causes: bool,
    /// The latency above which a sample is explained
    #[arg(long, value_name = "LENGTH", default_value = "100us")]
    threshold: Nanos,
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
    if arguments.plain || arguments.json {
        let explain_beyond = arguments.causes.then_some(arguments.threshold);
        return plain::watch(&cell, seed, arguments.json, explain_beyond);
    }
    let mut monitor = Monitor::new(cell, &arguments.settings.0);
    if let Some(line) = arguments.scale {
        if line == Nanos::ZERO {
            return Err(CommandError::usage(
                "--scale: lines cannot be no distance apart; as in 1ms",
            ));
        }
        monitor = monitor.with_scale(Scale::Fixed(line));
    }
    if arguments.causes {
        monitor = monitor.with_recording();
    }
    let (record, threshold) = (arguments.causes, arguments.threshold);
    screen::watch(monitor, Wishes { seed, record, threshold })
}

/// The cell that the options describe; its window has no end unless they say so.
fn cell(options: &Layer) -> CommandResult<Cell> {
    let experiment = Experiment::parse(DEFAULTS)?;
    let overrides = Overrides { settings: options.clone(), ..Overrides::default() };
    let mut cells = experiment.plan(&overrides)?.cells;
    let mut cell = cells.swap_remove(0);
    if cell.target.guest().is_some() {
        return Err(CommandError::usage("a guest cannot be watched; leave --kernel out")
            .with_hint("tactus lab measure --kernel …"));
    }
    if options.values("duration").is_none() {
        cell.duration = WITHOUT_END;
    }
    Ok(cell)
}

/// Starts to measure in a process of its own.
fn start(cell: &Cell, seed: u64) -> CommandResult<LiveSamples> {
    LiveSamples::start(&own_executable()?, &["internal", "live"], cell, seed)
        .context("measuring cannot be started")
        .map_err(unavailable)
}

/// Starts to record the kernel's events in a process of its own.
fn start_recording(cell: &Cell) -> CommandResult<Causes> {
    Causes::start(&own_executable()?, &["internal", "causes"], cell)
        .context("recording cannot be started")
        .map_err(unavailable)
}

fn own_executable() -> CommandResult<PathBuf> {
    std::env::current_exe().context("the path of this program cannot be found").map_err(unavailable)
}

fn unavailable(error: anyhow::Error) -> CommandError {
    CommandError::new(ErrorKind::Unavailable, error)
}
