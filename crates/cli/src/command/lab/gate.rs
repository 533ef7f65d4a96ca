//! `tactus lab gate`: whether a kernel is worse than another, in exact time.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use tactus_app::kernel_gate::{self, KernelGate};
use tactus_app::runs::Runs;
use tactus_app::{Error, ErrorKind, Places, files};
use tactus_judge::gate::GateReport;
use tactus_judge::gate::junit::junit;
use tactus_judge::kernels::{Allowance, Decision, GateOptions, KernelComparison};
use tactus_model::experiment::{Overrides, Plan};
use tactus_model::guest::GuestTime;
use tactus_model::kernel::GuestKernel;
use tactus_model::run::Run;
use tactus_model::time::Nanos;

use crate::error::{CommandError, CommandResult};
use crate::guest_options::speed;
use crate::json_lines::write_line;
use crate::listener::RunListener;
use crate::percentage::false_alarms;
use crate::setting_options::SettingOptions;
use crate::terminal::{print_plan, table_options};

/// Require that a kernel is no worse than another, and exit with code 1 when it is.
///
/// Both are measured in one run in exact time, where nothing of this host enters:
/// `--kernel ./after/bzImage --against ./before/bzImage`. Lengths of paths that every seed
/// gave alike are compared exactly, to within --allow; what differs from seed to seed, as
/// tails do, by the ranks of all seeds. The experiment `gate` is measured unless another is
/// named; settings are laid over it.
///
/// The run is kept as all are: `tactus show` and `tactus report` tell it, and --run judges it
/// again. With --bisect the exit codes are those that `git bisect run` understands: 0 good,
/// 1 bad, 125 for a kernel that could not be measured. docs/kernel-ci.md shows how to use this in
/// continuous integration.
#[derive(Args)]
pub(crate) struct LabGateArguments {
    /// An experiment file, or the name of a shipped one, of which each cell is measured under both kernels
    #[arg(value_name = "EXPERIMENT", default_value = "gate", conflicts_with = "judged")]
    experiment: String,
    /// The kernel against which --kernel is held, written likewise
    #[arg(
        long,
        value_name = "KERNEL",
        required_unless_present = "judged",
        conflicts_with = "judged"
    )]
    against: Option<GuestKernel>,
    #[command(flatten)]
    settings: SettingOptions,
    /// Under how many seeds each cell is measured; ten unless the experiment or this tells otherwise
    #[arg(long, value_name = "N", conflicts_with = "judged")]
    seeds: Option<u32>,
    /// The seed from which all others follow
    #[arg(long, value_name = "N", conflicts_with = "judged")]
    seed: Option<u64>,
    /// The speed of the guests' time, in million instructions a second: 1000, 500, 250, 125
    #[arg(long, value_name = "N", conflicts_with = "judged")]
    mips: Option<u32>,
    /// How much a path may differ: a percentage, a number of instructions, or both together
    #[arg(long, value_name = "ALLOWANCE", default_value_t = Allowance::DEFAULT)]
    allow: Allowance,
    /// The chance that kernels that are alike are called different in what differs from seed to seed
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = false_alarms)]
    false_alarms: f64,
    /// Ask only for paths that every seed gave alike, for which three seeds are enough
    #[arg(long)]
    paths_only: bool,
    /// What the gate refuses
    #[arg(long, value_name = "WHAT", default_value = "greater")]
    refuse: Refuse,
    /// Exit with 125 when the kernel could not be measured, as `git bisect run` wants it
    #[arg(long)]
    bisect: bool,
    /// How long a guest may take on this host; by the length of its cell unless told otherwise
    #[arg(long, value_name = "TIME", conflicts_with = "judged")]
    guest_limit: Option<Nanos>,
    /// Measure nothing, and judge this run of an earlier gate
    #[arg(long = "run", id = "judged", value_name = "RUN")]
    judged: Option<String>,
    /// Print the cells and how long they will take, and measure nothing
    #[arg(long, conflicts_with = "judged")]
    plan_only: bool,
    /// Write the outcome as JUnit XML to this file too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write one JSON object
    #[arg(long)]
    json: bool,
}

/// What a gate refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Refuse {
    /// Longer paths, later tails, more interrupts
    Greater,
    /// Any difference: shorter, earlier and fewer too
    Different,
}

/// The outcome as `--json` gives it.
#[derive(Serialize)]
struct LabGateOutcome<'a> {
    decision: Decision,
    comparison: &'a KernelComparison,
    #[serde(flatten)]
    report: &'a GateReport,
}

pub(super) fn run(arguments: &LabGateArguments, places: &Places) -> CommandResult {
    let done = gate(arguments, places);
    if arguments.bisect { done.map_err(CommandError::for_bisect) } else { done }
}

fn gate(arguments: &LabGateArguments, places: &Places) -> CommandResult {
    let run = match &arguments.judged {
        Some(_) if !arguments.settings.is_empty() => {
            return Err(CommandError::usage(
                "a run is judged as it was measured; leave the settings out",
            ));
        }
        Some(name) => Runs::new(places).find(name)?.into_run(),
        None => {
            let plan = arguments.plan()?;
            if arguments.plan_only {
                return print_plan(&plan, arguments.json);
            }
            let (mut store, mut listener) = (places.open_store()?, RunListener::new(false));
            let limit = arguments.guest_limit;
            kernel_gate::measure(places, &mut store, &plan, limit, &mut listener)?
        }
    };
    judge(&run, arguments)
}

impl LabGateArguments {
    /// The cells of the experiment under both kernels.
    fn plan(&self) -> CommandResult<Plan> {
        let speed = self.mips.map(speed).transpose()?;
        let overrides = Overrides {
            settings: self.settings.0.clone(),
            rounds: self.seeds,
            seed: self.seed,
            guest_time: speed.map(GuestTime::Exact),
            ..Overrides::default()
        };
        Ok(kernel_gate::plan(&self.experiment, overrides, self.against.as_ref())?)
    }
}

fn judge(run: &Run, arguments: &LabGateArguments) -> CommandResult {
    let options = GateOptions {
        allowance: arguments.allow,
        false_alarms: arguments.false_alarms,
        paths_only: arguments.paths_only,
        refuse_any_difference: arguments.refuse == Refuse::Different,
    };
    let KernelGate { decision, comparison, report } = kernel_gate::judge(run, &options)?;
    if let Some(path) = &arguments.junit {
        files::write(path, junit(&report))?;
    }
    if arguments.json {
        write_line(&LabGateOutcome { decision, comparison: &comparison, report: &report })?;
    } else {
        let text = tactus_report::kernel_gate_text(&comparison, &options, &table_options());
        write!(std::io::stdout(), "{text}")?;
    }
    let (failures, all) = (report.failures(), report.judgements.len());
    let refused = format!("{failures} of {all} figures of {}", comparison.run);
    match decision {
        Decision::Passes => Ok(()),
        Decision::Undecided if arguments.bisect => {
            Err(CommandError::CannotTell(Error::new(ErrorKind::Unavailable, refused)))
        }
        Decision::Refused | Decision::Undecided => Err(CommandError::not_met(refused)),
    }
}
