//! `tactus lab bisect`: the first commit of a kernel's tree that is worse.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_app::Places;
use tactus_app::bisect::{
    self, BisectEvent, Bisected, Commit, GateTrial, GateTrialSettings, Question, Verdict,
};
use tactus_app::kernel_gate::{self, KernelGate};
use tactus_app::runs::Runs;
use tactus_kernels::Recipe;
use tactus_model::address::Address;
use tactus_model::format::counted;
use tactus_model::gate_rule::GateRule;
use tactus_model::time::Nanos;
use tactus_report::format;
use tactus_sys::regular_file;

use super::kernel_comparison_options::KernelComparisonOptions;
use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::listener::RunListener;
use crate::quietness::Quietness;
use crate::terminal::{stdout, table_options};

/// Find the first commit of a kernel's tree that is worse than a good commit.
///
/// git bisect chooses the commits. Each is built and compared with the kernel of the good commit as
/// by `tactus lab gate`, in deterministic (instruction-counted) time. Commits that do not build or
/// boot are skipped. It works in a worktree of its own; the same command continues an interrupted
/// bisection. docs/kernel-ci.md says how long it takes.
///
/// Without --build, Linux's own build makes a kernel for amd64, with --config or with the
/// configuration of built kernels.
///
/// Example: tactus lab bisect --tree linux --good v6.12 --bad HEAD --load syscall --paths-only --seeds 7
#[derive(Args)]
#[command(mut_arg("kernel", |arg| arg.hide(true)))]
#[command(mut_arg("seed", |arg| {
    arg.default_value("1").help("Seed from which all other seeds are derived")
}))]
#[command(mut_arg("false_alarms", |arg| {
    arg.help("Chance of a false alarm for each commit; at most 50% [default: 1%]")
}))]
pub(crate) struct LabBisectArguments {
    /// Tree of kernel sources, in a git repository
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    tree: PathBuf,
    /// Commit whose kernel is good: the baseline of all comparisons
    #[arg(long, value_name = "REVISION")]
    good: String,
    /// Later commit whose kernel is worse; it is tried first
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    bad: String,
    /// Kernel configuration, a complete .config; new options get their defaults
    #[arg(long, value_name = "FILE", conflicts_with = "build")]
    config: Option<PathBuf>,
    /// Shell command that builds a kernel in the tree, in place of Linux's own build
    #[arg(long, value_name = "COMMAND", requires = "built_image")]
    build: Option<String>,
    /// Image that the command of --build writes, relative to the tree
    #[arg(long, value_name = "FILE", requires = "build")]
    built_image: Option<PathBuf>,
    /// Parameters of the kernels' command lines, e.g. preempt=none,threadirqs
    #[arg(long, value_name = "PARAMETERS")]
    parameters: Option<String>,
    #[command(flatten)]
    comparison: KernelComparisonOptions,
    /// Print events and the result as JSON, one object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
}

/// The most of a kernel's configuration that is read, in bytes; one has about 300 kB.
const CONFIGURATION_MAX: usize = 16 << 20;

/// The result, for `--json`.
#[derive(Serialize)]
struct BisectOutcome<'a> {
    event: &'static str,
    #[serde(flatten)]
    bisected: &'a Bisected,
}

pub(super) fn run(arguments: &LabBisectArguments, places: &Places) -> CommandResult {
    if arguments.comparison.settings.0.values("kernel").is_some() {
        return Err(CommandError::usage(
            "a bisection measures the kernels of its commits; leave out `--kernel`",
        ));
    }
    let settings = arguments.trial_settings()?;
    let question = Question {
        tree: arguments.tree.clone(),
        good: arguments.good.clone(),
        bad: arguments.bad.clone(),
        directory: places.bisections()?,
        conditions: settings.conditions()?,
    };
    let good = bisect::resolve(&question)?;
    let mut store = places.open_store()?;
    let mut listener = RunListener::new(false, arguments.quietness);
    let mut trial = GateTrial {
        places,
        settings: &settings,
        good: good.id.clone(),
        store: &mut store,
        listener: &mut listener,
    };
    let (json, quietness) = (arguments.json, arguments.quietness);
    let mut written = Ok(());
    let bisected = bisect::bisect(
        &question,
        &mut |commit, worktree, directory| trial.attempt(commit, worktree, directory),
        &mut |event| {
            if json && written.is_ok() {
                written = write_line(event);
            }
            quietness.note(format_args!("{}", text(event)));
        },
    )?;
    written?;
    if json {
        return Ok(write_line(&BisectOutcome { event: "bisected", bisected: &bisected })?);
    }
    conclude(&bisected, &good, &settings.rule, places)
}

impl LabBisectArguments {
    fn trial_settings(&self) -> CommandResult<GateTrialSettings> {
        let recipe = match (&self.build, &self.built_image) {
            (Some(_), Some(image)) if !is_inside(image) => {
                return Err(CommandError::usage(format!(
                    "`--built-image {}`: name the image by its path inside the tree, e.g. \
                     arch/x86/boot/bzImage",
                    image.display()
                )));
            }
            (Some(command), Some(image)) => {
                Recipe::Command { command: command.clone(), image: image.clone() }
            }
            _ => {
                let read = |file: &PathBuf| {
                    regular_file::read(file, CONFIGURATION_MAX).map_err(|error| {
                        CommandError::usage(format!("cannot read {}: {error}", file.display()))
                    })
                };
                Recipe::Linux { configuration: self.config.as_ref().map(read).transpose()? }
            }
        };
        Ok(GateTrialSettings {
            recipe,
            parameters: self.parameters.clone(),
            experiment: self.comparison.experiment.clone(),
            overrides: self.comparison.overrides()?,
            rule: self.comparison.rule(GateRule::default()),
            limit: self.comparison.guest_limit,
        })
    }
}

/// Whether a path names something inside the directory that it is relative to.
fn is_inside(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn span(seconds: u64) -> String {
    format::span(Nanos::from_secs(seconds))
}

fn text(event: &BisectEvent<'_>) -> String {
    match event {
        BisectEvent::Begun { commits, known: 0, directory } => {
            let commits = counted(*commits, "commit");
            format!("bisecting {commits} in {}", directory.display())
        }
        BisectEvent::Begun { commits, known, directory } => format!(
            "continuing to bisect {} in {}; verdicts known: {known}",
            counted(*commits, "commit"),
            directory.display()
        ),
        BisectEvent::Trying { commit, number, of, seconds_left } => {
            let left = seconds_left.map(|left| format!(", about {} left", span(left)));
            let left = left.unwrap_or_default();
            format!("commit {number} of about {of}{left}: {}", commit.named())
        }
        BisectEvent::Tried { commit, trial } => {
            let run = trial.run.as_deref().map(|run| format!(" (run {run})")).unwrap_or_default();
            format!(
                "{}: {}: {}{run}, {}",
                trial.verdict.word(),
                commit.named(),
                trial.reason,
                span(trial.seconds)
            )
        }
        BisectEvent::Removed { worktree } => {
            format!("removed the worktree {}; verdicts and runs are kept", worktree.display())
        }
        BisectEvent::Kept { worktree, removal } => format!(
            "kept the worktree {} for the same command; to remove it: {removal}",
            worktree.display()
        ),
    }
}

/// Prints the first bad commit, with the comparison that shows it.
fn conclude(bisected: &Bisected, good: &Commit, rule: &GateRule, places: &Places) -> CommandResult {
    let mut out = stdout();
    match bisected.first_bad.as_slice() {
        [commit] => writeln!(out, "First bad commit: {}", commit.named())?,
        commits => {
            writeln!(out, "The first bad commit is one of these; the others could not be judged:")?;
            for commit in commits {
                writeln!(out, "  {}", commit.named())?;
            }
        }
    }
    let count = |verdict| bisected.trials.iter().filter(|trial| trial.verdict == verdict).count();
    writeln!(
        out,
        "{} tried in {}: {} good, {} bad, {} skipped",
        counted(bisected.trials.len() as u64, "commit"),
        span(bisected.trials.iter().map(|trial| trial.seconds).sum()),
        count(Verdict::Good),
        count(Verdict::Bad),
        count(Verdict::Skipped)
    )?;
    let Some(run) = bisected.proof().and_then(|trial| trial.run.as_deref()) else {
        return Ok(());
    };
    // A run that was deleted since is no failure of the bisection.
    let address = run.parse::<Address>().unwrap_or_else(|never| match never {});
    let runs = Runs::new(places);
    let Ok(found) = runs.find(&address) else {
        return Ok(());
    };
    let KernelGate { mut comparison, .. } = kernel_gate::judge(&found.into_run(), rule)?;
    // Images have the paths of a directory that is gone.
    let proof = bisected.proof().map(|trial| trial.commit.as_str());
    if let Some(bad) = bisected.first_bad.iter().find(|commit| Some(commit.id.as_str()) == proof) {
        comparison.kernel.kernel = bad.named();
    }
    comparison.baseline.kernel = good.named();
    let text = tactus_report::kernel_gate_text(&comparison, rule, &table_options());
    writeln!(out)?;
    write!(out, "{text}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_image_is_inside_the_tree() {
        for inside in ["bzImage", "./arch/x86/boot/bzImage"] {
            assert!(is_inside(Path::new(inside)), "{inside}");
        }
        for outside in ["", "../x", "a/../../x", "/boot/vmlinuz"] {
            assert!(!is_inside(Path::new(outside)), "{outside}");
        }
    }

    #[test]
    fn one_commit_is_not_several() {
        let directory = Path::new("/bisections/a");
        let begun = BisectEvent::Begun { commits: 1, known: 0, directory };
        assert_eq!(text(&begun), "bisecting 1 commit in /bisections/a");
    }
}
