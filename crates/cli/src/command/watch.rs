//! `tactus watch`: the timing monitor.

mod plain;
mod screen;

use clap::Args;
use tactus_app::plan::new_seed;
use tactus_app::{Places, watch};
use tactus_model::time::Nanos;
use tactus_monitor::{Monitor, Scale};

use self::screen::Wishes;
use crate::error::{CommandError, CommandResult};
use crate::setting_options::SettingOptions;

/// Watch wakeups while they happen: a scope, a percentile graph, and why some were late.
///
/// One cell is measured as by `measure`, in a process of its own, until you end it. Keys
/// change load, policy and interval (? tells all of them); of an option that is given
/// several times, its values are what the key steps through. Nothing is kept.
///
/// What disturbs the measurement: this program takes the samples out of shared memory and
/// draws ten times a second, a few milliseconds each time, and so does the terminal; keep
/// the probe away from a CPU (--cpus) and there is one for them. Recording the kernel's
/// events (--causes, key t) costs about half a microsecond an event, which makes latencies
/// longer, and explaining late samples takes CPU time once a second.
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

pub(crate) fn run(arguments: &WatchArguments, places: &Places) -> CommandResult {
    let cell = watch::cell(&arguments.settings.0)?;
    let seed = arguments.seed.unwrap_or_else(new_seed);
    if arguments.plain || arguments.json {
        let explain_beyond = arguments.causes.then_some(arguments.threshold);
        return plain::watch(places, &cell, seed, arguments.json, explain_beyond);
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
    screen::watch(monitor, Wishes { places, seed, record, threshold })
}
