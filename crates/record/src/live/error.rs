//! Why a recording failed, and how to fix it.

use std::io;
use std::path::PathBuf;

use tactus_model::recording::AbsentEvent;
use tactus_permission::{Asked, Diagnosis};
use tactus_prepare::diagnose_here;
use tactus_sys::{Errno, SysError};

/// Why a recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The kernel refuses what recording needs.
    #[error("cannot {what}: {}", diagnosis.reason)]
    Refused {
        /// What was to be done.
        what: &'static str,
        /// The reason and the fix.
        diagnosis: Diagnosis,
    },
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
    /// The kernel does not have enough memory for a buffer.
    #[error("the kernel cannot allocate its buffers: {0}")]
    NoMemory(SysError),
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
        /// The file with the events that were written before, if it remains.
        part: Option<PathBuf>,
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

/// What is refused to users who may not read tracefs.
const TRACEPOINTS: &str = "read the kernel's tracepoints";

/// What is refused to users who may not make an instance.
pub(super) const INSTANCE: &str = "create an instance of tracefs";

impl RecordError {
    /// The error of a kernel that refused `asked` with `errno`, which was needed to do `what`.
    pub(crate) fn refused(what: &'static str, asked: &Asked, errno: Errno) -> Self {
        Self::Refused { what, diagnosis: diagnose_here(asked, errno) }
    }

    /// The same error for a recording that needs an instance of tracefs: the capabilities that show the
    /// tracepoints do not permit an instance, so following their advice would lead to another refusal.
    pub(super) fn of_instance(self) -> Self {
        match &self {
            Self::Refused { what: TRACEPOINTS, diagnosis }
                if diagnosis.fix.as_ref().is_some_and(|fix| fix.contains("setcap")) =>
            {
                Self::refused(INSTANCE, &Asked::TracefsInstance, Errno::ACCESS)
            }
            _ => self,
        }
    }

    /// The error of a kernel that does not show its tracepoints.
    pub(super) fn no_tracepoints(error: &io::Error) -> Self {
        let errno = Errno::from_io_error(error).unwrap_or(Errno::IO);
        Self::refused(TRACEPOINTS, &Asked::Tracepoints, errno)
    }

    /// The command or step that fixes the error, if there is one.
    pub fn fix(&self) -> Option<String> {
        match self {
            Self::Refused { diagnosis, .. } => diagnosis.fix.clone(),
            _ => None,
        }
    }

    /// Whether the machine does not permit or support recording, as opposed to a
    /// failure.
    pub fn is_not_available(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. } | Self::NoEvents(_) | Self::NoCpus(_) | Self::NoMemory(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_that_needs_an_instance_advises_no_capabilities() {
        let refused = |fix: &str| RecordError::Refused {
            what: TRACEPOINTS,
            diagnosis: Diagnosis { reason: "refused".to_owned(), fix: Some(fix.to_owned()) },
        };
        let fix = |fix: &str| refused(fix).of_instance().fix();
        assert!(
            !fix("sudo setcap cap_perfmon+ep tactus").is_some_and(|fix| fix.contains("setcap"))
        );
        let mount = "sudo mount -t tracefs tracefs /sys/kernel/tracing";
        assert_eq!(fix(mount).as_deref(), Some(mount));
    }
}
