//! `tactus costs`: what operations cost on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_app::measure::{GuestSettings, new_run, require_end};
use tactus_app::runs::Runs;
use tactus_app::{Places, Subject, costs, files};
use tactus_model::address::Address;
use tactus_model::experiment::{Overrides, Plan};
use tactus_model::run::{Run, RunId};
use tactus_model::warning::Warning;
use tactus_stats::costs::differences::Difference;
use tactus_stats::costs::ranking::Ranking;
use tactus_stats::costs::{CostRow, OverSizes, RunCosts};
use tactus_stats::interrupt_cost::InterruptCost;
use tactus_stats::modes::Modes;

use crate::error::{CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::listener::EventOptions;
use crate::setting_options::SettingOptions;
use crate::terminal::{print_plan, stdout, table_options};
use crate::values::{seed, whole};

/// Measure what operations cost on this machine: system calls, round trips, memory, clocks, interrupts.
///
/// It takes about three minutes, and about twenty seconds with --quick; --plan-only prints an estimate.
/// A busy machine takes longer, and the time left follows its pace. Each operation is measured in
/// several fresh processes, in random order, and gets a floor (the shortest sample), a median with an
/// interval, and a tail. Beside each batch of samples it times a system call, so that it notices a
/// machine with two speeds, and reads what else had the CPU. The run is stored.
///
/// It shows how costs grow with size, which of several operations for the same is cheapest at which
/// size, what changes such as another address space add, and under a load whose tail is shortest.
///
/// Settings replace those of the operations: --load shows the costs under a load, --policy fifo:50 those
/// of real-time threads. A repeated setting measures each of its values.
///
/// Examples: tactus costs -o costs.html; tactus costs --quick --load idle --load compute:cpus;
/// tactus costs --operation pipe --partner thread --partner process; tactus costs --run last --json
#[derive(Args)]
pub(crate) struct CostsArguments {
    /// Measure a few operations only
    #[arg(long, conflicts_with = "stored")]
    quick: bool,
    /// Stored run whose costs to print, instead of measuring
    #[arg(long = "run", id = "stored", value_name = "RUN")]
    stored: Option<Address>,
    #[command(flatten)]
    settings: SettingOptions,
    /// Number of processes that measure each operation [default: 5, with --quick 3]
    #[arg(short, long, value_name = "N", conflicts_with = "stored",
        value_parser = whole(1..=Plan::MAX_ROUNDS))]
    rounds: Option<u32>,
    /// Seed that determines the order of the cells [default: a new one]
    #[arg(long, value_name = "N", conflicts_with = "stored", value_parser = seed)]
    seed: Option<u64>,
    /// Print the cells and the estimated duration, without measuring
    #[arg(long, conflicts_with = "stored")]
    plan_only: bool,
    /// Also write an HTML page
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    events: EventOptions,
}

/// The lines that `--json` adds after the events of a run. Costs are in nanoseconds per operation.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Conclusion<'a> {
    /// An operation.
    Cost {
        run: &'a RunId,
        #[serde(flatten)]
        row: &'a CostRow,
    },
    /// How the cost of an operation grows with its size.
    Growth {
        run: &'a RunId,
        #[serde(flatten)]
        growth: &'a OverSizes,
    },
    /// The best of competing operations, by size.
    Ranking {
        run: &'a RunId,
        #[serde(flatten)]
        ranking: &'a Ranking,
    },
    /// What a change of a setting adds.
    Difference {
        run: &'a RunId,
        #[serde(flatten)]
        difference: &'a Difference,
    },
    /// A clock interrupt.
    Interrupts {
        run: &'a RunId,
        #[serde(flatten)]
        cost: &'a InterruptCost,
    },
    /// The machine, and what limits all figures.
    Machine {
        run: &'a RunId,
        system_call_ns: Option<f64>,
        modes: Option<Modes>,
        warnings: Vec<Warning>,
    },
    /// The page.
    Page { run: &'a RunId, path: &'a Path },
}

pub(crate) fn run(arguments: &CostsArguments, places: &Places) -> CommandResult {
    arguments.output.as_deref().map_or(Ok(()), files::check)?;
    if let Some(address) = &arguments.stored {
        return conclude(&Runs::new(places).find(address)?, arguments);
    }
    let overrides = Overrides {
        settings: arguments.settings.0.clone(),
        rounds: arguments.rounds,
        seed: arguments.seed,
        ..Overrides::default()
    };
    let plan = costs::plan(arguments.quick, overrides)?;
    if arguments.plan_only {
        return print_plan(&plan, arguments.events.json);
    }
    let mut store = places.open_store()?;
    let mut listener = arguments.events.listener();
    let done = new_run(places, &mut store, &plan, &GuestSettings::default(), &mut listener)?;
    for_any_reader(listener.end())?;
    let subject = Subject::stored(&store, &done.run)?;
    conclude(&subject, arguments)?;
    Ok(require_end(subject.run())?)
}

/// Prints the costs, and writes the page.
fn conclude(subject: &Subject<'_>, arguments: &CostsArguments) -> CommandResult {
    let (id, run) = (subject.id(), subject.run());
    let costs = costs::of(run)?;
    for_any_reader(match arguments.events.json {
        true => print_lines(run, &costs),
        false => {
            let text = tactus_report::costs_text(run, &costs, &table_options());
            write!(stdout(), "{text}").map_err(Into::into)
        }
    })?;
    let Some(path) = &arguments.output else { return Ok(()) };
    let page = tactus_report::costs_page(run, &costs)?;
    let path = files::write_page(Some(path), || Ok(path.clone()), &page)?;
    for_any_reader(match arguments.events.json {
        true => write_line(&Conclusion::Page { run: id, path: &path }),
        false => writeln!(stdout(), "\nPage: {}", path.display()),
    })
}

fn print_lines(subject: &Run, costs: &RunCosts) -> CommandResult {
    let run = &subject.header.id;
    for row in &costs.rows {
        write_line(&Conclusion::Cost { run, row })?;
    }
    for growth in &costs.growth {
        write_line(&Conclusion::Growth { run, growth })?;
    }
    for ranking in &costs.rankings {
        write_line(&Conclusion::Ranking { run, ranking })?;
    }
    for difference in &costs.differences {
        write_line(&Conclusion::Difference { run, difference })?;
    }
    for cost in &costs.interrupts {
        write_line(&Conclusion::Interrupts { run, cost })?;
    }
    Ok(write_line(&Conclusion::Machine {
        run,
        system_call_ns: costs.system_call_ns,
        modes: costs.modes,
        warnings: tactus_judge::costs::warnings(subject, costs),
    })?)
}
