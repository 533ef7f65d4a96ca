//! How long threads of a recording that could run waited for a CPU, and why.

use std::path::Path;

use tactus_explain::{Options, WaitExplanation, Waits, waits};
use tactus_model::recording::ThreadId;
use tactus_model::text::nearest;
use tactus_model::time::Nanos;

use crate::{Error, Result, recording};

/// The most names whose threads are explained.
const NAMES_MAX: usize = 20;

/// What is asked of a recording.
#[derive(Clone, Debug)]
pub struct Question {
    /// The wait above which a thread came late.
    pub threshold: Nanos,
    /// Names and numbers of threads; all when empty.
    pub threads: Vec<String>,
    /// How many of the longest waits of a name are explained one by one.
    pub worst: usize,
}

/// How long threads waited in a recording, and why those that came late did; who
/// waited longest stands first.
///
/// # Errors
/// The file is no recording or damaged, or no thread of a name that was asked for waited in it.
pub fn of_recording(path: &Path, question: &Question) -> Result<Waits> {
    let Question { threshold, worst, .. } = *question;
    let words = &question.threads[..];
    let options = Options { threshold, slowest: worst, timelines: worst };
    let wanted = |thread: ThreadId, name: &str| {
        words.is_empty() || words.iter().any(|word| is_called(thread, name, word))
    };
    let found = waits(&mut recording::open(path)?, options, wanted);
    let found = recording::damaged(found, path)?;
    match words.iter().find(|word| !has_waited(&found, word)) {
        Some(word) => Err(unknown(&found, word)),
        None => Ok(found),
    }
}

/// The names that are explained: those of which a thread came late.
pub fn late(found: &Waits) -> Vec<&WaitExplanation> {
    found.names.iter().filter(|name| name.explanation.samples > 0).take(NAMES_MAX).collect()
}

/// Whether a thread is meant by a word: by its name or by its number.
fn is_called(thread: ThreadId, name: &str, word: &str) -> bool {
    name == word || word.parse() == Ok(thread.0)
}

fn has_waited(found: &Waits, word: &str) -> bool {
    let mut names = found.names.iter();
    names.any(|name| name.threads.iter().any(|thread| is_called(*thread, &name.name, word)))
}

/// Says that no thread is called so, and which name comes nearest.
fn unknown(found: &Waits, wanted: &str) -> Error {
    let names = found.names.iter().map(|name| &name.name).chain(&found.others);
    let names: Vec<&str> = names.map(String::as_str).collect();
    let hint = match nearest(wanted, &names) {
        Some(name) => format!("the nearest name in it is `{name}`"),
        None => "without --thread those that waited longest are told".to_owned(),
    };
    Error::usage(format!("no thread called `{wanted}` waited in the recording")).with_hint(hint)
}
