//! `tactus export`: a run as complete JSON.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::open_store;
use crate::error::{CommandError, CommandResult, ErrorKind};

/// Write a run as complete JSON (documented in docs/run-format.md).
#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The run by name, unique beginning of a name, or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out the single samples, which are most of the size
    #[arg(long)]
    without_samples: bool,
}

pub(crate) fn run(arguments: &ExportArguments) -> CommandResult {
    let store = open_store()?;
    let run = store.find(&arguments.run)?;
    let samples = !arguments.without_samples;
    match &arguments.output {
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            store.export(&run, &mut out, samples)?;
            out.flush()?;
        }
        Some(path) => {
            let unwritable = |error| CommandError::new(ErrorKind::Unavailable, error);
            let name = || format!("{} cannot be written", path.display());
            let file = File::create(path).with_context(name).map_err(unwritable)?;
            let mut out = BufWriter::new(file);
            store.export(&run, &mut out, samples)?;
            out.flush().with_context(name).map_err(unwritable)?;
            eprintln!("{run} written to {}", path.display());
        }
    }
    Ok(())
}
