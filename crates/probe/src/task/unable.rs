//! Why a task cannot continue, with the fix.

use std::path::Path;

use tactus_model::cost::Operation;
use tactus_permission::{Asked, Refusal, diagnose};
use tactus_sys::{Errno, SysError};

use crate::midi::MidiError;
use crate::net::NetError;
use crate::operations::Unmeasurable;
use crate::playback::PlaybackError;

/// Why a task cannot continue.
pub(crate) struct Unable {
    pub(crate) reason: String,
    /// How to fix it, where known.
    pub(crate) hint: Option<String>,
}

impl Unable {
    /// Nothing but the reason is known.
    pub(crate) fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: None }
    }

    /// The kernel refused what the task cannot do without.
    fn refused(asked: &Asked, error: SysError) -> Self {
        let facts = tactus_sys::facts::read(Path::new("/"));
        let refusal = Refusal::from_raw_os_error(error.errno.raw_os_error());
        let diagnosis = diagnose(asked, refusal, &facts);
        Self { reason: diagnosis.reason, hint: diagnosis.fix }
    }
}

impl From<SysError> for Unable {
    fn from(error: SysError) -> Self {
        match error.call {
            _ if is_of_io_uring(&error) => Self::refused(&Asked::IoUring, error),
            "bpf" => Self::refused(&Asked::Bpf, error),
            _ => Self::because(error.to_string()),
        }
    }
}

/// Whether the kernel may have refused io_uring altogether.
fn is_of_io_uring(error: &SysError) -> bool {
    let is_refused = matches!(error.errno, Errno::PERM | Errno::ACCESS | Errno::NOSYS);
    error.call == "io_uring_setup" || (error.call == "io_uring_enter" && is_refused)
}

impl From<Unmeasurable> for Unable {
    fn from(error: Unmeasurable) -> Self {
        match (&error, error.hint()) {
            (Unmeasurable::System(refused), _) if is_of_io_uring(refused) => {
                Self::refused(&Asked::IoUring, *refused)
            }
            // Its other calls need no permission.
            (Unmeasurable::Partner { operation: Operation::IpcIoUring, errno: Errno::PERM }, _) => {
                Self::refused(&Asked::IoUring, SysError::new("io_uring_enter", Errno::PERM))
            }
            (Unmeasurable::System(refused), None) => Self::from(*refused),
            (_, hint) => Self { reason: error.to_string(), hint: hint.map(str::to_owned) },
        }
    }
}

impl From<MidiError> for Unable {
    fn from(error: MidiError) -> Self {
        match error {
            MidiError::System(error) => Self::from(error),
            MidiError::Server(_) => Self::because(error.to_string()),
        }
    }
}

impl From<PlaybackError> for Unable {
    fn from(error: PlaybackError) -> Self {
        Self { reason: error.to_string(), hint: error.hint().map(str::to_owned) }
    }
}

impl From<NetError> for Unable {
    fn from(error: NetError) -> Self {
        match error {
            NetError::System(error) if error.errno == Errno::PERM => {
                let asked = Asked::Namespace { maps_users: false, switch: None };
                let Self { reason, hint } = Self::refused(&asked, error);
                Self { reason: format!("no network namespaces: {reason}"), hint }
            }
            NetError::System(error) if error.errno == Errno::AFNOSUPPORT => Self {
                reason: "this kernel was built without AF_XDP (CONFIG_XDP_SOCKETS)".to_owned(),
                hint: Some("use net-path = \"packet-library\"".to_owned()),
            },
            other => Self::because(other.to_string()),
        }
    }
}
