//! `tactus measure`: the main job.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use tactus_guests::{GuestPlaces, Guests};
use tactus_judge::purpose::{Purpose, PurposeVerdict};
use tactus_judge::verdict::{Verdict, verdict};
use tactus_lab::engine::Engine;
use tactus_lab::event::Event;
use tactus_lab::host::Host;
use tactus_lab::shipped;
use tactus_lab::targets::Targets;
use tactus_model::cell::Cell;
use tactus_model::experiment::{DEFAULTS, Experiment, Overrides, Plan};
use tactus_model::facts::MachineFacts;
use tactus_model::guest::GuestTime;
use tactus_model::run::{Run, RunId, RunStatus};
use tactus_model::time::{Nanos, Realtime};
use tactus_model::until::Aim;
use tactus_store::Store;

use super::report::{PageOptions, default_page, write_page};
use super::show::{CellOverview, cell_overviews, verdicts};
use super::{lab, new_seed, open_store, table_options};
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::json_lines::{JsonLines, write_line};
use crate::progress::Progress;
use crate::setting_options::SettingOptions;
use crate::signals::on_interrupt;

/// Measure wakeup latency under loads and policies, keep it, and show it.
///
/// Without arguments this is the experiment `quick`, which takes about a minute.
/// With settings alone it is one cell of those settings, the defaults for the
/// rest; a setting given several times makes a cell for each of its values.
#[derive(Args)]
pub(crate) struct MeasureArguments {
    /// An experiment file, or the name of a shipped one: quick, standard, papers/timer-latency, papers/latency-method, papers/frames
    #[arg(value_name = "EXPERIMENT", conflicts_with = "continued")]
    experiment: Option<String>,
    #[command(flatten)]
    settings: SettingOptions,
    /// How many times every cell is measured
    #[arg(long, value_name = "N", conflicts_with = "continued")]
    rounds: Option<u32>,
    /// Add rounds until the 95 % interval of a percentile is this narrow in every cell: p99.9:5% of
    /// the percentile, or p99:2us; there are three rounds at least
    #[arg(long, value_name = "PERCENTILE:WIDTH", conflicts_with = "continued")]
    until: Option<Aim>,
    /// With --until: add no round that would end later than this; 10min unless told otherwise
    #[arg(long, value_name = "TIME", conflicts_with = "continued")]
    limit: Option<Nanos>,
    /// The seed of the order of cells and of random intervals
    #[arg(long, value_name = "N", conflicts_with = "continued")]
    seed: Option<u64>,
    /// What the machine is for: audio:48000/64, control:1kHz:50us, video:60, midi, or a period and
    /// the lateness that does no harm, as 2ms:100us; cells of options alone are measured at its period
    #[arg(long = "for", value_name = "PURPOSE")]
    purpose: Option<Purpose>,
    /// Print the cells and how long they will take, and measure nothing
    #[arg(long)]
    plan_only: bool,
    /// Take the turns that an interrupted run has left
    #[arg(long = "continue", id = "continued", value_name = "RUN")]
    continued: Option<String>,
    /// Write the page to this file instead of one beside the store
    #[arg(long, value_name = "FILE", conflicts_with = "no_page")]
    page: Option<PathBuf>,
    /// Write no page
    #[arg(long)]
    no_page: bool,
    /// Write events and results as JSON, one object a line
    #[arg(long)]
    json: bool,
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
    Page {
        run: &'a RunId,
        path: &'a Path,
    },
}

impl MeasureArguments {
    /// Has the experiment `name` measured when none is named.
    pub(super) fn default_experiment(&mut self, name: &str) {
        if self.continued.is_none() {
            self.experiment.get_or_insert_with(|| name.to_owned());
        }
    }
}

/// What is wished of the guests of a plan that has some.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GuestWishes {
    /// How time passes there, in place of what the experiment says.
    pub(super) time: Option<GuestTime>,
    /// How long each may take on the host.
    pub(super) limit: Option<Nanos>,
    /// How many machines must say the same in exact time.
    pub(super) proofs: Option<usize>,
}

pub(crate) fn run(arguments: &MeasureArguments) -> CommandResult {
    run_with(arguments, &GuestWishes::default())
}

/// Measures, with guests as they are wished.
pub(super) fn run_with(arguments: &MeasureArguments, guests: &GuestWishes) -> CommandResult {
    let planned = match &arguments.continued {
        Some(_) if !arguments.settings.is_empty() => {
            return Err(CommandError::usage(
                "a run is continued with the settings it began with; leave the settings out",
            ));
        }
        Some(_) => None,
        None => Some(plan(arguments, guests.time)?),
    };
    if arguments.plan_only {
        return print_plan(planned.as_ref(), arguments);
    }
    let mut store = open_store()?;
    let (id, mut targets) = match (&planned, &arguments.continued) {
        (Some(plan), _) => {
            let targets = targets(&plan.cells, guests.limit)?;
            let now = tactus_sys::clock::now::<Realtime>();
            let version = env!("CARGO_PKG_VERSION");
            (store.create_run(plan, &read_facts(), version, now)?, targets)
        }
        (None, name) => {
            let id = unfinished(&store, name.as_deref().unwrap_or("last"))?;
            let targets = targets(&store.header(&id)?.plan.cells, guests.limit)?;
            (id, targets)
        }
    };
    if let (Some(in_guests), Some(proofs)) = (&mut targets.guests, guests.proofs) {
        in_guests.proofs = proofs;
    }
    let status = carry_out(&mut store, &id, targets, arguments.json)?;
    let run = store.load(&id)?;
    conclude(&store, &run, arguments)?;
    match status {
        RunStatus::Complete => Ok(()),
        RunStatus::Interrupted | RunStatus::Unfinished => {
            let kept = run.measurements.len() + run.failures.len();
            let all = run.header.plan.turns().len();
            Err(CommandError::new(
                ErrorKind::Interrupted,
                anyhow::anyhow!("{kept} of {all} turns are taken and kept"),
            )
            .with_hint(format!("tactus measure --continue {id}")))
        }
    }
}

pub(super) fn read_facts() -> MachineFacts {
    tactus_sys::facts::read(Path::new("/"))
}

/// Reads the experiment and lays the options over it.
fn plan(arguments: &MeasureArguments, guest_time: Option<GuestTime>) -> CommandResult<Plan> {
    let (name, text) = experiment_text(arguments)?;
    let mut experiment = Experiment::parse(&text)
        .with_context(|| name.clone())
        .map_err(|error| CommandError::new(ErrorKind::Usage, error))?;
    if experiment.name == "default" {
        "measure".clone_into(&mut experiment.name);
    }
    let seed = arguments.seed.or(experiment.seed);
    let mut settings = arguments.settings.0.clone();
    if let (Some(purpose), None) = (arguments.purpose, &arguments.experiment)
        && settings.values("interval").is_none()
    {
        settings
            .set("interval", vec![purpose.period().to_string()])
            .map_err(CommandError::usage)?;
    }
    let overrides = Overrides {
        settings,
        rounds: arguments.rounds,
        seed: Some(seed.unwrap_or_else(new_seed)),
        until: arguments.until,
        limit: arguments.limit,
        guest_time,
    };
    experiment
        .plan(&overrides)
        .with_context(|| name)
        .map_err(|error| CommandError::new(ErrorKind::Usage, error))
}

/// The experiment that was named, or what is meant when none was.
fn experiment_text(arguments: &MeasureArguments) -> CommandResult<(String, String)> {
    let Some(name) = &arguments.experiment else {
        let text = if arguments.settings.is_empty() {
            shipped::find("quick").unwrap_or(DEFAULTS)
        } else {
            DEFAULTS
        };
        return Ok(("the options".to_owned(), text.to_owned()));
    };
    Ok((name.clone(), read_experiment(name)?))
}

/// The text of a shipped experiment, or of a file.
pub(super) fn read_experiment(name: &str) -> CommandResult<String> {
    if let Some(text) = shipped::find(name) {
        return Ok(text.to_owned());
    }
    let names: Vec<&str> = shipped::EXPERIMENTS.iter().map(|(name, _)| *name).collect();
    fs::read_to_string(name)
        .with_context(|| {
            let nearest = tactus_model::text::nearest(name, &names)
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            format!(
                "`{name}` is neither a file nor a shipped experiment ({}){nearest}",
                names.join(", ")
            )
        })
        .map_err(|error| CommandError::new(ErrorKind::Usage, error))
}

fn print_plan(plan: Option<&Plan>, arguments: &MeasureArguments) -> CommandResult {
    let Some(plan) = plan else {
        return Err(CommandError::usage("--plan-only and --continue do not go together"));
    };
    if arguments.json {
        write_line(plan)?;
    } else {
        write!(std::io::stdout(), "{}", tactus_report::plan_table(plan, &table_options()))?;
    }
    Ok(())
}

/// Finds a run that can be continued.
fn unfinished(store: &Store, name: &str) -> CommandResult<RunId> {
    let id = store.find(name)?;
    let header = store.header(&id)?;
    if header.status != RunStatus::Complete {
        return Ok(id);
    }
    let error =
        CommandError::usage(anyhow::anyhow!("{id} is complete; there is nothing left to take"));
    Err(match header.plan.until {
        Some(until) => error.with_hint(format!(
            "a complete run is never altered; to have more rounds, measure anew with --limit {}",
            until.limit.saturating_mul(2)
        )),
        None => error,
    })
}

/// Takes the turns, telling the listener that was asked for.
pub(super) fn carry_out(
    store: &mut Store,
    id: &RunId,
    targets: Targets,
    json: bool,
) -> CommandResult<RunStatus> {
    carry_out_until(store, id, targets, json, |_| false)
}

/// The same, up to the first event after which nothing further is wanted.
pub(super) fn carry_out_until(
    store: &mut Store,
    id: &RunId,
    mut targets: Targets,
    json: bool,
    is_enough: impl Fn(&Event<'_>) -> bool,
) -> CommandResult<RunStatus> {
    let longest = store.header(id)?.plan.cells.iter().map(Cell::length).max();
    // Guests are given up by their target, which knows more of them, and first.
    let guests = targets.guests.as_ref().map(|guests| guests.limit(longest.unwrap_or(Nanos::ZERO)));
    let mut engine = Engine::new(store, &mut targets, &read_facts);
    engine.patience += guests.unwrap_or_default();
    let stopper = engine.stopper();
    let interrupter = stopper.clone();
    on_interrupt(move || interrupter.stop())?;
    let mut progress = Progress::new();
    let mut lines = JsonLines::default();
    let mut listener = |event: Event<'_>| {
        if json {
            lines.hear(&event);
        }
        progress.hear(&event);
        if is_enough(&event) {
            stopper.stop();
        }
    };
    let status = engine.carry_out(id, &mut listener)?;
    lines.error.map_or(Ok(status), |error| Err(error.into()))
}

/// Prepares the targets of `cells`. Kernels that are not there are fetched now, before
/// there is a run.
pub(super) fn targets(cells: &[Cell], guest_limit: Option<Nanos>) -> CommandResult<Targets> {
    let executable = std::env::current_exe()
        .context("the path of this program cannot be found")
        .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))?;
    let host = Host::new(executable.clone(), &["internal", "cell"]);
    let mut wanted = cells.iter().filter_map(|cell| cell.target.guest()).peekable();
    if wanted.peek().is_none() {
        return Ok(Targets { host, guests: None });
    }
    let places = GuestPlaces {
        executable,
        program: std::env::var_os("TACTUS_GUEST"),
        search_path: std::env::var_os("PATH").unwrap_or_default(),
        consoles: Store::default_path()?.with_file_name("consoles"),
    };
    let limit = guest_limit.map(Duration::from);
    let guests = Guests::prepare(places, &lab::kernels()?, limit, wanted)?;
    Ok(Targets { host, guests: Some(guests) })
}

/// Shows what the run found, and writes its page.
fn conclude(store: &Store, run: &Run, arguments: &MeasureArguments) -> CommandResult {
    let id = &run.header.id;
    let verdict = verdict(run);
    let purposes = verdicts(run, arguments.purpose.as_slice());
    if arguments.json {
        for overview in &cell_overviews(run) {
            write_line(&Conclusion::Result { run: id, overview })?;
        }
        write_line(&Conclusion::Verdict { run: id, verdict: &verdict })?;
        for verdict in &purposes {
            write_line(&Conclusion::Purpose { run: id, verdict })?;
        }
    } else {
        let mut out = std::io::stdout().lock();
        let options = table_options();
        write!(out, "{}", tactus_report::cells_table(run, &options))?;
        write!(out, "\n{}", tactus_report::outcome_text(run, &options))?;
        write!(out, "{}", tactus_report::until_text(run, options.width))?;
        write!(out, "\n{}", tactus_report::verdict_text(&verdict, options.width))?;
        write!(out, "{}", tactus_report::purposes_text(&purposes, &options))?;
    }
    if arguments.no_page {
        return Ok(());
    }
    let path = match &arguments.page {
        Some(path) => path.clone(),
        None => default_page(id)?,
    };
    let told = PageOptions { purposes: arguments.purpose.as_slice(), ticks: &[] };
    write_page(store, std::slice::from_ref(run), &told, &path)?;
    if arguments.json {
        write_line(&Conclusion::Page { run: id, path: &path })?;
    } else {
        writeln!(std::io::stdout(), "\nPage: {}", path.display())?;
    }
    Ok(())
}
