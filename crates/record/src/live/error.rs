//! Why a recording failed, and how to fix it.

use std::io;
use std::path::PathBuf;

use tactus_model::facts::PermissionFacts;
use tactus_model::recording::AbsentEvent;
use tactus_permission::{Activity, setcap};
use tactus_sys::SysError;

/// Why a recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The kernel shows no tracepoints.
    #[error("cannot find the kernel's tracepoints: {0}")]
    NoTracefs(io::Error),
    /// The formats of the tracepoints cannot be read.
    #[error("cannot read the formats of the kernel's tracepoints in {place}: {error}")]
    Unreadable {
        /// The directory.
        place: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// Recording is not permitted.
    #[error("cannot record kernel events ({0}): CAP_PERFMON is missing")]
    NotPermitted(SysError),
    /// A tracefs instance cannot be created.
    #[error("cannot create a tracefs instance ({0}): only root may")]
    NoInstance(SysError),
    /// The buffers of this kernel cannot be read.
    #[error("cannot read the tracefs buffers of this kernel: {0}")]
    Pages(String),
    /// None of the events can be recorded.
    #[error("cannot record any of the events; the first is {}: {}", .0.event, .0.reason)]
    NoEvents(AbsentEvent),
    /// No events were given.
    #[error("no events to record were given")]
    NothingAsked,
    /// None of the CPUs is online.
    #[error("none of the CPUs {0} is online")]
    NoCpus(String),
    /// The kernel does not allocate memory for a buffer.
    #[error("the kernel cannot allocate its buffers: {0}")]
    NoRing(SysError),
    /// An unexpected failure of a system call.
    #[error(transparent)]
    System(#[from] SysError),
    /// The recording cannot be stored.
    #[error("cannot write {path}: {error}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The command cannot be executed.
    #[error("cannot start {command}: {error}")]
    Command {
        /// Its name.
        command: String,
        /// The error.
        error: io::Error,
    },
    /// A thread of the recorder ended early; this is a bug.
    #[error("the recorder's {0} thread ended early; this is a bug")]
    Ended(&'static str),
    /// The stored recording cannot be read; this is a bug.
    #[error("cannot read the recording back: {0}")]
    ReadBack(String),
}

impl RecordError {
    /// The command that fixes the error, if there is one.
    pub fn fix(&self) -> Option<String> {
        match self {
            Self::NoTracefs(error) if error.kind() == io::ErrorKind::NotFound => {
                Some("sudo mount -t tracefs tracefs /sys/kernel/tracing".to_owned())
            }
            Self::NoTracefs(_) | Self::Unreadable { .. } => Some(permit(Activity::Tracefs)),
            // The formats have been read by then.
            Self::NotPermitted(_) => Some(permit(Activity::Perf)),
            Self::NoRing(_) => Some(
                "ulimit -l unlimited   # or: sudo sysctl kernel.perf_event_mlock_kb=16384"
                    .to_owned(),
            ),
            Self::NoInstance(_) => Some("run it as root, with sudo".to_owned()),
            _ => None,
        }
    }

    /// Whether the machine does not permit or support recording, as opposed to a
    /// failure.
    pub fn is_not_available(&self) -> bool {
        matches!(
            self,
            Self::NoTracefs(_)
                | Self::Unreadable { .. }
                | Self::NotPermitted(_)
                | Self::NoInstance(_)
                | Self::NoEvents(_)
                | Self::NoCpus(_)
                | Self::NoRing(_)
        )
    }
}

/// The command that permits `activity` to this program.
fn permit(activity: Activity) -> String {
    let program = std::env::current_exe().ok();
    let program = program.and_then(|path| path.into_os_string().into_string().ok());
    setcap(activity, &PermissionFacts { program, ..PermissionFacts::default() })
}

#[cfg(test)]
mod tests {
    use tactus_sys::Errno;

    use super::*;

    #[test]
    fn only_unreadable_formats_need_the_right_to_read_any_file() {
        let refused = RecordError::NotPermitted(SysError::new("perf_event_open", Errno::ACCESS));
        let unreadable = RecordError::NoTracefs(io::ErrorKind::PermissionDenied.into());
        let for_perf = refused.fix().expect("a fix");
        assert!(for_perf.contains("cap_perfmon"), "{for_perf}");
        assert!(!for_perf.contains("cap_dac_read_search"), "{for_perf}");
        let for_tracefs = unreadable.fix().expect("a fix");
        assert!(for_tracefs.contains("cap_dac_read_search"), "{for_tracefs}");
    }
}
