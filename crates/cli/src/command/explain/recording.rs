//! Of a recording: how long threads that could run waited for a processor, and why.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use tactus_explain::{Options, WaitExplanation, Waits, waits};
use tactus_model::recording::ThreadId;
use tactus_model::text::nearest;
use tactus_model::time::Nanos;
use tactus_record::file::RecordingFile;

use super::ExplainArguments;
use crate::command::table_options;
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::json_lines::write_line;

/// The names whose threads are explained when none was asked for: those that
/// waited longest.
const NAMES: usize = 3;

/// The most names whose threads are explained.
const NAMES_MAX: usize = 20;

/// What is asked of a recording.
pub(in crate::command) struct Question {
    /// The wait above which a thread came late.
    pub(in crate::command) threshold: Nanos,
    /// Names and numbers of threads; all when empty.
    pub(in crate::command) threads: Vec<String>,
    /// How many of the longest waits of a name are told one by one.
    pub(in crate::command) worst: usize,
}

pub(super) fn run(path: &Path, arguments: &ExplainArguments) -> CommandResult {
    if arguments.cell.is_some() {
        let message = "--cell is for a run; of a recording choose by --thread";
        return Err(CommandError::usage(message));
    }
    let ExplainArguments { threshold, worst, .. } = *arguments;
    let question = Question { threshold, threads: arguments.thread.clone(), worst };
    let found = answer(path, &question)?;
    let mut explained = late(&found);
    if arguments.thread.is_empty() && !arguments.json {
        explained.truncate(NAMES);
    }
    if arguments.json {
        explained.iter().try_for_each(write_line)?;
        return Ok(());
    }
    let text = tactus_report::waits_text(&found, &explained, threshold, &table_options());
    write!(std::io::stdout(), "{text}")?;
    Ok(())
}

/// How long threads waited in a recording, and why those that came late did; who
/// waited longest stands first.
pub(in crate::command) fn answer(path: &Path, question: &Question) -> CommandResult<Waits> {
    let Question { threshold, worst, .. } = *question;
    let words = &question.threads[..];
    let options = Options { threshold, slowest: worst, timelines: worst };
    let wanted = |thread: ThreadId, name: &str| {
        words.is_empty() || words.iter().any(|word| is_called(thread, name, word))
    };
    let found = waits(&mut open(path)?, options, wanted).map_err(damaged(path))?;
    match words.iter().find(|word| !has_waited(&found, word)) {
        Some(word) => Err(unknown(&found, word)),
        None => Ok(found),
    }
}

/// The names that are explained: those of which a thread came late.
pub(in crate::command) fn late(found: &Waits) -> Vec<&WaitExplanation> {
    found.names.iter().filter(|name| name.explanation.samples > 0).take(NAMES_MAX).collect()
}

fn open(path: &Path) -> CommandResult<RecordingFile> {
    RecordingFile::open(path)
        .with_context(|| format!("{} is no recording that can be read", path.display()))
        .map_err(|error| {
            CommandError::new(ErrorKind::Usage, error)
                .with_hint("tactus record writes one; `tactus list` shows the runs there are")
        })
}

fn damaged<E: std::error::Error + Send + Sync + 'static>(
    path: &Path,
) -> impl Fn(E) -> CommandError + '_ {
    |error| {
        let told = anyhow::Error::new(error).context(format!("{} is damaged", path.display()));
        CommandError::new(ErrorKind::Unavailable, told)
    }
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
fn unknown(found: &Waits, wanted: &str) -> CommandError {
    let names = found.names.iter().map(|name| &name.name).chain(&found.others);
    let names: Vec<&str> = names.map(String::as_str).collect();
    let hint = match nearest(wanted, &names) {
        Some(name) => format!("the nearest name in it is `{name}`"),
        None => "without --thread those that waited longest are told".to_owned(),
    };
    CommandError::usage(format!("no thread called `{wanted}` waited in the recording"))
        .with_hint(hint)
}
