//! How two kernels are measured and compared: the options of a gate and of a bisection.

use clap::Args;
use tactus_model::experiment::{Overrides, Plan};
use tactus_model::gate_rule::{Allowance, GateRule};
use tactus_model::guest::GuestTime;
use tactus_model::time::Nanos;

use crate::error::CommandResult;
use crate::guest_options::speed;
use crate::percentage::false_alarms;
use crate::setting_options::SettingOptions;
use crate::values::{positive, seed, whole};

/// How two kernels are measured and compared.
#[derive(Args)]
pub(super) struct KernelComparisonOptions {
    /// Experiment to measure under both kernels: a file, or the name of a shipped experiment
    #[arg(value_name = "EXPERIMENT", default_value = "gate")]
    pub(super) experiment: String,
    #[command(flatten)]
    pub(super) settings: SettingOptions,
    /// Number of seeds for each cell [default: that of the experiment, or 10]
    #[arg(long, value_name = "N", value_parser = whole(1..=Plan::MAX_ROUNDS))]
    seeds: Option<u32>,
    /// Seed from which all other seeds are derived [default: that of the experiment, or a new one]
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Speed of deterministic time, in million instructions per second: 1000, 500, 250 or 125 [default: that of the experiment, or 1000]
    #[arg(long, value_name = "N", value_parser = whole(1..=1000_u32))]
    mips: Option<u32>,
    /// Allowed difference of path lengths: a percentage, a number of instructions, or both, e.g. 1%+16 [default: 1%+16]
    #[arg(long, value_name = "ALLOWANCE")]
    pub(super) allow: Option<Allowance>,
    /// Chance of a false alarm: that any difference of equal kernels is reported; at most 50% [default: 1%]
    #[arg(long, value_name = "PERCENT", value_parser = false_alarms)]
    pub(super) false_alarms: Option<f64>,
    /// Judge path lengths only, not tails: fewer figures need fewer seeds
    #[arg(long)]
    pub(super) paths_only: bool,
    /// Time limit of a guest, in time of this host [default: derived from the duration of its cell]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    pub(super) guest_limit: Option<Nanos>,
}

impl KernelComparisonOptions {
    /// What replaces the settings of the experiment.
    pub(super) fn overrides(&self) -> CommandResult<Overrides> {
        Ok(Overrides {
            settings: self.settings.0.clone(),
            rounds: self.seeds,
            seed: self.seed,
            guest_time: self.mips.map(speed).transpose()?.map(GuestTime::Exact),
            ..Overrides::default()
        })
    }

    /// `rule` with what was given in its place.
    pub(super) fn rule(&self, rule: GateRule) -> GateRule {
        GateRule {
            allowance: self.allow.unwrap_or(rule.allowance),
            false_alarms: self.false_alarms.unwrap_or(rule.false_alarms),
            paths_only: self.paths_only || rule.paths_only,
            ..rule
        }
    }
}
