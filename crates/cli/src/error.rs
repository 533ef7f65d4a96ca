//! Errors of the command. Their kind determines prefix, hint and exit code.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::process::ExitCode;

use tactus_app::{Error, ErrorKind};
use tactus_kernels::KernelError;
use tactus_report::ReportError;

use crate::signals::INTERRUPTED;

/// The exit code with which `git bisect run` skips a commit (git-bisect(1)).
const SKIP: u8 = 125;

/// Why a command does not succeed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The measurement does not fulfil a demand.
    NotMet(String),
    /// The kernel could not be judged; `git bisect run` skips it.
    Undecided(Error),
    /// The command failed.
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

    /// Converts an error for `git bisect run`: if something is not available, skip the commit.
    pub(crate) fn for_bisect(self) -> Self {
        match self {
            Self::Failed(error) if error.kind() == ErrorKind::Unavailable => Self::Undecided(error),
            _ => self,
        }
    }

    /// Prints the error and returns the exit code of its kind.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::NotMet(message) => print("not met", 1, message, None),
            Self::Undecided(error) => print("undecided", SKIP, &error, error.hint()),
            Self::Failed(error) => {
                let defect =
                    "this is a bug in tactus; please report it with the command and this message";
                let (prefix, code, hint) = match error.kind() {
                    ErrorKind::OutputClosed => return ExitCode::SUCCESS,
                    ErrorKind::Usage => ("error", 2, None),
                    ErrorKind::Unavailable => ("error", 3, None),
                    ErrorKind::Internal => ("internal error", 4, Some(defect)),
                    ErrorKind::NoResult => ("incomplete", 5, None),
                    ErrorKind::Interrupted => ("interrupted", INTERRUPTED, None),
                };
                print(prefix, code, &error, error.hint().or(hint))
            }
        }
    }
}

fn print(prefix: &str, code: u8, message: impl fmt::Display, hint: Option<&str>) -> ExitCode {
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

/// Errors in a subcommand have the same kind as in a use case.
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
