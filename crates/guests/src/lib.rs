//! Guests: a kernel boots in an emulator, measures one cell, and ends.
//!
//! [`machine`] defines the emulator's arguments and [`archive`] the guest's files, both as pure
//! values. [`emulator`] runs a machine as a process. A `turn` boots its machines, a `collector`
//! reads their output, and `transcript` checks it. A guest begins with the same state every time,
//! and a kernel panic loses only one turn. In deterministic time, that state is saved after the
//! boot (`saved`), through the emulator's `monitor`.
//!
//! The first process of a guest runs the program of the crate `tactus-guest`.
#![forbid(unsafe_code)]

pub mod archive;
mod collector;
pub mod emulator;
mod guests;
mod kvm;
pub mod machine;
mod monitor;
mod permits;
mod program;
mod running;
mod saved;
mod stage;
mod transcript;
mod turn;

use std::io;
use std::path::{Path, PathBuf};

use tactus_kernels::KernelError;
use tactus_model::kernel::Architecture;

pub use emulator::Emulator;
pub use guests::{BootedGuests, GuestParts, GuestPlaces, Guests, output_limit};
pub use kvm::KvmTrials;
pub use program::{GuestProgram, ProgramProgress, ProgramSource, STATIC_TARGET, static_target};
pub use transcript::prove;

/// Why no guest can boot.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The emulator is not installed.
    #[error("cannot boot guests: {} is not installed", emulator::program(*.0))]
    NoEmulator(Architecture),
    /// The program that runs in guests is missing.
    #[error(
        "cannot find the program that runs in guests for {architecture}{}; searched {}",
        not_used(*.architecture, .unused.as_deref()), list(.places)
    )]
    NoProgram {
        /// The CPUs of the guests.
        architecture: Architecture,
        /// The files that were searched.
        places: Vec<PathBuf>,
        /// The file that a person named, which is for guests of another architecture.
        unused: Option<PathBuf>,
    },
    /// The file that a person named as the program that runs in guests is not one.
    #[error("TACTUS_GUEST names {}: {reason}", .file.display())]
    NotAProgram {
        /// The file.
        file: PathBuf,
        /// The reason, in a sentence.
        reason: &'static str,
    },
    /// The program that runs in guests cannot be built.
    #[error("cannot build the program that runs in guests for {architecture}: {reason}")]
    NotBuilt {
        /// The CPUs of the guests.
        architecture: Architecture,
        /// The reason.
        reason: String,
        /// The fix, if known.
        hint: Option<String>,
    },
    /// The program that runs in guests needs shared libraries.
    #[error("{} is not statically linked, and a guest has no shared libraries", .file.display())]
    NotStatic {
        /// The CPUs of the guests.
        architecture: Architecture,
        /// Its file.
        file: PathBuf,
    },
    /// The kernel is not available.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Another operation on this machine failed.
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        /// The operation, as a verb.
        what: &'static str,
        /// Its file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl GuestError {
    /// The CPUs of the guests whose program is missing, which a build from source can change.
    pub const fn missing_program(&self) -> Option<Architecture> {
        match self {
            Self::NoProgram { architecture, .. } | Self::NotStatic { architecture, .. } => {
                Some(*architecture)
            }
            _ => None,
        }
    }

    /// The fix, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoEmulator(architecture) => {
                Some(format!("sudo apt-get install {}", emulator::package(*architecture)))
            }
            Self::NoProgram { architecture, unused: Some(named), .. } => {
                let place = named.with_file_name(format!("tactus-guest-{architecture}"));
                Some(format!(
                    "unset TACTUS_GUEST, so that tactus uses its own programs (`{}` builds them), or \
                     put the program for {architecture} beside it: {}",
                    program::setup(*architecture),
                    place.display()
                ))
            }
            Self::NoProgram { architecture, .. } => Some(program::fix_if_missing(*architecture)),
            Self::NotAProgram { .. } => Some(
                "unset TACTUS_GUEST, so that tactus uses its own program (`tactus lab setup` builds it), \
                 or name a statically linked build of tactus-guest"
                    .to_owned(),
            ),
            Self::NotStatic { architecture, .. } => Some(program::setup(*architecture).to_owned()),
            Self::NotBuilt { hint, .. } => hint.clone(),
            Self::Kernel(error) => error.hint(),
            Self::Io { .. } => None,
        }
    }
}

/// Says why a named program was not used for guests of `architecture`.
fn not_used(architecture: Architecture, unused: Option<&Path>) -> String {
    let others = Architecture::ALL.iter().filter(|other| **other != architecture);
    let others: Vec<&str> = others.map(|other| other.word()).collect();
    unused.map_or_else(String::new, |named| {
        let (named, others) = (named.display(), others.join(" or "));
        format!("; {named}, which TACTUS_GUEST names, is for {others} and was not used")
    })
}

fn list(places: &[PathBuf]) -> String {
    let shown: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    shown.join(", ")
}
