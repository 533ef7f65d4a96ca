//! Errors at the edge: their kind decides prefix, hint and exit code.

use std::fmt;
use std::io;
use std::process::ExitCode;

use tactus_report::ReportError;

use crate::signals::INTERRUPTED;

/// What kind of error ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// What was measured does not meet a demand.
    NotMet,
    /// The command line or a file it names is wrong.
    Usage,
    /// Something is not permitted or not available on this machine.
    Unavailable,
    /// What was to be judged could not be measured, in a form that `git bisect run` skips.
    CannotTell,
    /// A defect of Tactus.
    Internal,
    /// The user stopped the command.
    Interrupted,
    /// Whoever read our output has had enough.
    OutputClosed,
}

/// The exit code by which `git bisect run` leaves a commit out (git-bisect(1)).
const SKIP: u8 = 125;

/// An error with the hint that tells what to do next.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: ErrorKind,
    error: anyhow::Error,
    hint: Option<String>,
}

/// The result of a command.
pub(crate) type CommandResult<T = ()> = Result<T, CommandError>;

impl CommandError {
    pub(crate) fn new(kind: ErrorKind, error: impl Into<anyhow::Error>) -> Self {
        Self { kind, error: error.into(), hint: None }
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Usage, anyhow::anyhow!("{message}"))
    }

    pub(crate) fn not_met(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::NotMet, anyhow::anyhow!("{message}"))
    }

    pub(crate) fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self::new(ErrorKind::Internal, error)
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same for `git bisect run`: what is not available here says nothing of the commit.
    pub(crate) fn for_bisect(self) -> Self {
        match self.kind {
            ErrorKind::Unavailable => Self { kind: ErrorKind::CannotTell, ..self },
            _ => self,
        }
    }

    /// Writes the error for a person and gives the exit code of its kind.
    pub(crate) fn report(self) -> ExitCode {
        let (prefix, code) = match self.kind {
            ErrorKind::OutputClosed => return ExitCode::SUCCESS,
            ErrorKind::NotMet => ("not met", 1),
            ErrorKind::Usage => ("error", 2),
            ErrorKind::Unavailable => ("not available", 3),
            ErrorKind::CannotTell => ("cannot tell", SKIP),
            ErrorKind::Internal => ("internal error", 4),
            ErrorKind::Interrupted => ("interrupted", INTERRUPTED),
        };
        eprintln!("{prefix}: {:#}", self.error);
        if let Some(hint) = self.hint {
            eprintln!("hint: {hint}");
        } else if self.kind == ErrorKind::Internal {
            eprintln!("hint: this is a defect; please report it with the command and this message");
        }
        ExitCode::from(code)
    }
}

impl From<tactus_app::Error> for CommandError {
    fn from(error: tactus_app::Error) -> Self {
        use tactus_app::ErrorKind as Kind;
        let kind = match error.kind() {
            Kind::Usage => ErrorKind::Usage,
            Kind::Unavailable => ErrorKind::Unavailable,
            Kind::Interrupted => ErrorKind::Interrupted,
            Kind::OutputClosed => ErrorKind::OutputClosed,
            Kind::Internal => ErrorKind::Internal,
        };
        let hint = error.hint().map(str::to_owned);
        Self { kind, error: error.into(), hint }
    }
}

impl From<ReportError> for CommandError {
    fn from(error: ReportError) -> Self {
        Self::internal(error)
    }
}

impl From<io::Error> for CommandError {
    /// For errors of our own output; files name themselves in their errors.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::new(ErrorKind::OutputClosed, error)
        } else {
            Self::new(ErrorKind::Unavailable, error)
        }
    }
}
