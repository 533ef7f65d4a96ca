//! Of a recording: how long threads that could run waited for a processor, and why.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use tactus_explain::{Options, ThreadWaits, WaitExplanation, Waits, explain_waits, waits};
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

/// The most names whose threads are explained: each takes a replay of its own.
const GROUPS: usize = 20;

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
    let (found, mut explained) = answer(path, &question)?;
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
pub(in crate::command) fn answer(
    path: &Path,
    question: &Question,
) -> CommandResult<(Waits, Vec<WaitExplanation>)> {
    let Question { threshold, worst, .. } = *question;
    let mut found = waits(&mut open(path)?, threshold).map_err(damaged(path))?;
    choose(&mut found, &question.threads)?;
    let mut groups = found.by_name();
    groups.retain(|group| group.iter().any(|thread| !thread.late.is_empty()));
    groups.truncate(GROUPS);
    let options = Options { threshold, slowest: worst, timelines: worst };
    let explained = explain_waits(&mut open(path)?, &groups, options).map_err(damaged(path))?;
    Ok((found, explained))
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

/// Leaves the threads that were asked for.
fn choose(found: &mut Waits, wanted: &[String]) -> CommandResult {
    let is = |thread: &ThreadWaits, wanted: &str| {
        thread.name == wanted || thread.thread.to_string() == wanted
    };
    for name in wanted {
        if !found.threads.iter().any(|thread| is(thread, name)) {
            return Err(unknown(found, name));
        }
    }
    if !wanted.is_empty() {
        found.retain(|thread| wanted.iter().any(|name| is(thread, name)));
    }
    Ok(())
}

/// Says that no thread is called so, and which name comes nearest.
fn unknown(found: &Waits, wanted: &str) -> CommandError {
    let names: Vec<&str> = found.threads.iter().map(|thread| thread.name.as_str()).collect();
    let hint = match nearest(wanted, &names) {
        Some(name) => format!("the nearest name in it is `{name}`"),
        None => "without --thread those that waited longest are told".to_owned(),
    };
    CommandError::usage(format!("no thread called `{wanted}` waited in the recording"))
        .with_hint(hint)
}
