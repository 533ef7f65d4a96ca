//! `tactus completions`: completion scripts for shells.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::error::CommandResult;

/// Print the completion script for a shell.
///
/// Example: tactus completions bash > ~/.local/share/bash-completion/completions/tactus
#[derive(Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArguments) -> CommandResult {
    generate(arguments.shell, &mut crate::arguments(), "tactus", &mut std::io::stdout());
    Ok(())
}
