//! The body of the measuring process.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tactus_load::{HostOptions, RunningLoad};
use tactus_probe::live::SampleRings;
use tactus_probe::{LiveTasks, ProbeEvent};

use super::{LiveEvent, LiveRequest};
use tactus_cell::{Stopped, load_ended, machine, own_executable, task_process};

/// Runs the measuring process of a watched cell: the request on standard input, the messages
/// on standard output.
///
/// # Errors
/// A message cannot be written.
pub fn main() -> io::Result<()> {
    let last = match measure() {
        Ok(()) => LiveEvent::Ended,
        Err(Stopped { reason, hint }) => LiveEvent::Failed { reason, hint },
    };
    send(&last)
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
        send(&LiveEvent::Shortfall(shortfall))?;
    }
    let mut load = RunningLoad::start(&request.cell.load, &options)?;
    for shortfall in load.shortfalls() {
        send(&LiveEvent::Shortfall(shortfall.clone()))?;
    }
    thread::sleep(Duration::from(request.cell.warmup));

    // Sent after the start, because nothing may be written while the probe starts to measure.
    let mut shortfalls = Vec::new();
    let process = task_process(executable);
    let tasks =
        LiveTasks::start(&request.cell, request.seed, &process, &Arc::new(rings), &mut |event| {
            if let ProbeEvent::Shortfall(shortfall) = event {
                shortfalls.push(shortfall);
            }
        })?;
    for shortfall in shortfalls {
        send(&LiveEvent::Shortfall(shortfall))?;
    }
    // This thread sleeps unless a copy ends by itself; the load ends with this process.
    let name = request.cell.load.load.to_string();
    thread::spawn(move || {
        while let Some(reason) = load.next_end() {
            // The reader is gone if the watch is over.
            let _ = send(&LiveEvent::Shortfall(load_ended(&name, &reason)));
        }
        // Dropping the load would end its remaining copies.
        loop {
            thread::park();
        }
    });
    let (opened, threads) = (tasks.opened(), tasks.threads().to_vec());
    send(&LiveEvent::Opened { opened, threads })?;
    tasks.wait()?;
    Ok(())
}

fn send(message: &LiveEvent) -> io::Result<()> {
    Ok(tactus_wire::responses().write(message)?)
}
