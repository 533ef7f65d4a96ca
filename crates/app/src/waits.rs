//! Where the time of the threads of a recording went, how long they waited for a CPU, and why.

use std::path::Path;

use tactus_explain::{Options, WaitExplanation, Waits, waits};
use tactus_model::recording::{ThreadId, is_thread_name};
use tactus_model::text::nearest;
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;

use crate::recording::damaged;
use crate::{Error, Result};

/// The maximum number of thread names that are explained.
const NAMES_MAX: usize = 20;

/// Which waits of a recording to explain.
#[derive(Clone, Debug)]
pub struct Question {
    /// A longer wait is late.
    pub threshold: Nanos,
    /// Names and numbers of threads; if empty, all threads.
    pub threads: Vec<String>,
    /// How many of the longest waits of each name are shown in detail.
    pub worst: usize,
}

/// Where the time of threads went in a recording, how long they waited, and why the late waits
/// happened. The most delayed thread is first.
///
/// # Errors
/// The file at `path` is damaged, or no thread of a given name is in it.
pub fn of_recording(
    recording: &mut RecordingFile,
    path: &Path,
    question: &Question,
) -> Result<Waits> {
    let Question { threshold, worst, .. } = *question;
    let words = &question.threads[..];
    let options = Options { threshold, slowest: worst, timelines: worst };
    let wanted = |thread: ThreadId, name: &str| {
        words.is_empty() || words.iter().any(|word| is_called(thread, name, word))
    };
    let found = waits(recording, options, wanted);
    let found = damaged(found, path)?;
    match words.iter().find(|word| !is_in(&found, word)) {
        Some(word) => Err(unknown(&found, word)),
        None => Ok(found),
    }
}

/// The thread names with late waits.
pub fn late(found: &Waits) -> Vec<&WaitExplanation> {
    found.names.iter().filter(|name| name.explanation.samples > 0).take(NAMES_MAX).collect()
}

/// The thread names that were kept from running: by a late wait, or by sleep that is not how
/// programs wait for work.
pub fn delayed(found: &Waits) -> Vec<&WaitExplanation> {
    let names = found.names.iter().filter(|name| name.delayed() > Nanos::ZERO);
    names.take(NAMES_MAX).collect()
}

/// Whether a word is the name or the number of a thread.
pub(crate) fn is_called(thread: ThreadId, name: &str, word: &str) -> bool {
    is_thread_name(name, word) || word.parse() == Ok(thread.0)
}

fn is_in(found: &Waits, word: &str) -> bool {
    let mut names = found.names.iter();
    names.any(|name| name.threads.iter().any(|thread| is_called(*thread, &name.name, word)))
}

/// The error for an unknown thread, with the nearest name.
fn unknown(found: &Waits, wanted: &str) -> Error {
    let names = found.names.iter().map(|name| &name.name).chain(&found.others);
    let names: Vec<&str> = names.map(String::as_str).collect();
    let hint = match nearest(wanted, &names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "leave out the thread to see the most delayed ones".to_owned(),
    };
    Error::usage(format!("no thread `{wanted}` has an event in the recording")).with_hint(hint)
}
