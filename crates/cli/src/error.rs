//! Errors at the edge: their kind decides prefix, hint and exit code.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::process::ExitCode;

use tactus_app::{Error, ErrorKind};
use tactus_kernels::KernelError;
use tactus_report::ReportError;

use crate::signals::INTERRUPTED;

/// The exit code by which `git bisect run` leaves a commit out (git-bisect(1)).
const SKIP: u8 = 125;

/// Why a command does not end well.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// What was measured does not meet a demand.
    NotMet(String),
    /// What was to be judged could not be measured, in a form that `git bisect run` skips.
    CannotTell(Error),
    /// It was not carried out.
    Failed(Error),
}

/// The result of a command.
pub(crate) type CommandResult<T = ()> = Result<T, CommandError>;

impl CommandError {
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Error::usage(message.to_string()).into()
    }

    pub(crate) fn not_met(message: impl fmt::Display) -> Self {
        Self::NotMet(message.to_string())
    }

    pub(crate) fn internal(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Error::new(ErrorKind::Internal, error).into()
    }

    /// The same for `git bisect run`: what is not available here says nothing of the commit.
    pub(crate) fn for_bisect(self) -> Self {
        match self {
            Self::Failed(error) if error.kind() == ErrorKind::Unavailable => {
                Self::CannotTell(error)
            }
            _ => self,
        }
    }

    /// Writes the error for a person and gives the exit code of its kind.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::NotMet(message) => tell("not met", 1, message, None),
            Self::CannotTell(error) => tell("cannot tell", SKIP, &error, error.hint()),
            Self::Failed(error) => {
                let defect = "this is a defect; please report it with the command and this message";
                let (prefix, code, hint) = match error.kind() {
                    ErrorKind::OutputClosed => return ExitCode::SUCCESS,
                    ErrorKind::Usage => ("error", 2, None),
                    ErrorKind::Unavailable => ("not available", 3, None),
                    ErrorKind::Internal => ("internal error", 4, Some(defect)),
                    ErrorKind::Interrupted => ("interrupted", INTERRUPTED, None),
                };
                tell(prefix, code, &error, error.hint().or(hint))
            }
        }
    }
}

fn tell(prefix: &str, code: u8, message: impl fmt::Display, hint: Option<&str>) -> ExitCode {
    eprintln!("{prefix}: {message}");
    if let Some(hint) = hint {
        eprintln!("hint: {hint}");
    }
    ExitCode::from(code)
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Errors that a subcommand meets itself are of the kind that they are of in a use case.
macro_rules! of_the_same_kind {
    ($($error:ty),*) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                Self::Failed(error.into())
            }
        })*
    };
}

of_the_same_kind!(io::Error, KernelError, ReportError);
