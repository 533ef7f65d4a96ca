//! Guests: a kernel is booted, measures one cell, and is gone.
//!
//! [`machine`] says what is booted and [`archive`] what it finds there, both from values
//! alone. [`emulator`] runs it as a process. A `turn` boots the machines that it wants, a
//! `collector` hears them, and `transcript` judges what they say. A guest begins from the
//! same state every time, and one that panics loses one turn. In exact time that state is
//! kept (`kept`) when it has booted, by the emulator's `monitor`.
//!
//! The program that runs in a guest as its first process is the crate `tactus-guest`.
#![forbid(unsafe_code)]

pub mod archive;
mod collector;
pub mod emulator;
mod guests;
mod kept;
pub mod machine;
mod monitor;
mod program;
mod running;
mod stage;
mod transcript;
mod turn;

use std::io;
use std::path::PathBuf;

use tactus_kernels::KernelError;

pub use guests::{BootedGuests, GuestPlaces, Guests};
pub use program::STATIC_TARGET;
pub use transcript::prove;

/// Why no guest can be booted.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The emulator is not installed.
    #[error("{0} is not installed, which boots the guests")]
    NoEmulator(&'static str),
    /// The program that runs in guests is not there.
    #[error("the program that runs in guests is in none of these places: {}", list(.0))]
    NoProgram(Vec<PathBuf>),
    /// The program that runs in guests needs a library, and there is none.
    #[error("{} is not linked statically, and a guest has no libraries", .0.display())]
    NotStatic(PathBuf),
    /// The kernel cannot be had.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Something else of this machine failed.
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        /// What was to be done.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What came of it.
        source: io::Error,
    },
}

impl GuestError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoEmulator(_) => Some("sudo apt-get install qemu-system-x86".to_owned()),
            Self::NoProgram(_) | Self::NotStatic(_) => Some(format!(
                "rustup target add {STATIC_TARGET} && cargo build --release -p tactus-guest \
                 --target {STATIC_TARGET}; elsewhere, set TACTUS_GUEST to its file"
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
