//! `tactus reproduce`: a paper's figures beside this machine's.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tactus_explain::account::{AccountOptions, Accounts, account};
use tactus_explain::witness;
use tactus_judge::reproduce::{
    Evidence, InGuest, Measured, PAPERS, Paper, Part, PartFound, Recorded, Reproduction, find,
    kernel_names, reproduce,
};
use tactus_lab::shipped;
use tactus_model::experiment::{Experiment, Overrides, Plan};
use tactus_model::facts::MachineFacts;
use tactus_model::guest::Guest;
use tactus_model::run::{Run, RunStatus};
use tactus_model::time::{Nanos, Realtime};
use tactus_record::file::RecordingFile;
use tactus_report::{Form, format};
use tactus_store::Store;

use super::explain::{cost_of_cells, probe_tasks};
use super::lab::GuestOptions;
use super::measure::{GuestWishes, carry_out, read_facts, targets};
use super::report::{default_page, write_file};
use super::{new_seed, open_store, table_options};
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::json_lines::write_line;

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

pub(crate) fn run(arguments: &ReproduceArguments) -> CommandResult {
    let Some(name) = &arguments.paper else { return list(arguments.json) };
    let paper =
        find(name).map_err(|error| CommandError::new(ErrorKind::Usage, anyhow::anyhow!(error)))?;
    let chosen = chosen(&paper, &arguments.part)?;
    let store = open_store()?;
    if !arguments.from.is_empty() {
        let runs = taken_up(&store, &paper, &chosen, &arguments.from)?;
        return conclude(&store, &paper, &runs, arguments);
    }
    if arguments.kernel.is_empty() && !arguments.guests.are_absent() {
        return Err(CommandError::usage(
            "--exact, --mips and --guest-limit are for guests; name a kernel, as --kernel debian",
        ));
    }
    if arguments.kernel.iter().any(|kernel| kernel == "host") {
        return Err(CommandError::usage(
            "a paper is measured on this machine or in guests, not in both; leave out --kernel host",
        ));
    }
    let guests = Guests { kernels: &arguments.kernel, wishes: arguments.guests.wishes()? };
    let mut plans: Vec<(Vec<usize>, Plan)> = Vec::new();
    for number in chosen {
        let seed = arguments.seed.unwrap_or_else(new_seed);
        let plan = planned(&paper.parts[number], arguments.full, seed, &guests)?;
        match plans.iter_mut().find(|(_, known)| serves(known, &plan)) {
            Some((parts, _)) => parts.push(number),
            None => plans.push((vec![number], plan)),
        }
    }
    if arguments.plan_only {
        return print_plans(&plans, arguments.json);
    }
    let runs = measured(store, &paper, &plans, guests.wishes.limit, arguments.json)?;
    conclude(&open_store()?, &paper, &runs, arguments)
}

fn list(json: bool) -> CommandResult {
    let papers = PAPERS.iter().map(|(name, _)| find(name)).collect::<Result<Vec<Paper>, _>>();
    let papers = papers.map_err(CommandError::internal)?;
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

/// The numbers of the parts that were named; all when none was.
fn chosen(paper: &Paper, wanted: &[String]) -> CommandResult<Vec<usize>> {
    let names: Vec<&str> = paper.parts.iter().map(|part| part.name.as_str()).collect();
    if wanted.is_empty() {
        return Ok((0..names.len()).collect());
    }
    let number = |name: &String| {
        names.iter().position(|known| known == name).ok_or_else(|| {
            let hint = tactus_model::text::nearest(name, &names)
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let known = names.join(", ");
            CommandError::usage(format!(
                "{} has no part `{name}`; it has: {known}{hint}",
                paper.name
            ))
        })
    };
    wanted.iter().map(number).collect()
}

/// The guests that a paper is measured in; none when no kernel is named.
struct Guests<'a> {
    kernels: &'a [String],
    wishes: GuestWishes,
}

/// What is to be measured for a part.
fn planned(part: &Part, full: bool, seed: u64, guests: &Guests<'_>) -> CommandResult<Plan> {
    let in_guests = !guests.kernels.is_empty();
    let name = part.experiment_in(in_guests);
    let text = shipped::find(name)
        .ok_or_else(|| anyhow::anyhow!("the experiment {name} is not shipped"))
        .map_err(|error| CommandError::new(ErrorKind::Internal, error))?;
    let experiment = Experiment::parse(text).map_err(CommandError::internal)?;
    let mut overrides =
        Overrides { seed: Some(seed), guest_time: guests.wishes.time, ..Overrides::default() };
    if !full {
        overrides.rounds = Some(part.quick_in(in_guests).rounds);
        overrides.settings = part
            .quick_settings(in_guests)
            .map_err(|reason| CommandError::new(ErrorKind::Internal, anyhow::anyhow!(reason)))?;
    }
    if in_guests {
        let kernels = overrides.settings.set("kernel", guests.kernels.to_vec());
        kernels.map_err(|reason| CommandError::usage(format!("--{reason}")))?;
    }
    experiment.plan(&overrides).map_err(CommandError::internal)
}

/// Whether one run serves two plans, which may be of different seeds.
fn serves(one: &Plan, other: &Plan) -> bool {
    one.name == other.name && one.rounds == other.rounds && one.cells == other.cells
}

fn print_plans(plans: &[(Vec<usize>, Plan)], json: bool) -> CommandResult {
    for (_, plan) in plans {
        if json {
            write_line(plan)?;
        } else {
            write!(std::io::stdout(), "{}", tactus_report::plan_table(plan, &table_options()))?;
        }
    }
    Ok(())
}

/// The runs that were named, each for the parts whose experiment it is of.
fn taken_up(
    store: &Store,
    paper: &Paper,
    chosen: &[usize],
    names: &[String],
) -> CommandResult<Vec<Option<Run>>> {
    let mut runs: Vec<Option<Run>> = paper.parts.iter().map(|_| None).collect();
    for name in names {
        let run = store.load(&store.find(name)?)?;
        let of = &run.header.plan.name;
        let is_of =
            |part: &Part| [false, true].iter().any(|&guests| part.experiment_in(guests) == of);
        let parts: Vec<usize> =
            chosen.iter().copied().filter(|&number| is_of(&paper.parts[number])).collect();
        if parts.is_empty() {
            let wanted: Vec<&str> =
                chosen.iter().map(|&number| paper.parts[number].experiment.as_str()).collect();
            return Err(CommandError::usage(format!(
                "{} is a run of {of}; this takes one of: {}",
                run.header.id,
                wanted.join(", ")
            )));
        }
        parts.into_iter().for_each(|part| runs[part] = Some(run.clone()));
    }
    Ok(runs)
}

/// Measures the parts one after another, those together that one run serves.
fn measured(
    mut store: Store,
    paper: &Paper,
    plans: &[(Vec<usize>, Plan)],
    guest_limit: Option<Nanos>,
    json: bool,
) -> CommandResult<Vec<Option<Run>>> {
    let mut runs: Vec<Option<Run>> = paper.parts.iter().map(|_| None).collect();
    let estimates: Vec<Nanos> =
        plans.iter().map(|(_, plan)| plan.estimate(&plan.turns())).collect();
    let of: usize = plans.iter().map(|(parts, _)| parts.len()).sum();
    let mut place = 0;
    for ((parts, plan), estimates) in plans.iter().zip((0..).map(|from| &estimates[from..])) {
        let left: Nanos = estimates.iter().copied().sum();
        let names: Vec<&str> =
            parts.iter().map(|&number| paper.parts[number].name.as_str()).collect();
        let counted = match parts.len() {
            1 => format!("part {}", place + 1),
            several => format!("parts {} to {}", place + 1, place + several),
        };
        let (names, left) = (names.join(" and "), format::span(left));
        eprintln!("{counted} of {of}, {names}: {left} left in all");
        place += parts.len();
        let targets = targets(&plan.cells, guest_limit)?;
        let id = store.create_run(
            plan,
            &read_facts(),
            env!("CARGO_PKG_VERSION"),
            tactus_sys::clock::now::<Realtime>(),
        )?;
        let status = carry_out(&mut store, &id, targets, json)?;
        let run = store.load(&id)?;
        parts.iter().for_each(|&number| runs[number] = Some(run.clone()));
        if status != RunStatus::Complete {
            let error = anyhow::anyhow!("{id} was interrupted; what was measured is kept");
            let hint = format!(
                "tactus measure --continue {id}, then tactus reproduce {} --from {id}",
                paper.name
            );
            return Err(CommandError::new(ErrorKind::Interrupted, error).with_hint(hint));
        }
    }
    Ok(runs)
}

/// Sets what was measured beside the paper, and shows it.
fn conclude(
    store: &Store,
    paper: &Paper,
    runs: &[Option<Run>],
    arguments: &ReproduceArguments,
) -> CommandResult {
    let told = arguments.preemption.as_deref();
    let runs = runs
        .iter()
        .map(|run| run.clone().map(|run| with_preemption(run, told)).transpose())
        .collect::<CommandResult<Vec<_>>>()?;
    let evidence = paper
        .parts
        .iter()
        .zip(&runs)
        .map(|(part, run)| run.as_ref().map_or(Ok(Vec::new()), |run| evidence(store, part, run)))
        .collect::<CommandResult<Vec<_>>>()?;
    let reproduction = reproduce(paper, &evidence);
    let measured: Vec<_> =
        reproduction.parts.iter().map(|found| shown(paper, found, &runs)).collect();
    if arguments.json {
        write_line(&Conclusion::Reproduction(&reproduction))?;
    } else {
        let text = tactus_report::reproduction_text(&reproduction, &measured, &table_options());
        write!(std::io::stdout(), "{text}")?;
    }
    let first = runs.iter().flatten().next().map(|run| &run.header.id);
    let path = match (&arguments.output, first) {
        _ if arguments.no_page => return Ok(()),
        (Some(path), _) => path.clone(),
        (None, Some(first)) => default_page(first)?.with_extension("reproduced.html"),
        (None, None) => return Ok(()),
    };
    let page = tactus_report::reproduction_page(&reproduction, &measured)?;
    write_file(&path, &page)?;
    if arguments.json {
        write_line(&Conclusion::Page { path: &path })?;
    } else {
        writeln!(std::io::stdout(), "\nPage: {}", path.display())?;
    }
    Ok(())
}

/// What is told of how a part was measured on one machine.
fn shown<'a>(
    paper: &Paper,
    found: &PartFound<'_>,
    runs: &'a [Option<Run>],
) -> Option<tactus_report::Measured<'a>> {
    let number = paper.parts.iter().position(|part| std::ptr::eq(part, found.part))?;
    let run = runs.get(number)?.as_ref()?;
    let form = form(found.part, &run.header.plan);
    Some(tactus_report::Measured { run, form, tracing_cost: cost_of_cells(run) })
}

/// The run, its machine's preemption model put in where it did not tell one.
fn with_preemption(mut run: Run, told: Option<&str>) -> CommandResult<Run> {
    let Some(told) = told else { return Ok(run) };
    let known: &mut MachineFacts = &mut run.header.facts_before;
    match &known.kernel.preemption {
        Some(model) if model != told => Err(CommandError::usage(format!(
            "the kernel of {} tells that its preemption model is {model}; leave --preemption out",
            run.header.id
        ))),
        _ => {
            known.kernel.preemption = Some(told.to_owned());
            Ok(run)
        }
    }
}

/// Whose settings a plan has.
fn form(part: &Part, plan: &Plan) -> Form {
    let kernels: Vec<String> = kernels(plan).iter().map(|guest| guest.kernel.to_string()).collect();
    let time = plan.cells.iter().find_map(|cell| cell.target.guest()).map(|guest| guest.time);
    let guests =
        Guests { kernels: &kernels, wishes: GuestWishes { time, ..GuestWishes::default() } };
    let is = |full: bool| {
        let other = planned(part, full, 0, &guests);
        other.is_ok_and(|other| other.rounds == plan.rounds && other.cells == plan.cells)
    };
    match (is(true), is(false)) {
        (true, _) => Form::Full,
        (_, true) => Form::Quick,
        _ => Form::Own,
    }
}

/// The guests of a plan, a kernel each, in the order of its cells.
fn kernels(plan: &Plan) -> Vec<&Guest> {
    let mut guests: Vec<&Guest> = Vec::new();
    for guest in plan.cells.iter().filter_map(|cell| cell.target.guest()) {
        if !guests.contains(&guest) {
            guests.push(guest);
        }
    }
    guests
}

/// What a run tells of a part, by the machines it was measured on: this one, or guests.
fn evidence<'a>(store: &Store, part: &Part, run: &'a Run) -> CommandResult<Vec<Evidence<'a>>> {
    let recorded = recorded(store, part, run)?;
    let id = &run.header.id;
    let guests: Vec<(&Guest, &MachineFacts)> = kernels(&run.header.plan)
        .into_iter()
        .filter_map(|guest| Some((guest, facts_of(run, guest)?)))
        .collect();
    if run.header.plan.cells.iter().all(|cell| cell.target.guest().is_none()) {
        let (facts, measured) =
            (&run.header.facts_before, Measured::of(part, run, None, &recorded));
        return Ok(vec![Evidence { run: id, guest: None, facts, measured }]);
    }
    let names = kernel_names(&guests).into_iter();
    let machines = guests.iter().zip(names).map(|(&(guest, facts), name)| {
        let measured = Measured::of(part, run, Some(&guest.kernel), &recorded);
        Evidence { run: id, guest: Some(InGuest { guest, name }), facts, measured }
    });
    Ok(machines.collect())
}

/// What a guest's own kernel told of itself, where one of its cells has a result.
fn facts_of<'a>(run: &'a Run, guest: &Guest) -> Option<&'a MachineFacts> {
    let cells = &run.header.plan.cells;
    let of_it = run.measurements.iter().filter(|found| {
        cells.get(found.turn.cell).and_then(|cell| cell.target.guest()) == Some(guest)
    });
    of_it.filter_map(|found| found.guest.as_deref()).map(|account| &account.facts).next()
}

/// What the recordings of every cell tell.
fn recorded(store: &Store, part: &Part, run: &Run) -> CommandResult<BTreeMap<usize, Recorded>> {
    let options = AccountOptions { rates: part.tick_rates() };
    let mut of_cells: BTreeMap<usize, (Recorded, Vec<Accounts>)> = BTreeMap::new();
    for measurement in &run.measurements {
        let (Some(traced), turn) = (&measurement.traced, measurement.turn) else { continue };
        let Some(evidence) = store.recording(&run.header.id, turn)? else { continue };
        let cell = &run.header.plan.cells[turn.cell];
        let (recorded, accounts) = of_cells.entry(turn.cell).or_default();
        let mut source = RecordingFile::from_bytes(evidence.recording.clone())
            .map_err(CommandError::internal)?;
        let tasks = probe_tasks(cell, traced, &evidence.samples)?;
        recorded.samples.extend(witness(&mut source, tasks).map_err(CommandError::internal)?);
        if !part.programs.is_empty() && cell.traced_events.show_who_ran() {
            let mut source =
                RecordingFile::from_bytes(evidence.recording).map_err(CommandError::internal)?;
            accounts.push(account(&mut source, &options).map_err(CommandError::internal)?);
        }
    }
    let pooled = of_cells.into_iter().map(|(cell, (recorded, accounts))| {
        (cell, Recorded { accounts: Accounts::pool(accounts), ..recorded })
    });
    Ok(pooled.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether one run in guests of `kernels` serves two parts of the study of 2003.
    fn share(kernels: &[String], parts: [&str; 2]) -> bool {
        let paper = find("clock-resolution").expect("it is shipped");
        let guests = Guests { kernels, wishes: GuestWishes::default() };
        let [one, other] = parts.map(|name| {
            let part = paper.parts.iter().find(|part| part.name == name).expect("it has the part");
            planned(part, false, 1, &guests).unwrap_or_else(|_| panic!("{name} has a plan"))
        });
        serves(&one, &other)
    }

    #[test]
    fn one_run_serves_parts_of_the_same_experiment() {
        let kernels = ["debian-cloud".to_owned()];
        assert!(share(&kernels, ["billing", "quanta"]));
        assert!(!share(&kernels, ["billing", "frames"]));
        assert!(!share(&[], ["billing", "quanta"]), "on a host each has its own");
    }
}
