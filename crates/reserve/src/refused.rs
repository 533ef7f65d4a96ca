//! Why no rung granted a reserve.

use std::io;

use tactus_model::reserve::{RefusedRung, Rung};
use tactus_model::time::Nanos;
use tactus_permission::{Asked, Diagnosis};
use tactus_prepare::{NotGranted, diagnose_here};
use tactus_sys::{Errno, SysError};

/// Why a reserve was not granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Every rung refused.
    #[error("no reserve: {}", reasons(.rungs))]
    Rungs {
        /// The refusals, in the order of the ladder.
        rungs: Vec<RefusedRung>,
        /// The largest cost that would be granted for the period and deadline, if known.
        largest_cost: Option<Nanos>,
    },
    /// The thread has ended, or its settings cannot be read.
    #[error(transparent)]
    Thread(#[from] SysError),
}

impl Refused {
    /// The refusal of one rung.
    pub(crate) fn of(not_kept: NotKept, rung: Rung) -> Self {
        match not_kept.explain(rung) {
            Ok((refused, largest_cost)) => Self::Rungs { rungs: vec![refused], largest_cost },
            Err(error) => error.into(),
        }
    }
}

fn reasons(rungs: &[RefusedRung]) -> String {
    let reason = |refused: &RefusedRung| format!("{}: {}", refused.rung, refused.reason);
    rungs.iter().map(reason).collect::<Vec<_>>().join("; ")
}

/// Why one rung was not granted.
#[derive(Debug)]
pub(crate) enum NotKept {
    /// The kernel refuses the class.
    Class(NotGranted),
    /// Something else that the rung needs is missing.
    Needs {
        reason: String,
        fix: Option<String>,
        /// The largest cost that fits, if the refusal depends on it.
        largest_cost: Option<Nanos>,
    },
    /// The thread has ended, or its settings cannot be read.
    Thread(SysError),
}

impl From<SysError> for NotKept {
    fn from(error: SysError) -> Self {
        Self::Thread(error)
    }
}

impl NotKept {
    /// A lack with its fix.
    pub(crate) fn needs(reason: impl Into<String>, fix: Option<&str>) -> Self {
        let fix = fix.map(str::to_owned);
        Self::Needs { reason: reason.into(), fix, largest_cost: None }
    }

    /// Explains an error of the system at `what`, which is like a request for `asked`.
    pub(crate) fn of_errno(what: &str, asked: &Asked, errno: Errno) -> Self {
        let Diagnosis { reason, fix } = diagnose_here(asked, errno);
        Self::Needs { reason: format!("{what}: {reason}"), fix, largest_cost: None }
    }

    /// Explains an error at a file of a control group.
    pub(crate) fn of_file(what: &str, error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(errno) => Self::of_errno(what, &Asked::Setting, errno),
            None => Self::needs(format!("{what}: {error}"), None),
        }
    }

    /// The refusal in words.
    ///
    /// # Errors
    /// The thread has ended.
    pub(crate) fn explain(self, rung: Rung) -> Result<(RefusedRung, Option<Nanos>), SysError> {
        match self {
            Self::Class(refused) => {
                let shortfall = refused.explain_here();
                let (reason, fix) = (shortfall.reason, shortfall.fix);
                Ok((RefusedRung { rung, reason, fix }, None))
            }
            Self::Needs { reason, fix, largest_cost } => {
                Ok((RefusedRung { rung, reason, fix }, largest_cost))
            }
            Self::Thread(error) => Err(error),
        }
    }
}
