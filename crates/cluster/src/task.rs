//! What a task does on a node: it measures its turns, and writes their result files.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use tactus_guests::{GuestPlaces, Guests};
use tactus_kernels::Kernels;
use tactus_model::digest::sha256;
use tactus_model::experiment::Turn;
use tactus_model::guest::Guest;
use tactus_model::message::{CellRequest, Message};
use tactus_wire::{Input, MESSAGE_LIMIT, parse};

use crate::directory::{CONSOLES, JOB, results};
use crate::error::of_file;
use crate::job::FORMAT;
use crate::result_file::{Collected, SUFFIX, read};
use crate::{ClusterError, Job, parts};

/// How often a request to end is noticed.
const STEP: Duration = Duration::from_millis(100);

/// Measures the turns of a task that have no result yet, with the programs in `search_path`, until
/// `stop` is set. Each is announced by its number in the job.
///
/// # Errors
/// The job cannot be read, this node would give other figures, a result cannot be written, or the task
/// was stopped. A turn that fails is a result.
pub fn run(
    directory: &Path,
    task: usize,
    node: &str,
    search_path: OsString,
    stop: &AtomicBool,
    on_turn: &dyn Fn(usize, Turn),
) -> Result<(), ClusterError> {
    let file = directory.join(JOB);
    let text =
        tactus_sys::regular_file::read(&file, MESSAGE_LIMIT).map_err(of_file("read", &file))?;
    let digest = sha256([&text]);
    let not_a_job = |reason: String| ClusterError::NotAJob { path: file.clone(), reason };
    let job: Job = parse(&text).map_err(|error| not_a_job(error.to_string()))?;
    if job.format != FORMAT {
        return Err(not_a_job(format!("its format is not {FORMAT}")));
    }
    let turns = job.turns_of(task);
    if turns.is_empty() {
        return Err(not_a_job(format!("it has no task {task}")));
    }
    let guests = guests(directory, &job, turns.clone(), search_path)?;
    for turn in turns {
        let results = results(directory, SUFFIX).map_err(of_file("read", directory))?;
        let mut results = results.iter().filter(|(of, _)| *of == turn);
        let is_finished =
            results.any(|(_, path)| read(path, &job, &digest, turn).is_ok_and(|it| !it.failed));
        let Some(request) = job.request(turn).filter(|_| !is_finished) else { continue };
        on_turn(turn, request.turn);
        measure(&guests, &request, stop)?.write(directory, &digest, turn, node)?;
    }
    Ok(())
}

/// Prepares the guests of these turns, and requires that they are those of the job.
fn guests(
    directory: &Path,
    job: &Job,
    turns: std::ops::Range<usize>,
    search_path: OsString,
) -> Result<Guests, ClusterError> {
    let cells = turns.filter_map(|turn| job.cell(turn));
    let wanted: Vec<&Guest> = cells.filter_map(|cell| cell.target.guest()).collect();
    let places = GuestPlaces {
        executable: directory.join("bin/tactus"),
        program: None,
        search_path,
        consoles: directory.join(CONSOLES),
        kvm_trials: std::sync::Arc::default(),
    };
    // Nothing is fetched or built on a node.
    let kernels = Kernels::new("/boot", directory.join("kernels"))
        .with_given(parts::kernels(&job.parts, directory)?);
    let limit = job.limit.map(Duration::from);
    let mut guests = Guests::prepare(places, &kernels, limit, wanted)?.with_jobs(job.jobs);
    guests.proofs = job.proofs;
    parts::require(&job.parts, &guests)?;
    Ok(guests)
}

/// Measures a turn.
fn measure(
    guests: &Guests,
    request: &CellRequest,
    stop: &AtomicBool,
) -> Result<Collected, ClusterError> {
    // The collector of the guests limits what they send.
    let (sender, inputs) = channel();
    let started = guests.start(request, move |input| {
        // A receiver that is gone has ended the turn.
        let _ = sender.send(input);
    });
    let mut collected = Collected::default();
    let failed = |reason: String| Message::Failed { reason, hint: None };
    let mut add = |message: &Message| collected.add(message).map(|()| collected.is_over);
    let booted = match started {
        Ok(booted) => booted,
        Err(error) => {
            let message = failed(format!("cannot start the measuring process: {error}"));
            add(&message).map_err(unkept)?;
            return Ok(collected);
        }
    };
    let outcome = loop {
        let message = match inputs.recv_timeout(STEP) {
            _ if stop.load(Ordering::SeqCst) => break Err(ClusterError::Ended),
            Err(RecvTimeoutError::Timeout) => continue,
            Ok(Input::Message(message)) => message,
            Ok(Input::Garbled(line)) => {
                failed(format!("invalid output of the measuring process: {line:.200}"))
            }
            Ok(Input::Closed) | Err(RecvTimeoutError::Disconnected) => {
                failed("the measuring process died".to_owned())
            }
        };
        match add(&message) {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(error) => break Err(unkept(error)),
        }
    };
    booted.end();
    outcome.map(|()| collected)
}

fn unkept(error: std::io::Error) -> ClusterError {
    of_file("write", Path::new("a result"))(error)
}
