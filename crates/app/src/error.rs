//! The errors of the use cases.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use tactus_cluster::ClusterError;
use tactus_guests::GuestError;
use tactus_judge::compare::Incomparable;
use tactus_judge::kernels::NotAGate;
use tactus_kernels::KernelError;
use tactus_model::address::NotAWholeRun;
use tactus_model::cost::Operation;
use tactus_model::experiment::BadExperiment;
use tactus_model::probe::ProbeKind;
use tactus_model::settings;
use tactus_record::live::RecordError;
use tactus_report::ReportError;
use tactus_store::StoreError;

use crate::files;

/// The result of a use case.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error. A command derives its exit code from it, a daemon its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request, or a file that it names, is wrong.
    Usage,
    /// Something is not permitted or not available on this machine.
    Unavailable,
    /// Some turns of a run, or all of them, gave no result; the others are kept.
    NoResult,
    /// The user interrupted it; finished turns are kept.
    Interrupted,
    /// The reader of the output closed it.
    OutputClosed,
    /// The command to record does not exist.
    NoCommand,
    /// The command to record cannot be executed.
    CommandRefused,
    /// A defect of Tactus.
    Internal,
}

/// Why a use case failed. Its text contains all causes, the outermost first.
#[derive(Debug, thiserror::Error)]
#[error("{}", Chain(&**cause))]
pub struct Error {
    kind: ErrorKind,
    cause: BoxedError,
    hint: Option<String>,
}

/// An error of another crate, or a text.
type BoxedError = Box<dyn StdError + Send + Sync>;

impl Error {
    /// An error of `kind` with its cause, which may be a string.
    pub fn new(kind: ErrorKind, cause: impl Into<BoxedError>) -> Self {
        Self { kind, cause: cause.into(), hint: None }
    }

    /// An error in the request.
    pub fn usage(cause: impl Into<BoxedError>) -> Self {
        Self::new(ErrorKind::Usage, cause)
    }

    /// The same error with a hint: a command or a sentence that says what to do.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same error as one of `kind`, with `text` in front.
    pub(crate) fn within(self, kind: ErrorKind, text: String) -> Self {
        let Self { cause, hint, .. } = self;
        Self { kind, cause: Box::new(Context { text, source: cause }), hint }
    }

    /// The same error with a hint, if there is one.
    #[must_use]
    pub fn with_hint_if_any(self, hint: Option<String>) -> Self {
        Self { hint: hint.or(self.hint), ..self }
    }

    /// The kind of the error.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do: a command or a sentence.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// What failed, with the reason.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Context {
    text: String,
    source: BoxedError,
}

/// Writes an error with its causes.
struct Chain<'e>(&'e (dyn StdError + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = without_numbers(&self.0.to_string());
        f.write_str(&text)?;
        let cause = self.0.source().map(|cause| Chain(cause).to_string());
        // Some errors have their cause in their own text.
        cause.filter(|cause| !text.ends_with(cause)).map_or(Ok(()), |cause| write!(f, ": {cause}"))
    }
}

/// Removes the numbers that the standard library appends to errors of the operating system:
/// the name of the error says the same.
fn without_numbers(text: &str) -> String {
    const START: &str = " (os error ";
    let mut parts = text.split(START);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once(')') {
        Some((number, rest)) if number.parse::<i32>().is_ok() => text + rest,
        _ => text + START + part,
    })
}

/// Converts errors of other crates to errors of a use case.
pub(crate) trait OrError<T> {
    /// Converts a failure to an error of `kind` with `what` in front of its text. An error of a
    /// use case keeps its hint.
    fn or_error(self, kind: ErrorKind, what: impl FnOnce() -> String) -> Result<T>;

    /// Converts a failure to an internal error.
    fn or_internal(self) -> Result<T>;
}

impl<T, E: Into<BoxedError>> OrError<T> for std::result::Result<T, E> {
    fn or_error(self, kind: ErrorKind, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| match error.into().downcast::<Error>() {
            Ok(error) => error.within(kind, what()),
            Err(cause) => Error::new(kind, cause).within(kind, what()),
        })
    }

    fn or_internal(self) -> Result<T> {
        self.map_err(|error| Error::new(ErrorKind::Internal, error))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::NoRuns
            | StoreError::NoneOfMachine
            | StoreError::UnknownRun { .. }
            | StoreError::AmbiguousRun { .. }
            | StoreError::NotMeasured { .. }
            | StoreError::IsADirectory { .. }
            | StoreError::BadUrl { .. }
            | StoreError::Complete(_)
            | StoreError::TurnTaken { .. }
            | StoreError::NotAnExport { .. }
            | StoreError::UnknownFormat { .. }
            | StoreError::AlreadyThere(_)
            | StoreError::Import(_) => ErrorKind::Usage,
            StoreError::Unbalanced { .. }
            | StoreError::NotPlanned { .. }
            | StoreError::Unkeepable { .. } => ErrorKind::Internal,
            StoreError::Export(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                ErrorKind::OutputClosed
            }
            _ => ErrorKind::Unavailable,
        };
        Self::new(kind, error)
    }
}

/// The first operation that has a setting, if some have it and some do not.
fn only_of(setting: &str) -> Option<Operation> {
    let setting = settings::find(setting).ok()?;
    let (taking, other): (Vec<Operation>, Vec<Operation>) =
        Operation::ALL.iter().partition(|operation| setting.is_of(**operation));
    taking.first().copied().filter(|_| !other.is_empty())
}

impl From<BadExperiment> for Error {
    fn from(error: BadExperiment) -> Self {
        let hint = match &error {
            BadExperiment::Idle { setting, probe } => Some(match only_of(setting) {
                Some(operation) if *probe == ProbeKind::Cost => {
                    format!(
                        "add `--probe cost --operation {operation}`, or leave `--{setting}` out"
                    )
                }
                _ => format!("add `--probe {probe}`, or in a file: probe = \"{probe}\""),
            }),
            _ => None,
        };
        Self::usage(error).with_hint_if_any(hint)
    }
}

impl From<NotAWholeRun> for Error {
    fn from(error: NotAWholeRun) -> Self {
        Self::usage(error)
    }
}

impl From<NotAGate> for Error {
    fn from(error: NotAGate) -> Self {
        Self::usage(error)
    }
}

impl From<ReportError> for Error {
    fn from(error: ReportError) -> Self {
        Self::new(ErrorKind::Internal, error)
    }
}

impl From<GuestError> for Error {
    fn from(error: GuestError) -> Self {
        let hint = error.hint();
        Self::new(ErrorKind::Unavailable, error).with_hint_if_any(hint)
    }
}

impl From<ClusterError> for Error {
    fn from(error: ClusterError) -> Self {
        let kind = match &error {
            ClusterError::Ended => ErrorKind::Interrupted,
            ClusterError::NotNodes(_)
            | ClusterError::UnknownNode { .. }
            | ClusterError::TooManyNodes { .. } => ErrorKind::Usage,
            _ => ErrorKind::Unavailable,
        };
        let hint = error.hint();
        Self::new(kind, error).with_hint_if_any(hint)
    }
}

impl From<KernelError> for Error {
    fn from(error: KernelError) -> Self {
        GuestError::from(error).into()
    }
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Self {
        let error = match error {
            RecordError::Write { path, error, part } => {
                let kept = part.map(|part| {
                    let part = part.display();
                    format!("the events until then are in {part}; read it: tactus explain {part}")
                });
                return files::not_written(&path, error).with_hint_if_any(kept);
            }
            other => other,
        };
        let kind = match &error {
            RecordError::Command { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                ErrorKind::NoCommand
            }
            RecordError::Command { .. } => ErrorKind::CommandRefused,
            _ if error.is_not_available() => ErrorKind::Unavailable,
            _ => ErrorKind::Internal,
        };
        let hint = error.fix();
        Self::new(kind, error).with_hint_if_any(hint)
    }
}

impl From<Incomparable> for Error {
    fn from(error: Incomparable) -> Self {
        let hint = match error {
            Incomparable::Meaning(_) => Some("`tactus compare --force` compares them nevertheless"),
            Incomparable::Time { .. } => Some(
                "measure both in deterministic time of the same speed: tactus measure lab --exact --mips 1000",
            ),
            Incomparable::NoCommonCell { .. } | Incomparable::RunAndCell => None,
        };
        Self::usage(error).with_hint_if_any(hint.map(str::to_owned))
    }
}

impl From<io::Error> for Error {
    /// For errors of an output that the caller passed. Errors of files contain the path.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(ErrorKind::OutputClosed, error),
            _ => Self::new(ErrorKind::Unavailable, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_contains_its_causes_and_keeps_its_hint() {
        let cause = io::Error::from(io::ErrorKind::NotFound);
        let error: Result<()> = Err(cause).or_error(ErrorKind::Unavailable, || "a file".to_owned());
        let error = error.map_err(|error| error.with_hint("make it"));
        let error = error.or_error(ErrorKind::Usage, || "a run".to_owned()).unwrap_err();
        assert_eq!(error.to_string(), "a run: a file: entity not found");
        assert_eq!((error.kind(), error.hint()), (ErrorKind::Usage, Some("make it")));
    }

    #[test]
    fn a_cause_that_the_text_contains_is_not_repeated() {
        let source = Box::new(io::Error::from(io::ErrorKind::NotFound));
        let text = "cannot read a: entity not found".to_owned();
        let error = Error::new(ErrorKind::Unavailable, Context { text, source });
        assert_eq!(error.to_string(), "cannot read a: entity not found");
    }

    #[test]
    fn an_error_has_no_number_of_the_operating_system() {
        let error = Error::new(ErrorKind::Unavailable, io::Error::from_raw_os_error(2));
        assert_eq!(error.to_string(), "No such file or directory");
        assert_eq!(without_numbers("a (os error 2): b (os error -1)"), "a: b");
        assert_eq!(without_numbers("a (os error x) b"), "a (os error x) b");
    }
}
