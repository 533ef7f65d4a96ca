//! `tactus delete`: takes runs out of the store.

use clap::Args;

use super::{find_runs, open_store};
use crate::error::CommandResult;

/// Delete runs from the store for good.
#[derive(Args)]
pub(crate) struct DeleteArguments {
    /// Runs by name, unique beginning of a name, or `last`
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
}

pub(crate) fn run(arguments: &DeleteArguments) -> CommandResult {
    let mut store = open_store()?;
    // Every name is looked up before anything is deleted, so that a slip deletes nothing.
    for run in find_runs(&store, &arguments.runs)? {
        store.delete(&run)?;
        eprintln!("{run} deleted");
    }
    Ok(())
}
