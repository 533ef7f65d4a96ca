//! Errors of the command. Their kind determines prefix, hint and exit code.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::process::ExitCode;

use tactus_app::{Error, ErrorKind};
use tactus_kernels::KernelError;
use tactus_report::ReportError;
use tactus_sys::SysError;

use crate::signals;
use crate::terminal::say;

/// The exit code with which `git bisect run` skips a commit (git-bisect(1)).
const SKIP: u8 = 125;

/// The exit code with which a command ends `git bisect run`: more than 127 (git-bisect(1)).
const STOP: u8 = 128;

/// The exit codes for a command that does not exist or cannot be executed, as of env(1).
const NO_COMMAND: u8 = 127;
const COMMAND_REFUSED: u8 = 126;

/// The exit code of an interrupted run if this process got no signal: that of SIGINT.
const INTERRUPTED: u8 = 130;

/// Drops the error of an output that its reader closed (`tactus gate | head -1`): the command goes
/// on to its verdict, whose exit code must not depend on the reader.
pub(crate) fn for_any_reader(written: Result<(), impl Into<CommandError>>) -> CommandResult {
    match written.map_err(Into::into) {
        Err(CommandError::Failed(error)) if error.kind() == ErrorKind::OutputClosed => Ok(()),
        written => written,
    }
}

/// Why a command does not succeed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The measurement does not fulfil a demand.
    NotMet(String),
    /// The measurement does not suffice to judge the kernel.
    NotDecided(String),
    /// The recorded command failed with this exit code.
    CommandFailed(u8),
    /// The kernel could not be judged; `git bisect run` skips it.
    Undecided(Error),
    /// No kernel could be judged like that; `git bisect run` stops.
    StopsBisect(Error),
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

    /// The error of a process that cannot give up the capabilities of its program file.
    pub(crate) fn confinement(refused: SysError) -> Self {
        let error = format!("cannot drop the capabilities of the program file: {refused}");
        Error::new(ErrorKind::Unavailable, error)
            .with_hint("a seccomp filter refuses capset; start tactus without it")
            .into()
    }

    /// Converts an error for `git bisect run`, which would take most exit codes for a verdict on
    /// the commit. A signal has an exit code that stops it.
    pub(crate) fn stops_bisect(self) -> Self {
        match self {
            Self::Failed(error) if error.kind() != ErrorKind::Interrupted => {
                Self::StopsBisect(error)
            }
            _ => self,
        }
    }

    /// Converts an error for `git bisect run` that concerns the kernel of this commit only.
    pub(crate) fn skips_commit(self) -> Self {
        match self {
            Self::Failed(error) if error.kind() == ErrorKind::Unavailable => Self::Undecided(error),
            _ => self.stops_bisect(),
        }
    }

    /// Prints the error and returns the exit code of its kind.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::NotMet(message) => print("not met", 1, message, None),
            Self::NotDecided(message) => print("undecided", 1, message, None),
            Self::CommandFailed(code) => ExitCode::from(code),
            Self::Undecided(error) => print("undecided", SKIP, &error, error.hint()),
            Self::StopsBisect(error) => print("error", STOP, &error, error.hint()),
            Self::Failed(error) => {
                let defect =
                    "this is a bug in tactus; please report it with the command and this message";
                let (prefix, code, hint) = match error.kind() {
                    ErrorKind::OutputClosed => return ExitCode::SUCCESS,
                    ErrorKind::Usage => ("error", 2, None),
                    ErrorKind::Unavailable => ("error", 3, None),
                    ErrorKind::Internal => ("internal error", 4, Some(defect)),
                    ErrorKind::NoResult => ("incomplete", 5, None),
                    ErrorKind::NoCommand => ("error", NO_COMMAND, None),
                    ErrorKind::CommandRefused => ("error", COMMAND_REFUSED, None),
                    ErrorKind::Interrupted => {
                        ("interrupted", signals::exit_code().unwrap_or(INTERRUPTED), None)
                    }
                };
                print(prefix, code, &error, error.hint().or(hint))
            }
        }
    }
}

fn print(prefix: &str, code: u8, message: impl fmt::Display, hint: Option<&str>) -> ExitCode {
    say!("{prefix}: {message}");
    if let Some(hint) = hint {
        say!("hint: {hint}");
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
