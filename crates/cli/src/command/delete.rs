//! `tactus delete`: deletes runs from the store.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use tactus_app::{Error, Places, runs};
use tactus_model::address::Address;
use tactus_model::run::RunId;

use crate::error::CommandResult;
use crate::quietness::Quietness;
use crate::terminal::{message, say};

/// Delete runs from the store permanently.
///
/// Every name is looked up first: if one is unknown, nothing is deleted. To keep a copy, export the
/// run before. It asks before it deletes; without a terminal, --yes is required.
///
/// Example: tactus delete quick-20261121-113355
#[derive(Args)]
pub(crate) struct DeleteArguments {
    /// Runs: names, unique prefixes of names, or `last`
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<Address>,
    /// Delete without asking
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    quietness: Quietness,
}

pub(crate) fn run(arguments: &DeleteArguments, places: &Places) -> CommandResult {
    let mut store = places.open_store_to_delete()?;
    let agreed = |runs: &[RunId]| if arguments.yes { Ok(true) } else { ask(runs) };
    Ok(runs::delete(&mut store, &arguments.runs, agreed, |run| {
        arguments.quietness.note(format_args!("deleted {run}"));
    })?)
}

/// Asks on the terminal whether to delete these runs.
fn ask(runs: &[RunId]) -> tactus_app::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Error::usage("stdin or stderr is not a terminal, so nobody can be asked")
            .with_hint("to delete without asking, add `--yes`"));
    }
    let names: Vec<&str> = runs.iter().map(RunId::as_str).collect();
    let question = message(&format!("delete {} permanently? [y/N]", names.join(", ")));
    write!(io::stderr(), "{question} ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    let agreed = matches!(answer.trim(), "y" | "Y" | "yes");
    if !agreed {
        say!("nothing is deleted");
    }
    Ok(agreed)
}
