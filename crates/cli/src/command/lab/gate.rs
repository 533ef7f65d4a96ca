//! `tactus lab gate`: whether one kernel is worse than another, in deterministic time.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use tactus_app::kernel_gate::{self, Conduct, KernelGate};
use tactus_app::measure::GuestSettings;
use tactus_app::runs::Runs;
use tactus_app::{Error, ErrorKind, Places, files};
use tactus_judge::gate::GateReport;
use tactus_judge::gate::junit::junit;
use tactus_judge::kernels::{Decision, KernelComparison};
use tactus_model::address::Address;
use tactus_model::experiment::Plan;
use tactus_model::format::shell_word;
use tactus_model::gate_rule::GateRule;
use tactus_model::kernel::GuestKernel;
use tactus_model::run::{Run, RunId};

use super::kernel_comparison_options::KernelComparisonOptions;
use crate::cluster_options::ClusterOptions;
use crate::error::{CommandError, CommandResult, for_any_reader};
use crate::guest_options::JobsOption;
use crate::json_lines::write_line;
use crate::listener::RunListener;
use crate::quietness::Quietness;
use crate::terminal::{print_plan, say, stdout, table_options};
use crate::values::kernel;

/// Compare a kernel with a baseline kernel, and exit with code 1 if it is worse.
///
/// Use it in continuous integration of a kernel (docs/kernel-ci.md) and for bisecting. One run
/// measures both kernels in deterministic (instruction-counted) time, so this host has no effect.
/// Figures are compared by their ranks over all seeds; changes within --allow do not count. Settings
/// replace those of the experiment.
///
/// The run is stored: `tactus show` and `tactus report` show it, and --run judges it again. With
/// --bisect, the exit codes are those of `git bisect run`: 0 good, 1 bad, 125 if this kernel could not
/// be measured, 128 if no kernel could, e.g. because the baseline is missing.
///
/// Example: tactus lab gate --kernel ./after/bzImage --against ./before/bzImage
#[derive(Args)]
#[command(mut_arg("kernel", |arg| {
    arg.required_unless_present("judged").help(
        "The kernel to judge: debian, debian-cloud, debian-rt, debian:preempt=none, \
         debian-rt@VERSION, installed, or a file",
    )
}))]
#[command(mut_args(|arg| match MEASURING.contains(&arg.get_id().as_str()) {
    true => arg.conflicts_with("judged"),
    false => arg,
}))]
pub(crate) struct LabGateArguments {
    /// Baseline kernel, in the form of --kernel
    #[arg(long, value_name = "KERNEL", required_unless_present = "judged", value_parser = kernel)]
    against: Option<GuestKernel>,
    #[command(flatten)]
    comparison: KernelComparisonOptions,
    /// Differences that fail the gate [default: greater]
    #[arg(long, value_name = "WHAT")]
    refuse: Option<Refuse>,
    /// Exit with code 125 if the kernel could not be measured, so `git bisect run` skips it, and with 128 if none could
    #[arg(long)]
    bisect: bool,
    #[command(flatten)]
    jobs: JobsOption,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Judge this run of an earlier gate again, without measuring, by its rule; --allow, --false-alarms, --paths-only and --refuse replace parts of it
    #[arg(long = "run", id = "judged", value_name = "RUN")]
    judged: Option<Address>,
    /// Print the cells and the estimated duration, without measuring
    #[arg(long)]
    plan_only: bool,
    /// Also write the outcome as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
}

/// The options of a measurement, which a measured run excludes.
const MEASURING: [&str; 9] =
    ["experiment", "against", "seeds", "seed", "mips", "guest_limit", "jobs", "on", "plan_only"];

/// The differences that fail a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Refuse {
    /// Longer paths, later tails, more interrupts
    Greater,
    /// Any difference, including shorter, earlier and fewer
    Different,
}

/// The outcome, for `--json`.
#[derive(Serialize)]
struct LabGateOutcome<'a> {
    decision: Decision,
    comparison: &'a KernelComparison,
    #[serde(flatten)]
    report: &'a GateReport,
}

pub(super) fn run(arguments: &LabGateArguments, places: &Places) -> CommandResult {
    let done = gate(arguments, places);
    if arguments.bisect { done.map_err(CommandError::stops_bisect) } else { done }
}

fn gate(arguments: &LabGateArguments, places: &Places) -> CommandResult {
    arguments.junit.as_deref().map_or(Ok(()), files::check)?;
    let run = match &arguments.judged {
        Some(_) if !arguments.comparison.settings.is_empty() => {
            return Err(CommandError::usage(
                "`--run` judges a run with the settings it was measured with; leave out the settings",
            ));
        }
        Some(address) => {
            address.whole_run().map_err(Error::from)?;
            Runs::new(places).find(address)?.into_run()
        }
        None => {
            let plan = arguments.plan()?;
            if !arguments.bisect || arguments.plan_only {
                check_files(places, &plan)?;
            }
            if arguments.plan_only {
                return print_plan(&plan, arguments.json);
            }
            let (mut store, mut listener) =
                (places.open_store()?, RunListener::new(false, arguments.quietness));
            let conduct = Conduct {
                guests: GuestSettings {
                    limit: arguments.comparison.guest_limit,
                    jobs: arguments.jobs.jobs(),
                    cluster: arguments.cluster.cluster()?,
                    ..GuestSettings::default()
                },
                interrupted: None,
                again: &|run| arguments.again(run, places),
                on_run: &|_| (),
            };
            if arguments.bisect {
                kernel_gate::check_baseline(places, &plan, &listener)?;
                kernel_gate::check_kernel(places, &plan, &listener)
                    .map_err(|error| CommandError::from(error).skips_commit())?;
                check_files(places, &plan)?;
            }
            // What fails a turn is the kernel's fault, what ends the run is not, e.g. a full disk.
            kernel_gate::measure(places, &mut store, &plan, &conduct, &mut listener)?
        }
    };
    judge(&run, arguments, places)
}

/// Checks kernels that are files, and warns of a kernel that is its own baseline.
fn check_files(places: &Places, plan: &Plan) -> CommandResult {
    if let Some(warning) = kernel_gate::check_files(places, plan)? {
        say!("warning: {warning}");
    }
    Ok(())
}

impl LabGateArguments {
    /// The cells of the experiment under both kernels.
    fn plan(&self) -> CommandResult<Plan> {
        let (options, against) = (&self.comparison, self.against.as_ref());
        let rule = self.rule(GateRule::default());
        Ok(kernel_gate::plan(&options.experiment, options.overrides()?, against, &rule)?)
    }

    /// The commands that continue a run and judge it as this command would, for a shell.
    fn again(&self, run: &RunId, places: &Places) -> String {
        let store = places.store_option.as_ref();
        let store = store.map(|store| format!(" --store {}", shell_word(&store.to_string_lossy())));
        let store = store.unwrap_or_default();
        let limit = self.comparison.guest_limit.map(|limit| format!(" --guest-limit {limit}"));
        let jobs = self.jobs.jobs().map(|jobs| format!(" --jobs {jobs}"));
        let continued: String = limit.into_iter().chain(jobs).collect();
        let judged = self.options_again();
        format!(
            "tactus measure{store} --continue {run} --no-page{continued} && \
             tactus lab gate{store} --run {run}{judged}"
        )
    }

    /// The options with which a run is judged, as on the command line. A run has the rule that it was
    /// measured for.
    fn options_again(&self) -> String {
        let KernelComparisonOptions { allow, false_alarms, paths_only, .. } = &self.comparison;
        let flag = |is_given: bool, flag: &str| is_given.then(|| format!(" {flag}"));
        let percent = |share: f64| (share * 1e8).round() / 1e6;
        let junit = self.junit.as_ref().map(|file| shell_word(&file.to_string_lossy()));
        [
            allow.map(|allow| format!(" --allow {allow}")),
            false_alarms.map(|share| format!(" --false-alarms {}%", percent(share))),
            flag(*paths_only, "--paths-only"),
            flag(self.refuse == Some(Refuse::Greater), "--refuse greater"),
            flag(self.refuse == Some(Refuse::Different), "--refuse different"),
            flag(self.bisect, "--bisect"),
            junit.map(|file| format!(" --junit {file}")),
            flag(self.json, "--json"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// `rule` with what was given in its place.
    fn rule(&self, rule: GateRule) -> GateRule {
        let refused = self.refuse.map(|refuse| refuse == Refuse::Different);
        GateRule {
            refuse_any_difference: refused.unwrap_or(rule.refuse_any_difference),
            ..self.comparison.rule(rule)
        }
    }
}

fn judge(run: &Run, arguments: &LabGateArguments, places: &Places) -> CommandResult {
    let rule = arguments.rule(run.header.plan.gate.unwrap_or_default());
    let KernelGate { decision, comparison, report } = kernel_gate::judge(run, &rule)?;
    if let Some(path) = &arguments.junit {
        files::write(path, junit(&report))?;
    }
    for_any_reader(if arguments.json {
        write_line(&LabGateOutcome { decision, comparison: &comparison, report: &report })
    } else {
        let text = tactus_report::kernel_gate_text(&comparison, &rule, &table_options());
        write!(stdout(), "{text}")
    })?;
    // None says anything about the kernel, and a continued run is whole.
    let again = arguments.again(&run.header.id, places);
    kernel_gate::require_host(run, &again)?;
    kernel_gate::require_end(run, &again)?;
    let (failures, all) = (report.failures(), report.judgements.len());
    let refused = format!("{failures} of {all} figures of {}", comparison.run);
    match decision {
        Decision::Passes => Ok(()),
        Decision::Undecided if arguments.bisect => Err(match comparison.baseline_failure(run) {
            None => CommandError::Undecided(Error::new(ErrorKind::Unavailable, refused)),
            Some(failure) => {
                let error = format!("the baseline was not measured: {}", failure.reason);
                let error = Error::new(ErrorKind::Unavailable, error);
                CommandError::from(error.with_hint_if_any(failure.hint.clone()))
            }
        }),
        Decision::Undecided => Err(CommandError::NotDecided(refused)),
        Decision::Refused => Err(CommandError::not_met(refused)),
    }
}
