//! `tactus watch`: the timing monitor.

mod plain;
mod screen;

use clap::Args;
use tactus_app::Places;
use tactus_app::plan::new_seed;
use tactus_app::watch::{self, Watch};
use tactus_model::settings::SETTINGS;
use tactus_model::time::Nanos;
use tactus_monitor::{Monitor, Scale};

use crate::error::{CommandError, CommandResult};
use crate::setting_options::WatchedSettings;
use crate::values::{positive, seed};

/// Watch wakeups live: a scope, a percentile graph, and the causes of late wakeups.
///
/// It measures one cell like `tactus measure`, in a process of its own, until you quit (key q). Keys
/// change load, policy and interval (key ? lists all keys); a key steps through the values of an
/// option that is given several times. Nothing is stored.
///
/// Watching disturbs the measurement: ten times a second, this program and the terminal use a CPU for
/// a few milliseconds to draw. To leave a CPU for them, restrict the probe with --cpus. Recording
/// kernel events (--causes, key t) costs about half a microsecond per event, which increases
/// latencies; explaining late samples uses CPU time once a second.
///
/// Examples: tactus watch --policy fifo:90 --load compute; tactus watch --plain --duration 10s
#[derive(Args)]
#[command(mut_arg("duration", |arg| arg.help("How long to watch [default: until you quit]")))]
pub(crate) struct WatchArguments {
    #[command(flatten)]
    settings: WatchedSettings,
    /// Seed of random intervals [default: a new one]
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Time between two lines of the scope [default: automatic]
    #[arg(long, value_name = "DURATION", conflicts_with_all = ["plain", "json"],
        value_parser = positive)]
    scale: Option<Nanos>,
    /// Record kernel events from the beginning, to explain late samples
    #[arg(long)]
    causes: bool,
    /// Latency above which a sample is late and is explained
    #[arg(long, value_name = "DURATION", default_value = "100us")]
    threshold: Nanos,
    /// Print one line a second instead of drawing
    #[arg(long)]
    plain: bool,
    /// Print JSON, one object a line: events, and the figures of every second
    #[arg(long)]
    json: bool,
}

impl WatchArguments {
    /// Refuses several values of a setting if no key steps through them.
    fn require_single_values(&self) -> CommandResult {
        /// The settings with a key.
        const WITH_KEY: [&str; 3] = ["load", "policy", "interval"];
        let drawn = !(self.plain || self.json);
        let several = SETTINGS.iter().map(|setting| setting.name).find(|name| {
            let values = self.settings.0.values(name).unwrap_or_default().len();
            values > 1 && !(drawn && WITH_KEY.contains(name))
        });
        several.map_or(Ok(()), |name| {
            Err(CommandError::usage(format!("`--{name}` has several values; watch one at a time")))
        })
    }
}

pub(crate) fn run(arguments: &WatchArguments, places: &Places) -> CommandResult {
    arguments.require_single_values()?;
    let cell = watch::cell(&arguments.settings.0)?;
    let seed = arguments.seed.unwrap_or_else(new_seed);
    let watch = Watch::new(places, cell, seed, arguments.threshold);
    if arguments.plain || arguments.json {
        return plain::watch(watch, arguments.json, arguments.causes);
    }
    let mut monitor = Monitor::new(watch.cell().clone(), &arguments.settings.0);
    if let Some(line) = arguments.scale {
        monitor = monitor.with_scale(Scale::Fixed(line));
    }
    if arguments.causes {
        monitor = monitor.with_recording();
    }
    screen::watch(monitor, watch, arguments.causes)
}
