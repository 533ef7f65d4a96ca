//! What runs inside the measuring process.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tactus_load::{HostOptions, RunningLoad};
use tactus_probe::live::SampleRings;
use tactus_probe::{LiveTasks, ProbeEvent};

use super::{LiveMessage, LiveRequest};
use tactus_cell::{Stopped, load_ended, machine, own_executable, task_process};

/// Runs the measuring process of a cell that is looked at: the request on standard
/// input, the messages on standard output.
///
/// # Errors
/// The messages cannot be written, so that nobody can be told what went wrong.
pub fn main() -> io::Result<()> {
    let last = match measure() {
        Ok(()) => LiveMessage::Ended,
        Err(Stopped { reason, hint }) => LiveMessage::Failed { reason, hint },
    };
    say(&last)
}

fn measure() -> Result<(), Stopped> {
    let request: LiveRequest =
        tactus_wire::requests().read().map_err(|error| Stopped::by_request(&error))?;
    let rings = SampleRings::inherit(request.rings.file, request.rings.layout)
        .map_err(|error| Stopped { reason: error.to_string(), hint: None })?;
    let executable = own_executable()?;
    let options = HostOptions::new(executable.clone());
    let (_settings, refused) = machine::hold(&request.cell, &executable, &options.directory);
    for shortfall in refused {
        say(&LiveMessage::Shortfall(shortfall))?;
    }
    let mut load = RunningLoad::start(&request.cell.load, &options)?;
    for shortfall in load.shortfalls() {
        say(&LiveMessage::Shortfall(shortfall.clone()))?;
    }
    thread::sleep(Duration::from(request.cell.warmup));

    // Told after the start, since nobody must write while it is being measured.
    let mut shortfalls = Vec::new();
    let process = task_process(executable);
    let tasks =
        LiveTasks::start(&request.cell, request.seed, &process, &Arc::new(rings), &mut |event| {
            if let ProbeEvent::Shortfall(shortfall) = event {
                shortfalls.push(shortfall);
            }
        })?;
    for shortfall in shortfalls {
        say(&LiveMessage::Shortfall(shortfall))?;
    }
    // It sleeps, unless a copy ends by itself, and the load ends with this process.
    let name = request.cell.load.load.to_string();
    thread::spawn(move || {
        while let Some(reason) = load.next_end() {
            // Nobody listens any more when it is over.
            let _ = say(&LiveMessage::Shortfall(load_ended(&name, &reason)));
        }
        // Dropping it would end what is left of it.
        loop {
            thread::park();
        }
    });
    let (opened, threads) = (tasks.opened(), tasks.threads().to_vec());
    say(&LiveMessage::Opened { opened, threads })?;
    tasks.wait()?;
    Ok(())
}

fn say(message: &LiveMessage) -> io::Result<()> {
    Ok(tactus_wire::answers().write(message)?)
}
