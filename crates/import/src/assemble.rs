//! Assembles files of another tool into one run, one round per file.

use tactus_model::cell::Cell;
use tactus_model::experiment::{Plan, Turn};
use tactus_model::facts::MachineFacts;
use tactus_model::limits::COUNT;
use tactus_model::origin::Origin;
use tactus_model::result::{LoadResult, MachineRates, Measurement, ProbeCost};
use tactus_model::run::{Run, RunHeader, RunId, RunStatus};
use tactus_model::time::{Instant, Nanos, Realtime};

use crate::error::ImportError;
use crate::format::Format;
use crate::result::{ForeignCell, ForeignResult};
use crate::{cyclictest, hdr_log, jitterdebugger, oslat, timerlat};

/// A file with its metadata.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name, without its directory.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
    /// Its modification time, used as the start of the measurement if the file does not contain
    /// that.
    pub modified: Option<Instant<Realtime>>,
}

/// Options of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; recognised from the content if absent.
    pub format: Option<Format>,
    /// The unit of figures, if the file does not contain it.
    pub unit: Option<Nanos>,
}

/// Assembles files of one tool into the rounds of one run, in the given order.
///
/// # Errors
/// A file has an unknown format or contradicts itself, or the files have different cells.
/// Exports of Tactus are rejected: the store reads them.
pub fn run_of(files: &[File], options: &Options) -> Result<Run, ImportError> {
    let first_file = files.first().ok_or(ImportError::NoFile)?;
    let mut rounds = Vec::new();
    for file in files {
        let format = match options.format {
            Some(format) => format,
            None => Format::recognise(&file.content)?,
        };
        rounds.push((format, read(file, format, options)?));
    }
    let tasks = rounds.iter().flat_map(|(_, round)| &round.cells).flat_map(|cell| &cell.tasks);
    // With this bound, no sum over any part of the run overflows.
    if tasks.fold(0, |sum: u64, task| sum.saturating_add(task.accounting.intended)) > COUNT {
        return Err(ImportError::Whole(format!("there are more than {COUNT} wakeups")));
    }
    let (format, first) = &rounds[0];
    for (file, (of, round)) in files.iter().zip(&rounds).skip(1) {
        if let Some(reason) = difference((*format, first), (*of, round)) {
            let (name, first) = (file.name.clone(), first_file.name.clone());
            return Err(ImportError::NotTheSame { name, first, reason });
        }
    }
    let created = began(first, first_file);
    let header = header(*format, first, files, created);
    let measurements = (0..)
        .zip(files.iter().zip(rounds))
        .flat_map(|(round, (file, (_, result)))| {
            let started = began(&result, file);
            (0..)
                .zip(result.cells)
                .map(move |(cell, found)| measurement(Turn { round, cell }, started, found))
        })
        .collect();
    Ok(Run { header, measurements, failures: Vec::new() })
}

fn read(file: &File, format: Format, options: &Options) -> Result<ForeignResult, ImportError> {
    let content = &file.content[..];
    match format {
        Format::Tactus => Err(ImportError::Whole(
            "an exported run cannot be a round of another run; import it by itself".to_owned(),
        )),
        Format::CyclictestJson => cyclictest::json::read(content),
        Format::CyclictestHistogram => cyclictest::histogram::read(content, options.unit),
        Format::TimerlatHistogram => timerlat::read(content),
        Format::JitterdebuggerJson => jitterdebugger::read(content, options.unit),
        Format::OslatJson => oslat::read(content),
        Format::HdrLog => hdr_log::read(content, options.unit),
    }
}

fn header(
    format: Format,
    first: &ForeignResult,
    files: &[File],
    created: Instant<Realtime>,
) -> RunHeader {
    let origin = Origin {
        tool: first.tool.to_owned(),
        version: first.version.clone(),
        command_line: first.command_line.clone(),
        format: format.word().to_owned(),
        files: files.iter().map(|file| file.name.clone()).collect(),
        notes: notes(first),
    };
    RunHeader {
        id: RunId::new(""),
        created,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        status: RunStatus::Complete,
        plan: Plan {
            name: first.tool.to_owned(),
            about: format!("Measured by {} and imported.", origin.program()),
            rounds: files.len() as u32,
            seed: 0,
            until: None,
            gate: None,
            cells: first.cells.iter().map(|found| found.cell.clone()).collect(),
        },
        facts_before: MachineFacts { taken: created, ..first.facts.clone() },
        facts_after: None,
        origin: Some(origin),
        command: None,
    }
}

fn notes(first: &ForeignResult) -> Vec<String> {
    let mut notes = first.notes.clone();
    if first.started.is_none() {
        notes.push(
            "The file does not contain its start time; its modification time is used.".to_owned(),
        );
    }
    notes
}

fn began(result: &ForeignResult, file: &File) -> Instant<Realtime> {
    result.started.or(file.modified).unwrap_or(Instant::from_nanos(0))
}

fn measurement(turn: Turn, started: Instant<Realtime>, found: ForeignCell) -> Measurement {
    Measurement {
        turn,
        started,
        window: found.window,
        block_length: if found.block_length > Nanos::ZERO {
            found.block_length
        } else {
            found.window
        },
        precision: Some(found.precision()),
        guest: None,
        tasks: found.task_results(),
        load: LoadResult::default(),
        rates: MachineRates::default(),
        cost: ProbeCost::default(),
        shortfalls: Vec::new(),
        traced: None,
    }
}

/// The difference that keeps two files from being rounds of the same run.
fn difference(
    (format, first): (Format, &ForeignResult),
    (of, other): (Format, &ForeignResult),
) -> Option<String> {
    if format != of {
        return Some(format!("its format is {of}, that of the first is {format}"));
    }
    if first.cells.len() != other.cells.len() {
        let (there, here) = (first.cells.len(), other.cells.len());
        return Some(format!("it has {here} cells and the first has {there}"));
    }
    let settings = |cell: &Cell| -> Vec<(&'static str, String)> {
        // The duration may differ between rounds.
        cell.settings().filter(|(name, _)| *name != "duration").collect()
    };
    first.cells.iter().zip(&other.cells).find_map(|(first, other)| {
        let pairs = settings(&first.cell).into_iter().zip(settings(&other.cell));
        pairs.into_iter().find(|(first, other)| first != other).map(|((name, there), (_, here))| {
            format!("{name} is {here} here and {there} in the first")
        })
    })
}
