//! `tactus reproduce`: a paper's figures beside those of this machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_app::reproduce::{Next, PartRuns, Study, Wanted, papers};
use tactus_app::{Places, files};
use tactus_model::address::Address;
use tactus_report::format;
use tactus_reproduce::{Paper, Reproduction, reproduce};

use crate::error::{CommandResult, for_any_reader};
use crate::guest_options::{self, GuestOptions};
use crate::json_lines::write_line;
use crate::listener::EventOptions;
use crate::quietness::Quietness;
use crate::terminal::{print_plan, stdout, table_options};
use crate::values::seed;

/// Repeat the measurements of a paper, and compare its figures with those of this machine.
///
/// Without a paper, it lists the papers. It measures a quick form of the paper's experiments (with
/// --full, for the paper's own durations) and reports whether each claim of the paper holds here.
///
/// With --kernel, it measures in guest kernels, like `tactus measure --kernel`, and compares them. Claims that
/// a guest or deterministic time cannot show are not judged. docs/lab.md describes guests.
///
/// Examples: tactus reproduce latency-method;
/// tactus reproduce latency-method --kernel debian:preempt=none --kernel debian-rt --exact
#[derive(Args)]
pub(crate) struct ReproduceArguments {
    /// Name of the paper [default: list the papers]
    #[arg(value_name = "PAPER")]
    paper: Option<String>,
    /// Part of the paper to measure; may be repeated [default: all parts]
    #[arg(long, value_name = "PART")]
    part: Vec<String>,
    /// Measure for the paper's own durations, half an hour to several hours [default: the quick form]
    #[arg(long, conflicts_with = "from")]
    full: bool,
    /// Use this run of the paper's experiment, without measuring; may be repeated
    #[arg(long, value_name = "RUN")]
    from: Vec<Address>,
    /// Measure in a guest with this kernel (`tactus lab kernels` lists them); repeat it to compare
    /// kernels [default: measure this machine]
    #[arg(long, value_name = "KERNEL", help_heading = guest_options::HEADING,
        conflicts_with_all = ["from", "preemption"])]
    kernel: Vec<String>,
    #[command(flatten)]
    guests: GuestOptions,
    /// Preemption model of the kernel, if the kernel does not report it
    #[arg(long, value_name = "MODEL", value_parser = ["none", "voluntary", "full", "lazy", "rt"])]
    preemption: Option<String>,
    /// Seed that determines the order of the cells and the random intervals [default: a new one]
    #[arg(long, value_name = "N", conflicts_with = "from", value_parser = seed)]
    seed: Option<u64>,
    /// Print the cells and the estimated duration, without measuring
    #[arg(long, conflicts_with = "from")]
    plan_only: bool,
    /// File of the HTML page [default: a file in reports/ beside the store]
    #[arg(short, long, value_name = "FILE", conflicts_with = "no_page")]
    output: Option<PathBuf>,
    /// Write no HTML page
    #[arg(long)]
    no_page: bool,
    #[command(flatten)]
    events: EventOptions,
}

/// The lines that `--json` adds after the events of the runs.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Conclusion<'a> {
    Reproduction(&'a Reproduction<'a>),
    Page { path: &'a Path },
}

/// A line of the list of papers.
#[derive(Serialize)]
struct PaperLine<'a> {
    name: &'a str,
    authors: &'a str,
    title: &'a str,
    published: &'a str,
    parts: Vec<&'a str>,
}

pub(crate) fn run(arguments: &ReproduceArguments, places: &Places) -> CommandResult {
    let Some(name) = &arguments.paper else { return list(arguments.events.json) };
    let study = Study::of(name, &arguments.part)?;
    arguments.output.as_deref().map_or(Ok(()), files::check)?;
    if !arguments.from.is_empty() {
        let store = places.open_store_to_read()?;
        let runs = study.from_runs(&store, &arguments.from)?;
        return conclude(&study.paper, runs, arguments, places);
    }
    arguments.guests.require_guests(!arguments.kernel.is_empty())?;
    let wanted = Wanted {
        full: arguments.full,
        seed: arguments.seed,
        kernels: arguments.kernel.clone(),
        guests: arguments.guests.settings()?,
    };
    let plans = study.plans(&wanted)?;
    if arguments.plan_only {
        return plans.iter().try_for_each(|plan| print_plan(&plan.plan, arguments.events.json));
    }
    let (mut store, mut listener) = (places.open_store()?, arguments.events.listener());
    let on_next = |next: &Next<'_>| print_next(next, arguments.events.quietness);
    let runs = study.measure(places, &mut store, &plans, &wanted.guests, &mut listener, on_next)?;
    for_any_reader(listener.end())?;
    let ended = runs.require_results();
    conclude(&study.paper, runs, arguments, places)?;
    Ok(ended?)
}

fn list(json: bool) -> CommandResult {
    let papers = papers()?;
    if !json {
        let text = tactus_report::papers_table(&papers, &table_options());
        write!(stdout(), "{text}")?;
        return Ok(());
    }
    for Paper { name, authors, title, published, parts, .. } in &papers {
        let parts = parts.iter().map(|part| part.name.as_str()).collect();
        write_line(&PaperLine { name, authors, title, published, parts })?;
    }
    Ok(())
}

fn print_next(next: &Next<'_>, quietness: Quietness) {
    let Next { parts, done, of, left } = next;
    let counted = match parts.len() {
        1 => format!("part {}", done + 1),
        several => format!("parts {} to {}", done + 1, done + several),
    };
    let (names, left) = (parts.join(" and "), format::span(*left));
    quietness.note(format_args!("{counted} of {of}: {names}; {left} left in total"));
}

/// Compares the runs with the paper, and prints the result.
fn conclude(
    paper: &Paper,
    mut runs: PartRuns<'_>,
    arguments: &ReproduceArguments,
    places: &Places,
) -> CommandResult {
    if let Some(model) = &arguments.preemption {
        runs.assume_preemption(model)?;
    }
    let study_runs = runs.study_runs(paper)?;
    let reproduction = reproduce(paper, &study_runs);
    let measured = runs.measured(&reproduction, paper);
    for_any_reader(if arguments.events.json {
        write_line(&Conclusion::Reproduction(&reproduction))
    } else {
        let text = tactus_report::reproduction_text(&reproduction, &measured, &table_options());
        write!(stdout(), "{text}")
    })?;
    let Some(first) = runs.first().filter(|_| !arguments.no_page) else { return Ok(()) };
    let default = || Ok(places.page(first)?.with_extension("reproduced.html"));
    let page = tactus_report::reproduction_page(&reproduction, &measured)?;
    let path = files::write_page(arguments.output.as_deref(), default, &page)?;
    for_any_reader(if arguments.events.json {
        write_line(&Conclusion::Page { path: &path })
    } else {
        writeln!(stdout(), "\nPage: {}", path.display())
    })
}
