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
use std::path::PathBuf;

use tactus_kernels::KernelError;

pub use guests::{BootedGuests, GuestPlaces, Guests};
pub use program::STATIC_TARGET;
pub use transcript::prove;

/// Why no guest can boot.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The emulator is not installed.
    #[error("cannot boot guests: {0} is not installed")]
    NoEmulator(&'static str),
    /// The program that runs in guests is missing.
    #[error("cannot find the program that runs in guests; searched {}", list(.0))]
    NoProgram(Vec<PathBuf>),
    /// The program that runs in guests needs shared libraries.
    #[error("{} is not statically linked, and a guest has no shared libraries", .0.display())]
    NotStatic(PathBuf),
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
    /// The fix, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoEmulator(_) => Some("sudo apt-get install qemu-system-x86".to_owned()),
            Self::NoProgram(_) | Self::NotStatic(_) => Some(format!(
                "rustup target add {STATIC_TARGET} && cargo build --release -p tactus-guest \
                 --target {STATIC_TARGET}; or set TACTUS_GUEST to its path"
            )),
            Self::Kernel(error) => error.hint(),
            Self::Io { .. } => None,
        }
    }
}

fn list(places: &[PathBuf]) -> String {
    let shown: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    shown.join(", ")
}
