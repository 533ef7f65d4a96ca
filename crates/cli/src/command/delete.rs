//! `tactus delete`: deletes runs from the store.

use clap::Args;
use tactus_app::{Places, runs};
use tactus_model::address::Address;

use crate::error::CommandResult;
use crate::terminal::say;

/// Delete runs from the store permanently.
///
/// Every name is looked up first: if one is unknown, nothing is deleted. To keep a copy, export the
/// run before.
///
/// Example: tactus delete quick-20261121-113355
#[derive(Args)]
pub(crate) struct DeleteArguments {
    /// Runs: names, unique prefixes of names, or `last`
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<Address>,
}

pub(crate) fn run(arguments: &DeleteArguments, places: &Places) -> CommandResult {
    let mut store = places.open_store_to_delete()?;
    Ok(runs::delete(&mut store, &arguments.runs, |run| say!("deleted {run}"))?)
}
