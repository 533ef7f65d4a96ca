//! `tactus delete`: takes runs out of the store.

use clap::Args;
use tactus_app::{Places, runs};

use crate::error::CommandResult;

/// Delete runs from the store for good.
#[derive(Args)]
pub(crate) struct DeleteArguments {
    /// Runs by name, unique beginning of a name, or `last`
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
}

pub(crate) fn run(arguments: &DeleteArguments, places: &Places) -> CommandResult {
    let mut store = places.open_store()?;
    Ok(runs::delete(&mut store, &arguments.runs, |run| eprintln!("{run} deleted"))?)
}
