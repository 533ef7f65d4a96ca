//! What runs inside the measuring process.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tactus_load::{HostOptions, RunningLoad};
use tactus_probe::stream::SampleRings;
use tactus_probe::{ProbeEvent, Stream};

use super::{StreamMessage, StreamOrder};
use tactus_cell::{Stopped, load_ended, machine, own_executable, task_process};

/// Runs the measuring process of a cell that is looked at: the order on standard
/// input, the messages on standard output.
///
/// # Errors
/// The messages cannot be written, so that nobody can be told what went wrong.
pub fn main() -> io::Result<()> {
    let last = match measure() {
        Ok(()) => StreamMessage::Ended,
        Err(Stopped { reason, hint }) => StreamMessage::Failed { reason, hint },
    };
    say(&last)
}

fn measure() -> Result<(), Stopped> {
    let order: StreamOrder =
        tactus_wire::requests().read().map_err(|error| Stopped::by_request(&error))?;
    let rings = SampleRings::inherit(order.rings.file, order.rings.layout)
        .map_err(|error| Stopped { reason: error.to_string(), hint: None })?;
    let executable = own_executable()?;
    let options = HostOptions::new(executable.clone());
    let (_settings, refused) = machine::hold(&order.cell, &executable, &options.directory);
    for shortfall in refused {
        say(&StreamMessage::Shortfall(shortfall))?;
    }
    let mut load = RunningLoad::start(&order.cell.load, &options)?;
    for shortfall in load.shortfalls() {
        say(&StreamMessage::Shortfall(shortfall.clone()))?;
    }
    thread::sleep(Duration::from(order.cell.warmup));

    // Told after the start, since nobody must write while it is being measured.
    let mut shortfalls = Vec::new();
    let process = task_process(executable);
    let stream =
        Stream::start(&order.cell, order.seed, &process, &Arc::new(rings), &mut |event| {
            if let ProbeEvent::Shortfall(shortfall) = event {
                shortfalls.push(shortfall);
            }
        })?;
    for shortfall in shortfalls {
        say(&StreamMessage::Shortfall(shortfall))?;
    }
    // It sleeps, unless a copy ends by itself, and the load ends with this process.
    let name = order.cell.load.load.to_string();
    thread::spawn(move || {
        while let Some(reason) = load.next_end() {
            // Nobody listens any more when it is over.
            let _ = say(&StreamMessage::Shortfall(load_ended(&name, &reason)));
        }
        // Dropping it would end what is left of it.
        loop {
            thread::park();
        }
    });
    let (opened, threads) = (stream.opened(), stream.threads().to_vec());
    say(&StreamMessage::Opened { opened, threads })?;
    stream.wait()?;
    Ok(())
}

fn say(message: &StreamMessage) -> io::Result<()> {
    Ok(tactus_wire::answers().write(message)?)
}
