//! The body of the recording process.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::parent_id;
use std::path::PathBuf;

use tactus_explain::{ExplainedSample, Options as ExplainOptions, ProbeTask, explain};
use tactus_model::cpus::CpuList;
use tactus_model::recording::Observers;
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;
use tactus_record::live::{DrainerOptions, Keep, Options, RecordError, Recorder};
use tactus_settings::Guardian;
use tactus_wire::WireError;

use super::{CauseEvent, CauseRequest};

/// How long events are held: longer than samples wait for their explanation.
const REACH: Nanos = Nanos::from_secs(4);
/// The maximum size of the held events, in bytes.
const LIMIT: u64 = 64 << 20;
/// The maximum number of explained samples in a response.
const SLOWEST: usize = 3;

/// Runs the recording process: requests on standard input, events on standard output.
///
/// # Errors
/// A request cannot be read, or an event cannot be written.
pub fn main() -> io::Result<()> {
    let mut requests = tactus_wire::requests();
    // The watch kills this process at its end. Recording works without a guardian; what is left
    // then, the next start removes.
    let executable = std::env::current_exe()?;
    let _guardian = Guardian::start(&executable, Vec::new()).ok();
    let mut recorder = None;
    loop {
        let request = match requests.read() {
            Err(WireError::Closed) => return Ok(()),
            request => request?,
        };
        let event = match (request, &recorder) {
            (CauseRequest::Record { aside }, None) => match record(aside) {
                Ok(started) => {
                    recorder = Some(started);
                    CauseEvent::Recording
                }
                Err(error) => unavailable(&error),
            },
            (CauseRequest::Explain { tasks, threshold }, Some(recorder)) => {
                match explain_from(recorder, tasks, threshold) {
                    Ok(samples) => CauseEvent::Explained { samples },
                    Err(reason) => CauseEvent::Unavailable { reason, fix: None },
                }
            }
            (CauseRequest::Record { .. }, Some(_)) | (CauseRequest::Explain { .. }, None) => {
                continue;
            }
        };
        tactus_wire::responses().write(&event)?;
    }
}

fn record(aside: Option<CpuList>) -> Result<Recorder, RecordError> {
    Recorder::start(Options {
        drainer: DrainerOptions { cpus: aside, ..DrainerOptions::default() },
        keep: Keep::Flight { last: REACH, limit: LIMIT },
        // This process, and the one that shows the samples.
        observers: Observers::of_processes([std::process::id(), parent_id()]),
        ..Options::default()
    })
}

fn unavailable(error: &RecordError) -> CauseEvent {
    CauseEvent::Unavailable { reason: error.to_string(), fix: error.fix() }
}

/// Explains samples from what the recorder holds now.
fn explain_from(
    recorder: &Recorder,
    tasks: Vec<ProbeTask>,
    threshold: Nanos,
) -> Result<Vec<ExplainedSample>, String> {
    // An unnamed file, so that nothing is left behind however this process ends.
    let file =
        tempfile::tempfile().map_err(|error| format!("cannot create a temporary file: {error}"))?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    recorder.save(&path).map_err(|error| error.to_string())?;
    let mut recording = RecordingFile::open(&path).map_err(|error| error.to_string())?;
    let options = ExplainOptions { threshold, slowest: SLOWEST, timelines: 0 };
    let explanation = explain(&mut recording, tasks, options).map_err(|error| error.to_string())?;
    let mut worst = explanation.worst;
    worst.retain(|explained| explained.sample.latency() > threshold);
    Ok(worst)
}
