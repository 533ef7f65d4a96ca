//! `tactus measure`: measures an experiment.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_app::machines::{self, Asked};
use tactus_app::measure::{GuestSettings, continue_run, new_run, require_end};
use tactus_app::nodes::{self, Nodes};
use tactus_app::overview::{self, CellOverview};
use tactus_app::page::{self, PageOptions};
use tactus_app::runs::Runs;
use tactus_app::{Places, Subject, explain, files, kernels};
use tactus_judge::history::Figure;
use tactus_judge::machines::Ranking;
use tactus_judge::purpose::{Purpose, PurposeVerdict};
use tactus_judge::verdict::{Verdict, verdict};
use tactus_model::address::Address;
use tactus_model::experiment::{Overrides, Plan};
use tactus_model::guest::GuestTime;
use tactus_model::run::RunId;
use tactus_model::time::Nanos;
use tactus_model::until::Aim;
use tactus_report::{CellExplanation, machines_page, machines_text};

use crate::cluster_options::{ClusterOptions, HEADING};
use crate::error::{CommandError, CommandResult, for_any_reader};
use crate::guest_options::GuestOptions;
use crate::json_lines::write_line;
use crate::listener::RunListener;
use crate::quietness::Quietness;
use crate::setting_options::SettingOptions;
use crate::table_form_options::TableFormOptions;
use crate::terminal::{print_plan, say, stdout, table_options};
use crate::values::{positive, seed, whole};

/// Measure wakeup latency under loads and policies, store the run, and print the results.
///
/// Without arguments, it measures the experiment `quick`, which takes about a minute. With settings
/// and no experiment, it measures one cell; other settings have their defaults. A repeated setting
/// makes a cell for each value. With an experiment, settings replace those of the experiment.
///
/// Without real-time permission, it uses the best policy allowed and prints the command that grants more.
/// An interrupt (Ctrl-C) keeps finished turns; --continue measures the rest. If turns fail, the others
/// are kept, the exit code is 5, and --continue measures the failed ones again.
///
/// With --kernel, it measures in guest kernels, which QEMU boots (docs/lab.md); their figures depend on
/// the host. With --exact, guests run in deterministic (instruction-counted) time: the host has no effect,
/// two separately booted machines measure each cell, and a result is kept only if both sent the same
/// bytes. Deterministic time does not show caches, several CPUs, or the speed of devices. With --on, the
/// nodes of a cluster measure such turns, with the same result. With --nodes too, the nodes are measured
/// themselves, and `tactus machines` ranks them (docs/fleet.md).
///
/// Examples: tactus measure;
/// tactus measure --load idle --load compute:2 --policy fifo:90 --rounds 3;
/// tactus measure lab --kernel debian-rt --kernel debian:preempt=none
#[derive(Args)]
pub(crate) struct MeasureArguments {
    /// Experiment file, or the name of a shipped experiment: quick, standard, lab, preemption, papers/timer-latency, papers/latency-method, papers/frames, … [default: quick]
    #[arg(value_name = "EXPERIMENT", conflicts_with = "continued")]
    experiment: Option<String>,
    #[command(flatten)]
    settings: SettingOptions,
    #[command(flatten)]
    guests: GuestOptions,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// With --on slurm: measure each of these nodes itself, e.g. n1,n[4-7]. A job has its node alone; each node gives a run
    #[arg(long, value_name = "LIST", help_heading = HEADING,
        conflicts_with_all = ["continued", "turns_per_task"])]
    nodes: Option<String>,
    /// With --nodes: go on without a node that is down, drained or not responding for this long. Busy nodes are
    /// waited for [default: 10min]
    #[arg(long, value_name = "DURATION", help_heading = HEADING, requires = "nodes",
        value_parser = positive)]
    node_wait: Option<Nanos>,
    /// Number of rounds; each round measures every cell once [default: that of the experiment, or 1]
    #[arg(short, long, value_name = "N", conflicts_with = "continued",
        value_parser = whole(1..=Plan::MAX_ROUNDS))]
    rounds: Option<u32>,
    /// Add rounds until the 95 % interval of this percentile is no wider than WIDTH in every cell: a share
    /// of the percentile (p99.9:5%) or a duration (p99:2us); at least three rounds
    #[arg(long, value_name = "PERCENTILE:WIDTH", conflicts_with = "continued")]
    until: Option<Aim>,
    /// With --until: time limit; a round that would end later is not started [default: 10min]
    #[arg(long, value_name = "DURATION", conflicts_with = "continued", value_parser = positive)]
    limit: Option<Nanos>,
    /// Seed that determines the order of the cells and the random intervals [default: that of the experiment, or a new one]
    #[arg(long, value_name = "N", conflicts_with = "continued", value_parser = seed)]
    seed: Option<u64>,
    /// What the machine is for: audio:RATE/FRAMES, control:RATE:LATENESS, video:RATE, midi, or
    /// PERIOD:LATENESS, e.g. audio:48000/64, control:1kHz:50us, 2ms:100us. A wakeup that is up to LATENESS
    /// late meets its deadline. Without an experiment, the period is the default of --interval
    #[arg(long = "for", value_name = "PURPOSE")]
    purpose: Option<Purpose>,
    /// Print the cells and the estimated duration, without measuring
    #[arg(long)]
    plan_only: bool,
    /// Continue an interrupted run, or one with failed turns: measure the turns without a result. A run
    /// continues only in the store and on the machine where it began; `last` is the last one that
    /// began here
    #[arg(long = "continue", id = "continued", value_name = "RUN")]
    continued: Option<Address>,
    /// File of the HTML page [default: a file in reports/ beside the store]
    #[arg(long, value_name = "FILE", conflicts_with = "no_page")]
    page: Option<PathBuf>,
    /// Write no HTML page
    #[arg(long)]
    no_page: bool,
    /// Print events and results as JSON, one object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableFormOptions,
    #[command(flatten)]
    quietness: Quietness,
}

/// The lines that `--json` adds after the events of a run.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Conclusion<'a> {
    Result {
        run: &'a RunId,
        #[serde(flatten)]
        overview: &'a CellOverview,
    },
    Causes {
        run: &'a RunId,
        causes: &'a [String],
    },
    Verdict {
        run: &'a RunId,
        #[serde(flatten)]
        verdict: &'a Verdict,
    },
    Purpose {
        run: &'a RunId,
        #[serde(flatten)]
        verdict: &'a PurposeVerdict,
    },
    Machines {
        group: &'a RunId,
        #[serde(flatten)]
        ranking: &'a Ranking,
    },
    Missing {
        group: &'a RunId,
        nodes: &'a BTreeMap<String, String>,
    },
    Page {
        run: &'a RunId,
        path: &'a Path,
    },
}

/// How long to wait for a node that cannot run its task: longer than a restart takes.
const PATIENCE: Nanos = Nanos::from_secs(600);

pub(crate) fn run(arguments: &MeasureArguments, places: &Places) -> CommandResult {
    arguments.page.as_deref().map_or(Ok(()), files::check)?;
    if let Some(list) = &arguments.nodes {
        return run_on_nodes(arguments, list, places);
    }
    let cluster = arguments.cluster.cluster()?;
    let guests = GuestSettings { cluster, ..arguments.guests.settings()? };
    let verdict_follows = !arguments.json && arguments.table.form().is_none();
    let mut listener =
        RunListener::new(arguments.json, arguments.quietness).before_verdict(verdict_follows);
    let (store, done) = match &arguments.continued {
        Some(name) => {
            arguments.check_continued(&guests)?;
            let mut store = places.open_store()?;
            let done = continue_run(places, &mut store, name, &guests, &mut listener)?;
            (store, done)
        }
        None => {
            let plan = arguments.plan(guests.time)?;
            arguments
                .guests
                .require_guests(plan.cells.iter().any(|cell| cell.target.guest().is_some()))?;
            if arguments.plan_only && arguments.table.form().is_some() {
                let message = "`--csv` and `--markdown` apply to results, not to `--plan-only`";
                return Err(CommandError::usage(message));
            }
            if arguments.plan_only {
                kernels::check_files(places, &plan.cells)?;
                return print_plan(&plan, arguments.json);
            }
            let mut store = places.open_store()?;
            let done = new_run(places, &mut store, &plan, &guests, &mut listener)?;
            (store, done)
        }
    };
    for_any_reader(listener.end())?;
    let subject = Subject::stored(&store, &done.run)?;
    let ended = require_end(subject.run());
    let explanations = explain::of_run(&subject)?;
    let causes = explain::causes(subject.run(), &explanations);
    for_any_reader(print_conclusions(&subject, &causes, arguments))?;
    for_any_reader(write_page(subject, explanations, arguments, places))?;
    Ok(ended?)
}

/// Measures the nodes of a cluster themselves, and ranks them.
fn run_on_nodes(arguments: &MeasureArguments, list: &str, places: &Places) -> CommandResult {
    let shared = arguments.cluster.shared_of_slurm("--nodes")?;
    if arguments.table.form().is_some() || arguments.purpose.is_some() {
        let message = "`--csv`, `--markdown` and `--for` apply to one run; use `tactus show` for those of nodes";
        return Err(CommandError::usage(message));
    }
    let guests = arguments.guests.settings()?;
    let plan = arguments.plan(guests.time)?;
    if arguments.plan_only {
        return print_plan(&plan, arguments.json);
    }
    let mut store = places.open_store()?;
    let mut listener = RunListener::new(arguments.json, arguments.quietness);
    let patience = arguments.node_wait.unwrap_or(PATIENCE);
    let wanted = Nodes { list, shared: &shared, patience };
    let measured = nodes::measure(places, &mut store, &plan, wanted, &mut listener)?;
    for_any_reader(listener.end())?;
    drop(store);
    if arguments.json && !measured.missing.is_empty() {
        let (group, nodes) = (&measured.group, &measured.missing);
        for_any_reader(write_line(&Conclusion::Missing { group, nodes }))?;
    }
    // A store that cannot be written may not be readable either.
    if !measured.runs.is_empty() && measured.unstored.is_none() {
        let asked = Asked { figure: Figure::P99, cell: None };
        let name = |run: &RunId| run.as_str().parse::<Address>();
        let names: Vec<Address> = measured.runs.iter().flat_map(name).collect();
        let ranking = machines::ranking(&Runs::new(places), &names, None, &asked)?;
        let ranking = Ranking { missing: measured.missing.clone(), ..ranking };
        for_any_reader(if arguments.json {
            write_line(&Conclusion::Machines { group: &measured.group, ranking: &ranking })
        } else {
            write!(stdout(), "{}", machines_text(&ranking, &table_options()))
        })?;
        if !arguments.no_page {
            let page = machines_page(&ranking)?;
            let default = || places.page(&measured.group);
            let path = files::write_page(arguments.page.as_deref(), default, &page)?;
            let (run, path) = (&measured.group, &path);
            for_any_reader(match arguments.json {
                true => write_line(&Conclusion::Page { run, path }),
                false => writeln!(stdout(), "\nPage: {}", path.display()),
            })?;
        }
    }
    Ok(measured.require_all()?)
}

impl MeasureArguments {
    /// Refuses options that contradict `--continue`.
    fn check_continued(&self, guests: &GuestSettings) -> CommandResult {
        if !self.settings.is_empty() || guests.time.is_some() {
            let message =
                "`--continue` uses the settings of the interrupted run; leave out the settings";
            return Err(CommandError::usage(message));
        }
        if self.plan_only {
            return Err(CommandError::usage("`--plan-only` cannot be used with `--continue`"));
        }
        Ok(())
    }

    /// The plan of the experiment and the options.
    fn plan(&self, guest_time: Option<GuestTime>) -> CommandResult<Plan> {
        let overrides = Overrides {
            settings: self.settings.0.clone(),
            rounds: self.rounds,
            seed: self.seed,
            until: self.until,
            limit: self.limit,
            guest_time,
        };
        Ok(tactus_app::plan::plan(self.experiment.as_deref(), overrides, self.purpose)?)
    }
}

/// Prints the results of the run.
fn print_conclusions(
    subject: &Subject<'_>,
    causes: &[String],
    arguments: &MeasureArguments,
) -> CommandResult {
    let (id, run) = (subject.id(), subject.run());
    let verdict = verdict(run);
    let purposes = overview::purposes(run, arguments.purpose.as_slice());
    if arguments.json {
        for overview in &overview::cells(run) {
            write_line(&Conclusion::Result { run: id, overview })?;
        }
        if !causes.is_empty() {
            write_line(&Conclusion::Causes { run: id, causes })?;
        }
        write_line(&Conclusion::Verdict { run: id, verdict: &verdict })?;
        for verdict in &purposes {
            write_line(&Conclusion::Purpose { run: id, verdict })?;
        }
        return Ok(());
    }
    if let Some(form) = arguments.table.form() {
        return Ok(write!(stdout(), "{}", tactus_report::cells_file(&[run], form))?);
    }
    let mut out = stdout();
    let options = table_options();
    write!(out, "{}", tactus_report::outcome_text(run, &options))?;
    for line in causes {
        write!(out, "{}", tactus_report::lines(line, &options))?;
    }
    let cells = tactus_report::cells_table(run, &options);
    if !cells.is_empty() {
        write!(out, "\n{cells}")?;
    }
    write!(out, "{}", tactus_report::until_text(run, options.width))?;
    write!(out, "\n{}", tactus_report::verdict_text(&verdict, options.width))?;
    Ok(write!(out, "{}", tactus_report::purposes_text(&purposes, &options))?)
}

fn write_page(
    subject: Subject<'_>,
    explanations: Vec<CellExplanation>,
    arguments: &MeasureArguments,
    places: &Places,
) -> CommandResult {
    if arguments.no_page {
        return Ok(());
    }
    let run = subject.id().clone();
    let options = PageOptions { purposes: arguments.purpose.as_slice(), ticks: &[] };
    let page = page::of_explained(subject, explanations, &options)?;
    let path = files::write_page(arguments.page.as_deref(), || places.page(&run), &page)?;
    if arguments.json {
        return Ok(write_line(&Conclusion::Page { run: &run, path: &path })?);
    }
    if arguments.table.form().is_some() {
        say!("Page: {}", path.display());
        return Ok(());
    }
    Ok(writeln!(stdout(), "\nPage: {}", path.display())?)
}
