//! The flight recorder: keeps the last seconds, and saves them when a thread came late.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::Context as _;
use serde::Serialize;
use tactus_explain::{Wait, WaitExplanation, WaitWatch};
use tactus_model::recording::{Dictionary, EventSource, Item, ThreadId};
use tactus_model::time::Nanos;
use tactus_record::RecordingSummary;
use tactus_record::live::{
    Control, Keep, LiveSource, Options, Recorded, Recorder, Stopper, record_with,
};
use tactus_report::format;

use super::{RecordArguments, call_chains, new_name, tell, told};
use crate::command::explain::recording::{self, Question};
use crate::command::table_options;
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::json_lines::write_line;
use crate::signals::on_interrupt;

/// The most memory that the last seconds may take; reaching it shortens them.
const MEMORY: u64 = 256 << 20;

/// Between two drains; a late thread is noticed after two of them.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(250);

/// The least that is kept: what happened must not be forgotten before it is noticed.
const SHORTEST: Nanos = Nanos::from_secs(2);

/// A thread that came late, and where the seconds before that are.
#[derive(Serialize)]
struct Caught<'a> {
    thread: ThreadId,
    name: String,
    waited: Nanos,
    saved: PathBuf,
    explanation: Vec<&'a WaitExplanation>,
}

pub(super) fn run(arguments: &RecordArguments, last: Nanos) -> CommandResult {
    if last < SHORTEST {
        return Err(CommandError::usage(format!(
            "--flight {last} is too short to notice anything"
        ))
        .with_hint(format!("--flight {SHORTEST} is the shortest")));
    }
    let mut options = Options { keep: Keep::Flight { last, limit: MEMORY }, ..options(arguments) };
    options.drainer.longest_sleep = LONGEST_SLEEP;
    let control = Control::new();
    let stopper = control.stopper();
    on_interrupt(move || stopper.stop())?;
    match arguments.over {
        Some(over) => until_late(arguments, options, &control, over),
        None => until_the_end(arguments, options, &control),
    }
}

fn options(arguments: &RecordArguments) -> Options {
    let (source, call_chains) = (arguments.source, call_chains(arguments));
    Options { source, call_chains, ..Options::default() }
}

/// Saves the last seconds when the recording ends, for whatever reason.
fn until_the_end(
    arguments: &RecordArguments,
    options: Options,
    control: &Control,
) -> CommandResult {
    let recorder = Recorder::start(options)?;
    eprintln!("recording; the end of the command or an interrupt keeps what came last");
    let Recorded { summary, recording } =
        record_with(recorder, &arguments.command, arguments.duration, control, told, |_| {
            Ok(ControlFlow::Continue(()))
        })?;
    let path = arguments.output.clone().unwrap_or_else(new_name);
    let bytes = recording.into_bytes().map_err(CommandError::internal)?;
    std::fs::write(&path, bytes)
        .with_context(|| format!("{} cannot be written", path.display()))
        .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))?;
    super::export(arguments, &path)?;
    tell(&summary);
    finish(arguments, &summary, &path)
}

fn finish(arguments: &RecordArguments, summary: &RecordingSummary, path: &Path) -> CommandResult {
    if arguments.json {
        write_line(summary)?;
    } else {
        writeln!(std::io::stdout(), "{}", path.display())?;
    }
    Ok(())
}

/// Saves the last seconds each time a thread waited longer than `over`, and says why it did.
fn until_late(
    arguments: &RecordArguments,
    options: Options,
    control: &Control,
    over: Nanos,
) -> CommandResult {
    let (recorder, source) = Recorder::start_followed(options)?;
    let (late, lates) = sync_channel(1);
    let watch = Watch { over, threads: arguments.thread.clone(), late, stopper: control.stopper() };
    let watching = std::thread::Builder::new()
        .name("tactus-watch".to_owned())
        .spawn(move || watch.run(source))?;
    eprintln!("recording until a thread comes later than {over}; an interrupt ends it");
    let mut saving = Saving { arguments, over, lates, saved: 0, failed: None };
    let Recorded { summary, .. } =
        record_with(recorder, &arguments.command, arguments.duration, control, told, |recorder| {
            saving.save(recorder)
        })?;
    let saved = saving.saved;
    saving.failed.map_or(Ok(()), Err)?;
    let ended = |_| CommandError::internal(anyhow::anyhow!("the watching thread broke down"));
    let late = watching.join().map_err(ended)??;
    tell(&summary);
    match (late, saved) {
        (0, _) => eprintln!("no thread came later than {over}; nothing is kept"),
        _ => eprintln!(
            "{} later than {over}; {saved} of {} kept",
            format::counted(late, "thread came"),
            arguments.saves
        ),
    }
    if arguments.json {
        write_line(&summary)?;
    }
    Ok(())
}

/// Saves and explains what was noticed.
struct Saving<'a> {
    arguments: &'a RecordArguments,
    over: Nanos,
    lates: Receiver<(Wait, String)>,
    saved: u32,
    failed: Option<CommandError>,
}

impl Saving<'_> {
    /// Saves the last seconds for what was noticed; says whether to go on.
    fn save(
        &mut self,
        recorder: &Recorder,
    ) -> Result<ControlFlow<()>, tactus_record::live::RecordError> {
        let Ok((wait, name)) = self.lates.try_recv() else { return Ok(ControlFlow::Continue(())) };
        let path = numbered(
            &self.arguments.output.clone().unwrap_or_else(new_name),
            self.saved,
            self.arguments.saves,
        );
        recorder.save(&path)?;
        self.saved += 1;
        if let Err(error) = self.explain(&wait, &name, path) {
            self.failed = Some(error);
            return Ok(ControlFlow::Break(()));
        }
        let enough = self.saved >= self.arguments.saves;
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn explain(&self, wait: &Wait, name: &str, path: PathBuf) -> CommandResult {
        let thread = wait.thread.to_string();
        let question = Question { threshold: self.over, threads: vec![thread], worst: 1 };
        let found = recording::answer(&path, &question)?;
        let explanation = recording::late(&found);
        super::export(self.arguments, &path)?;
        if self.arguments.json {
            let (name, waited) = (name.to_owned(), wait.length());
            let caught = Caught { thread: wait.thread, name, waited, saved: path, explanation };
            return Ok(write_line(&caught)?);
        }
        eprintln!(
            "{} ({}, {}) came {} late; what came before is in {}",
            format::printable(name),
            wait.thread,
            wait.priority.class(),
            format::latency(wait.length()),
            path.display()
        );
        let text = tactus_report::waits_text(&found, &explanation, self.over, &table_options());
        Ok(write!(std::io::stdout(), "{text}")?)
    }
}

/// The name of the file of save `number`, counted from 0: that which was asked for,
/// with a number where there may be several.
fn numbered(path: &Path, number: u32, saves: u32) -> PathBuf {
    if saves == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|text| format!(".{}", text.to_string_lossy()));
    path.with_file_name(format!("{stem}-{}{}", number + 1, extension.unwrap_or_default()))
}

/// Follows a recording and notices threads that come late.
struct Watch {
    over: Nanos,
    /// Names and numbers; all threads but our own when empty.
    threads: Vec<String>,
    late: SyncSender<(Wait, String)>,
    stopper: Stopper,
}

impl Watch {
    /// Follows to the end; gives how many threads came late.
    fn run(self, mut source: LiveSource) -> CommandResult<u64> {
        let mut waits = WaitWatch::new(source.about());
        let mut late = 0;
        loop {
            match source.next_item().map_err(CommandError::internal)? {
                None => return Ok(late),
                Some(Item::Lost(lost)) => waits.lost(&lost),
                Some(Item::Event(event)) => {
                    let wait = waits.event(&event).filter(|wait| wait.length() > self.over);
                    if let Some(wait) = wait {
                        late += u64::from(self.notice(wait, source.dictionary()));
                    }
                }
            }
        }
    }

    /// Tells of a late thread, unless it is none of those that are meant.
    fn notice(&self, wait: Wait, names: &Dictionary) -> bool {
        let name = names.name(wait.name);
        let meant = match &self.threads[..] {
            [] => !name.starts_with("tactus"),
            threads => {
                let number = wait.thread.to_string();
                threads.iter().any(|thread| thread == name || *thread == number)
            }
        };
        // While one is being saved, those that come meanwhile are in the same seconds.
        if meant && self.late.try_send((wait, name.to_owned())).is_ok() {
            self.stopper.mark();
        }
        meant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered_where_there_may_be_several() {
        let path = Path::new("a/late.tactusrec");
        assert_eq!(numbered(path, 0, 1), path);
        assert_eq!(numbered(path, 1, 3), Path::new("a/late-2.tactusrec"));
        assert_eq!(numbered(Path::new("late"), 0, 2), Path::new("late-1"));
    }
}
