//! `tactus reproduce`: a paper's figures beside this machine's.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_app::reproduce::{Next, PartRuns, Study, Wanted, papers};
use tactus_app::{Places, files};
use tactus_report::format;
use tactus_reproduce::{Paper, Reproduction, reproduce};

use crate::error::{CommandError, CommandResult};
use crate::guest_options::GuestOptions;
use crate::json_lines::write_line;
use crate::listener::RunListener;
use crate::terminal::{print_plan, table_options};

/// Measure what a paper measured, and set its figures beside this machine's.
///
/// Without a paper, the papers are listed. A quick form of its experiments is
/// measured, unless --full asks for the paper's own durations. Of each of its
/// claims it is said whether it holds here.
///
/// With --kernel its experiments are measured in guest kernels, as `tactus lab measure` does,
/// and the kernels stand beside each other: `tactus reproduce latency-method --kernel
/// debian:preempt=none --kernel debian-rt --exact`. Of what a guest or exact time does not
/// have nothing is judged.
#[derive(Args)]
pub(crate) struct ReproduceArguments {
    /// The paper, by name
    #[arg(value_name = "PAPER")]
    paper: Option<String>,
    /// One part of it only, by name; may be given several times
    #[arg(long, value_name = "PART")]
    part: Vec<String>,
    /// Take the paper's own durations: from half an hour to some hours
    #[arg(long, conflicts_with = "from")]
    full: bool,
    /// Measure nothing, and use this run of the paper's experiment; may be given several times
    #[arg(long, value_name = "RUN")]
    from: Vec<String>,
    /// Measure in a guest of this kernel, as `tactus lab kernels` lists them; give it several times to
    /// compare
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["from", "preemption"])]
    kernel: Vec<String>,
    #[command(flatten)]
    guests: GuestOptions,
    /// How the kernel preempts itself, where it does not tell: none, voluntary, full, lazy, rt
    #[arg(long, value_name = "MODEL", value_parser = ["none", "voluntary", "full", "lazy", "rt"])]
    preemption: Option<String>,
    /// The seed of the order of cells and of random intervals
    #[arg(long, value_name = "N", conflicts_with = "from")]
    seed: Option<u64>,
    /// Print the cells and how long they will take, and measure nothing
    #[arg(long, conflicts_with = "from")]
    plan_only: bool,
    /// Write the page to this file instead of one beside the store
    #[arg(short, long, value_name = "FILE", conflicts_with = "no_page")]
    output: Option<PathBuf>,
    /// Write no page
    #[arg(long)]
    no_page: bool,
    /// Write events and the result as JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// The lines that `--json` adds after the events of the runs.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Conclusion<'a> {
    Reproduction(&'a Reproduction<'a>),
    Page { path: &'a Path },
}

/// A paper as a line of a list.
#[derive(Serialize)]
struct PaperLine<'a> {
    name: &'a str,
    authors: &'a str,
    title: &'a str,
    published: &'a str,
    parts: Vec<&'a str>,
}

pub(crate) fn run(arguments: &ReproduceArguments, places: &Places) -> CommandResult {
    let Some(name) = &arguments.paper else { return list(arguments.json) };
    let study = Study::of(name, &arguments.part)?;
    if !arguments.from.is_empty() {
        let store = places.open_store()?;
        let runs = study.taken_up(&store, &arguments.from)?;
        return conclude(&study.paper, runs, arguments, places);
    }
    if arguments.kernel.is_empty() && !arguments.guests.are_absent() {
        return Err(CommandError::usage(
            "--exact, --mips and --guest-limit are for guests; name a kernel, as --kernel debian",
        ));
    }
    let wanted = Wanted {
        full: arguments.full,
        seed: arguments.seed,
        kernels: arguments.kernel.clone(),
        guests: arguments.guests.wishes()?,
    };
    let plans = study.plans(&wanted)?;
    if arguments.plan_only {
        return plans.iter().try_for_each(|plan| print_plan(&plan.plan, arguments.json));
    }
    let (mut store, mut listener) = (places.open_store()?, RunListener::new(arguments.json));
    let runs =
        study.measure(places, &mut store, &plans, &wanted.guests, &mut listener, tell_next)?;
    listener.end()?;
    conclude(&study.paper, runs, arguments, places)
}

fn list(json: bool) -> CommandResult {
    let papers = papers()?;
    if !json {
        let text = tactus_report::papers_table(&papers, &table_options());
        write!(std::io::stdout(), "{text}")?;
        return Ok(());
    }
    for Paper { name, authors, title, published, parts, .. } in &papers {
        let parts = parts.iter().map(|part| part.name.as_str()).collect();
        write_line(&PaperLine { name, authors, title, published, parts })?;
    }
    Ok(())
}

fn tell_next(next: &Next<'_>) {
    let Next { parts, done, of, left } = next;
    let counted = match parts.len() {
        1 => format!("part {}", done + 1),
        several => format!("parts {} to {}", done + 1, done + several),
    };
    let (names, left) = (parts.join(" and "), format::span(*left));
    eprintln!("{counted} of {of}, {names}: {left} left in all");
}

/// Sets what was measured beside the paper, and shows it.
fn conclude(
    paper: &Paper,
    mut runs: PartRuns<'_>,
    arguments: &ReproduceArguments,
    places: &Places,
) -> CommandResult {
    if let Some(model) = &arguments.preemption {
        runs.assume_preemption(model)?;
    }
    let evidence = runs.evidence(paper)?;
    let reproduction = reproduce(paper, &evidence);
    let measured = runs.measured(&reproduction, paper);
    if arguments.json {
        write_line(&Conclusion::Reproduction(&reproduction))?;
    } else {
        let text = tactus_report::reproduction_text(&reproduction, &measured, &table_options());
        write!(std::io::stdout(), "{text}")?;
    }
    let path = match (&arguments.output, runs.first()) {
        _ if arguments.no_page => return Ok(()),
        (Some(path), _) => path.clone(),
        (None, Some(first)) => places.page(first)?.with_extension("reproduced.html"),
        (None, None) => return Ok(()),
    };
    let page = tactus_report::reproduction_page(&reproduction, &measured)?;
    files::write_page(&path, &page)?;
    if arguments.json {
        write_line(&Conclusion::Page { path: &path })?;
    } else {
        writeln!(std::io::stdout(), "\nPage: {}", path.display())?;
    }
    Ok(())
}
