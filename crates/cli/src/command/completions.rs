//! `tactus completions`: completion scripts for shells.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::error::CommandResult;

/// Write the completion script of a shell to standard output.
#[derive(Args)]
pub(crate) struct CompletionsArguments {
    /// The shell it is for
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArguments) -> CommandResult {
    generate(arguments.shell, &mut crate::arguments(), "tactus", &mut std::io::stdout());
    Ok(())
}
