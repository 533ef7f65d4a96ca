//! The flight recorder keeps the last seconds, and saves them when a thread is late.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tactus_explain::{Wait, WaitWatch, Waits};
use tactus_model::recording::{Dictionary, EventSource, Item};
use tactus_model::time::Nanos;
use tactus_record::RecordingSummary;
use tactus_record::live::{
    Control, Keep, LiveSource, Options, RecordError, RecordEvent, Recorded, Recorder, Stopper,
    record_with,
};

use tactus_sys::whole_file::Readers;

use crate::error::OrError;
use crate::record::{Made, Wanted, guardian};
use crate::waits::{self, Question};
use crate::{Error, ErrorKind, Result, files, recording};

/// The memory limit for the last seconds; at the limit, older events are dropped.
const MEMORY: u64 = 256 << 20;

/// The longest time between two drains. A late thread is detected after at most two drains.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(250);

/// The shortest flight window: events must not be dropped before a late thread is detected.
const SHORTEST: Nanos = Nanos::from_secs(2);

/// Keeps the last seconds, and writes them to the file when the recording ends, whatever ends it.
///
/// # Errors
/// `last` is too short, recording or the command cannot be started, or a file cannot be written.
pub fn until_the_end(
    wanted: &Wanted,
    last: Nanos,
    control: &Control,
    on_event: impl FnMut(RecordEvent),
) -> Result<Made> {
    let options = options(wanted, last)?;
    let _guardian = guardian();
    let recorder = Recorder::start(options)?;
    let recorded =
        record_with(recorder, &wanted.command, wanted.duration, control, on_event, |_| {
            Ok(ControlFlow::Continue(()))
        })?;
    let path = wanted.path();
    let summary = save_at_end(recorded, &path)?;
    wanted.write_other_forms(&path)?;
    Ok(Made { path, summary })
}

/// Writes the last seconds of a recording that has ended to a file; returns its summary.
pub(crate) fn save_at_end(recorded: Recorded, path: &Path) -> Result<RecordingSummary> {
    let bytes = recorded.recording.into_bytes().or_internal()?;
    files::write_with(path, Readers::Owner, |out| Ok(out.write_all(&bytes)?))?;
    Ok(recorded.summary)
}

fn options(wanted: &Wanted, last: Nanos) -> Result<Options> {
    if last < SHORTEST {
        return Err(Error::usage(format!(
            "a flight recorder of {last} is too short to detect a late thread"
        ))
        .with_hint(format!("keep the last {SHORTEST} or more")));
    }
    let mut options = wanted.options(Keep::Flight { last, limit: MEMORY })?;
    options.drainer.longest_sleep = LONGEST_SLEEP;
    Ok(options)
}

/// Which late threads the flight recorder saves.
#[derive(Clone, Debug)]
pub struct Lookout {
    /// How long a thread may wait for a CPU.
    pub over: Nanos,
    /// Names and numbers of threads. If empty: all threads except those of tactus.
    pub threads: Vec<String>,
    /// The number of saves after which the recording ends.
    pub saves: u32,
}

/// A late thread.
#[derive(Debug)]
pub struct Caught {
    /// Its wait.
    pub wait: Wait,
    /// Its name.
    pub name: String,
    /// The file with the seconds before it.
    pub saved: PathBuf,
    /// The thread's waits in that file.
    pub waits: Waits,
}

/// What looking out for late threads yields.
#[derive(Debug)]
pub enum Found<'a> {
    /// A late thread, saved and explained.
    Caught(&'a Caught),
    /// Something could not be saved, e.g. because the disk is full; the recording continues.
    NotSaved(&'a Error),
}

/// The result of looking out for late threads.
#[derive(Debug)]
pub struct Lookback {
    /// The summary of the recording.
    pub summary: RecordingSummary,
    /// How many times a thread was late.
    pub late: u64,
    /// How many times the last seconds were saved.
    pub saved: u32,
    /// Why a save failed: the last error, unless all wanted saves succeeded.
    pub not_saved: Option<Error>,
}

/// Saves the last seconds each time a thread is late, and passes the explanation to `on_found`.
/// A failed save does not end the recording.
///
/// # Errors
/// Those of [`until_the_end`], and errors of `on_found`.
pub fn until_late(
    wanted: &Wanted,
    last: Nanos,
    lookout: &Lookout,
    control: &Control,
    on_event: impl FnMut(RecordEvent),
    on_found: impl FnMut(Found<'_>) -> io::Result<()>,
) -> Result<Lookback> {
    let (late, lates) = sync_channel(1);
    let watch = Watch { lookout: lookout.clone(), late, stopper: control.stopper() };
    let (saved, attempts, failed) = (0, Attempts::default(), None);
    let mut saving = Saving { wanted, lookout, lates, saved, attempts, failed, on_found };
    let followed = follow(
        wanted,
        last,
        control,
        on_event,
        move |source| watch.run(source),
        |recorder| saving.save(recorder),
    );
    let Saving { saved, attempts, failed, .. } = saving;
    failed.map_or(Ok(()), Err)?;
    let (Recorded { summary, .. }, late) = followed?;
    let not_saved = attempts.failed.filter(|_| saved < lookout.saves);
    Ok(Lookback { summary, late, saved, not_saved })
}

/// Keeps the last seconds while another thread follows the recording by `watch`, and calls
/// `on_mark` when it marks the recording. Returns the recording and the result of `watch`.
///
/// # Errors
/// Those of [`until_the_end`] and of the callbacks.
pub(crate) fn follow<T: Send + 'static>(
    wanted: &Wanted,
    last: Nanos,
    control: &Control,
    mut on_event: impl FnMut(RecordEvent),
    watch: impl FnOnce(LiveSource) -> Result<T> + Send + 'static,
    on_mark: impl FnMut(&Recorder) -> Result<ControlFlow<()>, RecordError>,
) -> Result<(Recorded, T)> {
    let options = options(wanted, last)?;
    let _guardian = guardian();
    let (recorder, source) = Recorder::start_followed(options)?;
    let watching =
        std::thread::Builder::new().name("tactus-watch".to_owned()).spawn(move || watch(source))?;
    let recorded =
        record_with(recorder, &wanted.command, wanted.duration, control, &mut on_event, on_mark)?;
    control.wait_for_reader(|| !watching.is_finished(), || on_event(RecordEvent::ReaderWorks));
    let ended = |_| Error::new(ErrorKind::Internal, "the watching thread panicked");
    Ok((recorded, watching.join().map_err(ended)??))
}

/// The saves of a flight recorder that failed.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// The last error of a save.
    pub(crate) failed: Option<Error>,
    /// After a failed save, the earliest time of the next.
    pause: Option<Instant>,
}

impl Attempts {
    /// Whether it is too early for another save.
    pub(crate) fn are_paused(&self) -> bool {
        self.pause.is_some_and(|until| Instant::now() < until)
    }

    /// Notes that a save failed.
    pub(crate) fn fail(&mut self, error: Error) {
        self.failed = Some(error);
        self.pause = Some(Instant::now() + PAUSE);
    }
}

/// Saves and explains late threads.
struct Saving<'a, F> {
    wanted: &'a Wanted,
    lookout: &'a Lookout,
    lates: Receiver<(Wait, String)>,
    saved: u32,
    attempts: Attempts,
    /// The error that ends the recording.
    failed: Option<Error>,
    on_found: F,
}

/// The time between a failed save and the next: a full disk does not become free at once, and
/// every attempt writes what was recorded in seconds.
const PAUSE: Duration = Duration::from_secs(2);

impl<F: FnMut(Found<'_>) -> io::Result<()>> Saving<'_, F> {
    /// Saves the last seconds if a thread was late; returns whether to continue.
    fn save(&mut self, recorder: &Recorder) -> Result<ControlFlow<()>, RecordError> {
        let Ok((wait, name)) = self.lates.try_recv() else { return Ok(ControlFlow::Continue(())) };
        if self.attempts.are_paused() {
            return Ok(ControlFlow::Continue(()));
        }
        let path = numbered(&self.wanted.path(), self.saved, self.lookout.saves);
        let found = match recorder.save(&path) {
            Ok(()) => {
                self.saved += 1;
                self.explain(wait, name, path)
            }
            Err(error @ RecordError::Write { .. }) => self.put_off(error.into()),
            Err(error) => return Err(error),
        };
        self.failed = found.err();
        let enough = self.failed.is_some() || self.saved >= self.lookout.saves;
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn explain(&mut self, wait: Wait, name: String, saved: PathBuf) -> Result<()> {
        let thread = wait.thread.to_string();
        let question = Question { threshold: self.lookout.over, threads: vec![thread], worst: 1 };
        let waits = waits::of_recording(&mut recording::open(&saved)?, &saved, &question)?;
        let others = self.wanted.write_other_forms(&saved);
        (self.on_found)(Found::Caught(&Caught { wait, name, saved, waits }))?;
        others.or_else(|error| self.put_off(error))
    }

    /// Reports what could not be saved, and waits before the next attempt.
    fn put_off(&mut self, error: Error) -> Result<()> {
        (self.on_found)(Found::NotSaved(&error))?;
        self.attempts.fail(error);
        Ok(())
    }
}

/// The file name of save `number`, counted from 0: the requested name, with a number added if
/// there may be several saves.
fn numbered(path: &Path, number: u32, saves: u32) -> PathBuf {
    if saves == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|text| format!(".{}", text.to_string_lossy()));
    path.with_file_name(format!("{stem}-{}{}", number + 1, extension.unwrap_or_default()))
}

/// Follows a recording and detects late threads.
struct Watch {
    lookout: Lookout,
    late: SyncSender<(Wait, String)>,
    stopper: Stopper,
}

impl Watch {
    /// Follows the recording to its end; returns how many times a thread was late.
    fn run(self, mut source: LiveSource) -> Result<u64> {
        let mut waits = WaitWatch::new(source.about());
        let mut late = 0;
        loop {
            match source.next_item().or_internal()? {
                None => return Ok(late),
                Some(Item::Lost(lost)) => waits.lost(&lost),
                Some(Item::Event(event)) => {
                    let over = self.lookout.over;
                    let wait = waits.event(&event).filter(|wait| wait.length() > over);
                    if let Some(wait) = wait {
                        late += u64::from(self.report(wait, source.dictionary()));
                    }
                }
            }
        }
    }

    /// Reports a late thread if it is one of the selected threads; returns whether it is.
    fn report(&self, wait: Wait, names: &Dictionary) -> bool {
        let name = names.name(wait.name);
        let is_selected = match &self.lookout.threads[..] {
            [] => !name.starts_with("tactus"),
            threads => {
                let number = wait.thread.to_string();
                threads.iter().any(|thread| thread == name || *thread == number)
            }
        };
        // Threads that are late during a save are in the same seconds.
        if is_selected && self.late.try_send((wait, name.to_owned())).is_ok() {
            self.stopper.mark();
        }
        is_selected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered_if_there_may_be_several() {
        let path = Path::new("a/late.tactusrec");
        assert_eq!(numbered(path, 0, 1), path);
        assert_eq!(numbered(path, 1, 3), Path::new("a/late-2.tactusrec"));
        assert_eq!(numbered(Path::new("late"), 0, 2), Path::new("late-1"));
    }

    #[test]
    fn too_short_a_flight_is_refused_before_recording_starts() {
        let error = options(&Wanted::default(), Nanos::from_secs(1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
