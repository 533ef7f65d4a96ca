//! `tactus internal`: the processes that measuring starts; not for people.

use clap::{Args, Subcommand};

use crate::error::{CommandError, CommandResult};

/// What a process that measuring starts has to do.
#[derive(Args)]
pub(crate) struct InternalArguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Clone, Copy, Subcommand)]
enum Role {
    /// Measure one cell
    Cell,
    /// Measure a cell that is looked at meanwhile
    Stream,
    /// Record the kernel's events and explain samples by them
    Causes,
    /// Run one task of a probe
    Task,
    /// Keep the copies of a load
    Load,
    /// Be one copy of a load
    LoadWorker,
    /// Change settings of the machine until the measurement ends
    Guardian,
}

pub(crate) fn run(arguments: &InternalArguments) -> CommandResult {
    match arguments.role {
        Role::Cell => tactus_cell::main().map_err(CommandError::internal),
        Role::Stream => tactus_lab::stream::main().map_err(CommandError::internal),
        Role::Causes => tactus_lab::causes::main().map_err(CommandError::internal),
        Role::Task => tactus_probe::task_main().map_err(CommandError::internal),
        Role::Load => tactus_load::host_main().map_err(CommandError::internal),
        Role::LoadWorker => tactus_load::worker_main().map_err(CommandError::internal),
        Role::Guardian => tactus_rt::settings::guardian_main().map_err(CommandError::internal),
    }
}
