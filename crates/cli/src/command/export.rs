//! `tactus export`: a run as complete JSON.

use std::fs::File;
use std::io;
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
            store.export(&run, io::stdout().lock(), samples)?;
        }
        Some(path) => {
            let file = File::create(path)
                .with_context(|| format!("{} cannot be written", path.display()))
                .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))?;
            store.export(&run, file, samples)?;
            eprintln!("{run} written to {}", path.display());
        }
    }
    Ok(())
}
