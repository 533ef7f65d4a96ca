//! Importing runs from files into the store, our own and those of other tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use tactus_import::{File, Format, Options, run_of};
use tactus_model::origin::Origin;
use tactus_model::run::{Run, RunId};
use tactus_model::time::{Instant, Nanos};
use tactus_store::Store;

use crate::error::OrError;
use crate::{Error, ErrorKind, Result};

/// A run that was imported.
#[derive(Debug, Serialize)]
pub struct Imported {
    /// Its name in the store.
    pub run: RunId,
    /// The files it came from.
    pub files: Vec<String>,
    /// Their format, as a word.
    pub format: String,
    /// The tool that measured, and its files; `None` for an exported run.
    pub origin: Option<Origin>,
}

/// Imports a file of any known format.
///
/// # Errors
/// The file cannot be read or contains no run, or its run is already in the store.
pub fn file(store: &mut Store, path: &Path, options: &Options) -> Result<Imported> {
    let mut import = || match read(path, options)? {
        Content::Exported(content) => Ok((store.import(&content[..])?, None)),
        Content::Foreign(run) => add(store, *run),
    };
    imported(import(), std::slice::from_ref(&path.to_owned()))
}

/// Imports files of another tool as rounds of one run, in the order given.
///
/// # Errors
/// A file cannot be read or was not written by another tool, or the files do not belong together.
pub fn rounds(store: &mut Store, paths: &[PathBuf], options: &Options) -> Result<Imported> {
    let mut import = || {
        let files = paths.iter().map(|path| content_of(path)).collect::<Result<Vec<File>>>()?;
        let run = run_of(&files, options).map_err(Error::usage)?;
        add(store, run)
    };
    imported(import(), paths)
}

/// Stores a run of another tool.
fn add(store: &mut Store, run: Run) -> Result<(RunId, Option<Origin>)> {
    let origin = run.header.origin.clone();
    Ok((store.add(run)?, origin))
}

fn imported(result: Result<(RunId, Option<Origin>)>, paths: &[PathBuf]) -> Result<Imported> {
    let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let (run, origin) =
        result.or_error(ErrorKind::Usage, || format!("cannot import {}", files.join(", ")))?;
    let format = origin.as_ref().map_or(Format::Tactus.word(), |origin| &origin.format).to_owned();
    Ok(Imported { run, files, format, origin })
}

/// The content of a file with a run.
pub(crate) enum Content {
    /// An exported run, to be parsed.
    Exported(Vec<u8>),
    /// A run from another tool's result.
    Foreign(Box<Run>),
}

/// Reads a file with an exported run or another tool's result.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Content> {
    let file = content_of(path)?;
    let format = options.format.map_or_else(|| Format::recognise(&file.content), Ok);
    let format = format.map_err(Error::usage)?;
    if format == Format::Tactus {
        return Ok(Content::Exported(file.content));
    }
    let options = Options { format: Some(format), ..*options };
    Ok(Content::Foreign(Box::new(run_of(&[file], &options).map_err(Error::usage)?)))
}

fn content_of(path: &Path) -> Result<File> {
    let content =
        fs::read(path).or_error(ErrorKind::Usage, || format!("cannot read {}", path.display()))?;
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|moment| moment.duration_since(UNIX_EPOCH).ok());
    Ok(File {
        name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        content,
        modified: since.map(|since| Instant::from_nanos(Nanos::from(since).as_nanos())),
    })
}
