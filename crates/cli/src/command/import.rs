//! `tactus import`: a run from JSON into the store.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::open_store;
use crate::error::{CommandError, CommandResult, ErrorKind};

/// Take runs that were exported elsewhere into the store.
#[derive(Args)]
pub(crate) struct ImportArguments {
    /// Files that `tactus export` wrote
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &ImportArguments) -> CommandResult {
    let mut store = open_store()?;
    for path in &arguments.files {
        let file = File::open(path)
            .with_context(|| format!("{} cannot be read", path.display()))
            .map_err(|error| CommandError::new(ErrorKind::Usage, error))?;
        let run = store
            .import(BufReader::new(file))
            .with_context(|| format!("{} was not imported", path.display()))
            .map_err(|error| CommandError::new(ErrorKind::Usage, error))?;
        println!("{run}");
    }
    Ok(())
}
