//! Why there is no recording, and what would mend it.

use std::io;
use std::path::{Path, PathBuf};

use tactus_model::recording::AbsentEvent;
use tactus_permission::grant_all;
use tactus_sys::SysError;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The kernel shows no tracepoints.
    #[error("the kernel's tracepoints cannot be found: {0}")]
    NoTracefs(io::Error),
    /// Their descriptions may not be read.
    #[error("the descriptions of the kernel's tracepoints in {place} cannot be read: {error}")]
    Unreadable {
        /// Where they are.
        place: PathBuf,
        /// What the kernel answered.
        error: io::Error,
    },
    /// Recording is not permitted.
    #[error("the kernel does not permit recording its events ({0}): CAP_PERFMON is missing")]
    NotPermitted(SysError),
    /// No instance of tracefs can be made.
    #[error("no instance of tracefs can be made ({0}): only root may")]
    NoInstance(SysError),
    /// The buffers of this kernel cannot be read.
    #[error("the buffers of this kernel's tracefs cannot be read: {0}")]
    Pages(String),
    /// None of the events can be had.
    #[error("none of the events can be recorded; the first: {}: {}", .0.event, .0.reason)]
    NoEvents(AbsentEvent),
    /// No events were asked for.
    #[error("no events to record were named")]
    NothingAsked,
    /// The processors are not there.
    #[error("none of the processors {0} is online")]
    NoProcessors(String),
    /// The kernel gives no memory for a buffer.
    #[error("the kernel gives no memory for its buffers: {0}")]
    NoRing(SysError),
    /// A system call failed that is not known to.
    #[error(transparent)]
    System(#[from] SysError),
    /// What was recorded cannot be kept.
    #[error("{path}: {error}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        error: io::Error,
    },
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(io::Error),
    /// The command to be recorded cannot be run.
    #[error("{command}: {error}")]
    Command {
        /// Its name.
        command: String,
        /// What the kernel answered.
        error: io::Error,
    },
    /// A thread of the recorder ended before it should; a defect of ours.
    #[error("the recorder's {0} ended before it should")]
    Ended(&'static str),
    /// What was kept cannot be read back; a defect of ours.
    #[error("what was recorded cannot be read back: {0}")]
    ReadBack(String),
}

impl RecordError {
    /// The command that would mend it, where there is one.
    pub fn mend(&self) -> Option<String> {
        match self {
            Self::NoTracefs(error) if error.kind() == io::ErrorKind::NotFound => {
                Some("sudo mount -t tracefs tracefs /sys/kernel/tracing".to_owned())
            }
            Self::NoTracefs(_) | Self::Unreadable { .. } | Self::NotPermitted(_) => {
                let program = std::env::current_exe().ok();
                Some(grant_all(program.as_deref().and_then(Path::to_str)))
            }
            Self::NoRing(_) => Some(
                "ulimit -l unlimited   # or: sudo sysctl kernel.perf_event_mlock_kb=16384"
                    .to_owned(),
            ),
            Self::NoInstance(_) => Some("run it as root, with sudo".to_owned()),
            _ => None,
        }
    }

    /// Whether the machine does not permit or offer what was asked, as against
    /// something that went wrong.
    pub fn is_not_available(&self) -> bool {
        matches!(
            self,
            Self::NoTracefs(_)
                | Self::Unreadable { .. }
                | Self::NotPermitted(_)
                | Self::NoInstance(_)
                | Self::NoEvents(_)
                | Self::NoProcessors(_)
                | Self::NoRing(_)
        )
    }
}
