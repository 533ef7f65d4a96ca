//! Importing runs from files into the store, our own and those of other tools.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use tactus_import::{File, Format, ImportError, Options, run_of};
use tactus_model::limits::FOREIGN_FILE_BYTES;
use tactus_model::origin::Origin;
use tactus_model::run::{Run, RunId};
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_record::codec::MAGIC;
use tactus_store::Store;

use crate::error::OrError;
use crate::{Error, ErrorKind, Result, files};

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
        Content::Exported(content) => Ok((store.import(content)?, None)),
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
        let files =
            paths.iter().map(|path| Opened::of(path)?.whole()).collect::<Result<Vec<File>>>()?;
        add(store, foreign(&files, options)?)
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
    /// An exported run, to be read a result at a time.
    Exported(Box<dyn Read>),
    /// A run from another tool's result.
    Foreign(Box<Run>),
}

/// How much of a file is read to recognise an exported run.
const BEGINNING: u64 = 1 << 16;

/// Reads a file with an exported run or another tool's result. Its errors do not name the file.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Content> {
    let opened = Opened::of(path)?;
    let is_exported = match options.format {
        Some(format) => format == Format::Tactus,
        None => matches!(Format::recognise(&opened.beginning), Ok(Format::Tactus)),
    };
    if is_exported {
        return Ok(Content::Exported(Box::new(opened.reader())));
    }
    Ok(Content::Foreign(Box::new(foreign(&[opened.whole()?], options)?)))
}

/// The run in files of another tool. A format that the user chose must not contradict the content:
/// tools share keys, so figures would be taken for what they are not.
fn foreign(files: &[File], options: &Options) -> Result<Run> {
    for file in files {
        let found = Format::recognise(&file.content);
        if let (Some(chosen), Ok(found)) = (options.format, found)
            && chosen != found
        {
            let reason = format!("the format of {} is {found}, not {chosen}", file.name);
            return Err(Error::usage(reason).with_hint("leave out `--format`"));
        }
    }
    run_of(files, options).map_err(|error| {
        let hint = "if you know the format: tactus import --format FORMAT FILE";
        let unknown = matches!(error, ImportError::Unrecognised);
        Error::usage(error).with_hint_if_any(unknown.then(|| hint.to_owned()))
    })
}

/// An open file whose beginning was read.
struct Opened {
    name: String,
    modified: Option<Instant<Realtime>>,
    beginning: Vec<u8>,
    rest: fs::File,
}

impl Opened {
    fn of(path: &Path) -> Result<Self> {
        let mut rest = files::open(path).map_err(unreadable)?;
        let mut beginning = Vec::new();
        (&mut rest).take(BEGINNING).read_to_end(&mut beginning).map_err(unreadable)?;
        if beginning.starts_with(&MAGIC) {
            let hint = format!("explain it with: tactus explain {}", path.display());
            return Err(Error::usage("it is a recording, not a run").with_hint(hint));
        }
        let modified = rest.metadata().and_then(|metadata| metadata.modified()).ok();
        let since = modified.and_then(|moment| moment.duration_since(UNIX_EPOCH).ok());
        Ok(Self {
            name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            modified: since.map(|since| Instant::from_nanos(Nanos::from(since).as_nanos())),
            beginning,
            rest,
        })
    }

    fn reader(self) -> impl Read {
        io::Cursor::new(self.beginning).chain(self.rest)
    }

    /// The whole file, which must not be larger than [`FOREIGN_FILE_BYTES`].
    fn whole(self) -> Result<File> {
        let (name, modified) = (self.name.clone(), self.modified);
        let mut content = Vec::new();
        let mut reader = self.reader().take(FOREIGN_FILE_BYTES + 1);
        reader.read_to_end(&mut content).map_err(unreadable)?;
        if content.len() as u64 > FOREIGN_FILE_BYTES {
            let limit = FOREIGN_FILE_BYTES >> 20;
            return Err(Error::usage(format!("it is larger than {limit} MiB")));
        }
        Ok(File { name, content, modified })
    }
}

fn unreadable(error: impl fmt::Display) -> Error {
    Error::usage(error.to_string())
}
