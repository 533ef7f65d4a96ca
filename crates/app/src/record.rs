//! Recording the kernel's events, of a command or of the system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tactus_model::recording::Observers;
use tactus_model::time::{Nanos, Realtime};
use tactus_record::RecordingSummary;
use tactus_record::live::{
    CallChains, Control, Keep, Options, RecordEvent, Source, left_parts, record,
};
use tactus_report::format;
use tactus_settings::{Guardian, restore_left};

use crate::export::{Form, convert};
use crate::{Result, files};

/// What to record, and the files to write.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The command to record; if empty, the whole system.
    pub command: Vec<OsString>,
    /// The duration; if `None`, until the command ends or the recording is stopped.
    pub duration: Option<Nanos>,
    /// The file of the recording; if `None`, a name with the current time.
    pub output: Option<PathBuf>,
    /// Files for other forms of the recording.
    pub also: Vec<(Form, PathBuf)>,
    /// The mechanism of the kernel.
    pub source: Source,
    /// The events with call chains.
    pub call_chains: CallChains,
    /// Whether this process is itself what is recorded: then only the threads that record are
    /// observers, not the whole process.
    pub is_the_recorded: bool,
}

/// A recording in a file.
#[derive(Debug)]
pub struct Made {
    /// The file.
    pub path: PathBuf,
    /// Its summary.
    pub summary: RecordingSummary,
}

/// Records to a file until the command ends, the duration is over, or `control` stops it.
///
/// # Errors
/// Recording or the command cannot be started, or a file cannot be written.
pub fn to_file(
    wanted: &Wanted,
    control: &Control,
    on_event: impl FnMut(RecordEvent),
) -> Result<Made> {
    let _guardian = guardian();
    let path = wanted.path();
    let options = wanted.options(Keep::File(path.clone()))?;
    let recorded = record(options, &wanted.command, wanted.duration, control, on_event)?;
    wanted.write_other_forms(&path)?;
    Ok(Made { path, summary: recorded.summary })
}

/// Removes what killed processes have left, and starts a process that removes the recorder's
/// instance of tracefs if this process is killed. Hold it longer than the recorder.
pub fn guardian() -> Option<Guardian> {
    // Recording works without both; a measurement reports what cannot be restored.
    restore_left(Path::new("/"));
    let executable = std::env::current_exe().ok()?;
    Guardian::start(&executable, Vec::new()).ok()
}

impl Wanted {
    /// The file of the recording.
    pub(crate) fn path(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| {
            let now = tactus_sys::clock::now::<Realtime>();
            // A colon in a file name has a meaning for make, scp, PATH and other systems.
            let date = format::date(now).replace([':', '-'], "").replace('T', "-");
            PathBuf::from(format!("tactus-{}.tactusrec", date.trim_end_matches('Z')))
        })
    }

    /// The recordings beside the file of this one that did not get to their ends, e.g. because
    /// their recorder was killed.
    pub fn left_parts(&self) -> Vec<PathBuf> {
        let path = self.path();
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        let parts = left_parts(directory.unwrap_or(Path::new(".")));
        // As the user names files of the current directory.
        let short = |part: PathBuf| part.strip_prefix("./").map(Path::to_owned).unwrap_or(part);
        parts.into_iter().map(short).collect()
    }

    /// The options of the recorder, after a check that all files can be written.
    pub(crate) fn options(&self, keep: Keep) -> Result<Options> {
        files::check_recording(&self.path())?;
        self.also.iter().try_for_each(|(_, path)| files::check(path))?;
        let (source, call_chains) = (self.source, self.call_chains);
        let observers = match self.is_the_recorded {
            true => Observers::default(),
            false => Observers::of_processes([std::process::id()]),
        };
        Ok(Options { source, call_chains, keep, observers, ..Options::default() })
    }

    pub(crate) fn write_other_forms(&self, recording: &Path) -> Result<()> {
        self.also.iter().try_for_each(|(form, target)| convert(recording, *form, target))
    }
}
