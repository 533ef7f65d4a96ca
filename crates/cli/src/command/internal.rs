//! `tactus internal`: the processes that tactus starts itself.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, Subcommand};
use tactus_app::measure::Listener;
use tactus_app::{BuildListener, Places};
use tactus_lab::event::Event;
use tactus_lab::target::Stopper;
use tactus_model::experiment::Turn;

use crate::error::{CommandError, CommandResult};
use crate::signals::on_interrupt;
use crate::terminal::say;

/// Run one of the processes that tactus starts itself.
#[derive(Args)]
pub(crate) struct InternalArguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Measure one cell
    Cell,
    /// Measure one cell and pass its samples on while measuring
    Live,
    /// Record kernel events and explain late samples
    Causes,
    /// Run a pipeline with real processes
    Pipeline,
    /// Run one task of a probe
    Task,
    /// Prepare the caches for the events of a task, which interrupt this process
    Interrupted,
    /// Send the packets of the net probe's senders
    Relay,
    /// Run the workers of a load
    Load,
    /// Run one worker of a load
    LoadWorker,
    /// Change settings of the machine, and restore them when the measurement ends
    Guardian,
    /// Observe one playback of a player
    Observer,
    /// Measure the turns of one task of a job on a cluster
    Shard {
        #[arg(long)]
        job: PathBuf,
        #[arg(long)]
        task: usize,
        #[arg(long)]
        node: String,
    },
    /// Measure the plan of a job on the node of one task
    Node {
        #[arg(long)]
        job: PathBuf,
        #[arg(long)]
        task: usize,
        #[arg(long)]
        node: String,
    },
    /// Execute a command as soon as it has its reserve
    Reserved {
        #[arg(long)]
        parent: u32,
        #[arg(long)]
        lock_memory: bool,
        #[arg(last = true)]
        command: Vec<OsString>,
    },
}

impl InternalArguments {
    /// Whether the process may open the kernel's tracepoints.
    pub(crate) fn may_record(&self) -> bool {
        match self.role {
            Role::Cell | Role::Live | Role::Causes | Role::Node { .. } => true,
            Role::Pipeline
            | Role::Task
            | Role::Interrupted
            | Role::Relay
            | Role::Load
            | Role::LoadWorker
            | Role::Guardian
            | Role::Observer
            | Role::Shard { .. }
            | Role::Reserved { .. } => false,
        }
    }
}

pub(crate) fn run(arguments: &InternalArguments, places: &Places) -> CommandResult {
    match &arguments.role {
        Role::Cell => tactus_cell::main().map_err(CommandError::internal),
        Role::Pipeline => tactus_cell::pipeline_main().map_err(CommandError::internal),
        Role::Live => tactus_lab::live::main().map_err(CommandError::internal),
        Role::Causes => tactus_lab::causes::main().map_err(CommandError::internal),
        Role::Task => tactus_probe::task_main().map_err(CommandError::internal),
        Role::Interrupted => tactus_probe::interrupted_main().map_err(CommandError::internal),
        Role::Relay => tactus_probe::relay_main().map_err(CommandError::internal),
        Role::Load => tactus_load::host_main().map_err(CommandError::internal),
        Role::LoadWorker => tactus_load::worker_main().map_err(CommandError::internal),
        Role::Guardian => tactus_settings::guardian_main().map_err(CommandError::internal),
        Role::Observer => tactus_observer::observer_main().map_err(CommandError::internal),
        Role::Shard { job, task, node } => {
            let stop = Arc::new(AtomicBool::new(false));
            let requested = Arc::clone(&stop);
            on_interrupt(move |_| requested.store(true, Ordering::SeqCst))?;
            let on_turn = |number: usize, turn: Turn| {
                say!("turn {number}: round {}, cell {}", turn.round, turn.cell);
            };
            Ok(tactus_app::cluster::run_task(places, job, *task, node, &stop, &on_turn)?)
        }
        Role::Node { job, task, node } => {
            Ok(tactus_app::nodes::run_node(places, job, *task, node, &mut NodeLog)?)
        }
        Role::Reserved { parent, lock_memory, command } => {
            Ok(tactus_app::reserve::become_command(*parent, command, *lock_memory)?)
        }
    }
}

/// Writes the progress of a node into the log of its task.
struct NodeLog;

impl Listener for NodeLog {
    fn begins(&mut self, stopper: &Stopper) -> io::Result<()> {
        let stopper = stopper.clone();
        on_interrupt(move |_| stopper.stop())
    }

    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::TurnStarted { label, done, of, .. } => {
                say!("turn {} of {of}: {label}", done + 1);
            }
            Event::TurnFailed { label, failure, .. } => say!("{label} failed: {}", failure.reason),
            _ => {}
        }
    }

    fn building(&self) -> BuildListener {
        Box::new(|_| ())
    }
}
