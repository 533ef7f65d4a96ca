//! `tactus import`: runs from files into the store, ours and other tools'.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use tactus_import::{File, Format, Options, run_of};
use tactus_model::origin::Origin;
use tactus_model::run::{Run, RunId};
use tactus_model::time::{Instant, Nanos};
use tactus_report::format::{self, printable};
use tactus_store::Store;

use super::open_store;
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::json_lines::write_line;

/// Take results into the store: exported runs, and those of other latency tools.
///
/// Known are what `tactus export` writes; cyclictest's JSON (`--json=FILE` with `-h`) and
/// the histogram it prints (`-h`, `-H`); what `rtla timerlat hist` prints; the JSON of
/// jitterdebugger and of oslat; and interval logs of HdrHistogram. The format is
/// recognised by the content. What a file does not tell stays unknown: the load, the
/// machine, due times that its tool skipped.
#[derive(Args)]
pub(crate) struct ImportArguments {
    /// Files with results
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Take the files for this format: tactus, cyclictest-json, cyclictest-histogram, timerlat-histogram, jitterdebugger-json, oslat-json, hdr-log
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Take other tools' files, in the order given, as rounds of one run, so that they can be compared with confidence
    #[arg(long)]
    as_rounds: bool,
    /// The unit of figures whose unit the file does not tell, as 1us; without it, nanoseconds in interval logs and microseconds elsewhere
    #[arg(long, value_name = "LENGTH", value_parser = unit)]
    unit: Option<Nanos>,
    /// Write one JSON object a line, a run each
    #[arg(long)]
    json: bool,
}

/// Reads a unit, which must be some length.
fn unit(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(Nanos::ZERO) => {
            Err("a unit of no length tells nothing; write 1ns, 1us or 1ms".to_owned())
        }
        Ok(unit) => Ok(unit),
        Err(error) => Err(error.to_string()),
    }
}

/// What was imported, as `--json` gives it.
#[derive(Serialize)]
struct Imported<'a> {
    run: &'a RunId,
    files: &'a [String],
    format: &'a str,
    origin: Option<&'a Origin>,
}

pub(crate) fn run(arguments: &ImportArguments) -> CommandResult {
    let options = Options { format: arguments.format, unit: arguments.unit };
    let mut store = open_store()?;
    let groups: Vec<&[PathBuf]> = match arguments.as_rounds {
        true => vec![&arguments.files[..]],
        false => arguments.files.chunks(1).collect(),
    };
    for paths in groups {
        let named = || {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            format!(
                "{} {} not imported",
                names.join(", "),
                if names.len() == 1 { "was" } else { "were" }
            )
        };
        let (run, origin) = if arguments.as_rounds {
            foreign(&mut store, paths, &options)
        } else {
            either(&mut store, &paths[0], &options)
        }
        .with_context(named)
        .map_err(|error| CommandError::new(ErrorKind::Usage, error))?;
        tell(&run, paths, origin.as_ref(), arguments.json)?;
    }
    Ok(())
}

/// Imports one file, whoever wrote it.
fn either(
    store: &mut Store,
    path: &Path,
    options: &Options,
) -> anyhow::Result<(RunId, Option<Origin>)> {
    match read_file(path, options)? {
        Content::Exported(content) => Ok((store.import(&content[..])?, None)),
        Content::Foreign(run) => Ok((store.add(&run)?, run.header.origin)),
    }
}

/// Imports files of another tool as rounds of one run.
fn foreign(
    store: &mut Store,
    paths: &[PathBuf],
    options: &Options,
) -> anyhow::Result<(RunId, Option<Origin>)> {
    let files = paths.iter().map(|path| file(path)).collect::<anyhow::Result<Vec<File>>>()?;
    let run = run_of(&files, options)?;
    Ok((store.add(&run)?, run.header.origin))
}

/// What a file with a run holds.
pub(super) enum Content {
    /// An exported run, for the store to read.
    Exported(Vec<u8>),
    /// A run from another tool's result.
    Foreign(Box<Run>),
}

/// Reads a file with a run of ours or another tool's result.
pub(super) fn read_file(path: &Path, options: &Options) -> anyhow::Result<Content> {
    let file = file(path)?;
    let format = options.format.map_or_else(|| Format::recognise(&file.content), Ok)?;
    if format == Format::Tactus {
        return Ok(Content::Exported(file.content));
    }
    Ok(Content::Foreign(Box::new(run_of(&[file], &Options { format: Some(format), ..*options })?)))
}

fn file(path: &Path) -> anyhow::Result<File> {
    let content = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|moment| moment.duration_since(UNIX_EPOCH).ok());
    Ok(File {
        name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        content,
        modified: since.map(|since| Instant::from_nanos(Nanos::from(since).as_nanos())),
    })
}

fn tell(run: &RunId, paths: &[PathBuf], origin: Option<&Origin>, json: bool) -> CommandResult {
    if json {
        let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let format = origin.map_or(Format::Tactus.word(), |origin| &origin.format);
        write_line(&Imported { run, files: &files, format, origin })?;
        return Ok(());
    }
    if let Some(origin) = origin {
        let rounds = format::counted(origin.files.len() as u64, "round");
        eprintln!("{}, {rounds}", printable(&origin.program()));
        origin.notes.iter().for_each(|note| eprintln!("  - {}", printable(note)));
    }
    println!("{run}");
    Ok(())
}
