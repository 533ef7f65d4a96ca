//! The jobs of periodic threads in a recording: which were late, and why.

use std::path::Path;

use tactus_explain::jobs::{JobExplanation, JobOptions, Jobs, jobs};
use tactus_model::recording::ThreadId;
use tactus_model::text::nearest;
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;

use crate::recording::{self, damaged};
use crate::waits::is_called;
use crate::{Error, Result};

/// Which jobs of a recording to explain.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Names and numbers of threads; if empty, all threads.
    pub threads: Vec<String>,
    /// The period of these threads; if `None`, each thread's own is found.
    pub period: Option<Nanos>,
    /// The time from due to done above which a job is late; if `None`, the period.
    pub deadline: Option<Nanos>,
    /// How many of the worst jobs of each thread are shown in detail.
    pub worst: usize,
}

impl Question {
    /// What to explain, as the explainer understands it.
    pub(crate) fn options(&self) -> JobOptions {
        let Self { period, deadline, worst, .. } = *self;
        JobOptions { period, deadline, slowest: worst, timelines: worst }
    }
}

/// The jobs of the periodic threads of a recording, those with the longest late jobs first.
/// `recording` is the opened file at `path`, nothing of which was read.
///
/// # Errors
/// The file is damaged or cannot be opened again, or no thread of a given name slept in it.
pub fn of_recording(
    recording: &mut RecordingFile,
    path: &Path,
    question: &Question,
) -> Result<Jobs> {
    let found = periodic(recording, path, question)?;
    match question.threads.iter().find(|word| !was_seen(&found, word)) {
        Some(word) => Err(unknown(&found, word)),
        None => Ok(found),
    }
}

/// Like [`of_recording`], but threads that never slept are left out.
///
/// # Errors
/// The file is damaged or cannot be opened again.
pub fn periodic(recording: &mut RecordingFile, path: &Path, question: &Question) -> Result<Jobs> {
    let words = &question.threads[..];
    let wanted = |thread: ThreadId, name: &str| {
        words.is_empty() || words.iter().any(|word| is_called(thread, name, word))
    };
    let mut again = recording::open(path)?;
    damaged(jobs(recording, &mut again, question.options(), wanted), path)
}

/// The threads with late jobs.
pub fn late(found: &Jobs) -> Vec<&JobExplanation> {
    found.threads.iter().filter(|thread| thread.late() > 0).collect()
}

/// Whether a word is the name or the number of a thread that slept.
pub(crate) fn was_seen(found: &Jobs, word: &str) -> bool {
    let periodic = found.threads.iter().map(|thread| (thread.thread, &thread.name));
    let others = found.aperiodic.iter().map(|thread| (thread.thread, &thread.name));
    periodic.chain(others).any(|(thread, name)| is_called(thread, name, word))
}

/// The error for an unknown thread, with the nearest name.
fn unknown(found: &Jobs, wanted: &str) -> Error {
    let message = format!("no thread `{wanted}` slept in the recording");
    Error::usage(message).with_hint(near(found, wanted))
}

/// The nearest names to that of a thread that was not seen.
pub(crate) fn near(found: &Jobs, wanted: &str) -> String {
    let seen = found.threads.iter().map(|thread| thread.name.as_str());
    let names: Vec<&str> = seen.chain(found.others.iter().map(String::as_str)).collect();
    match nearest(wanted, &names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "leave out the thread to see all periodic threads".to_owned(),
    }
}
