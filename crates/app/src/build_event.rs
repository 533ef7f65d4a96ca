//! The progress of what is built before a run begins.

use serde::Serialize;
use tactus_kernels::KernelBuildEvent;
use tactus_model::kernel::Architecture;

/// An event of a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum BuildEvent<'a> {
    /// The program that runs in guests is being built.
    Program {
        /// The CPUs of the guests.
        architecture: Architecture,
        /// The packages whose compilation has begun.
        packages: u64,
        /// All packages.
        of: u64,
        /// The remaining time in seconds, once enough packages were compiled to estimate it.
        seconds_left: Option<u64>,
    },
    /// The program that runs in guests is built.
    ProgramBuilt {
        /// The CPUs of the guests.
        architecture: Architecture,
        /// The duration in seconds.
        seconds: u64,
    },
    /// A kernel is being built, or fetched.
    #[serde(untagged)]
    Kernel(KernelBuildEvent<'a>),
}

/// Receives the progress of a build, which takes minutes.
pub type BuildListener = Box<dyn Fn(&BuildEvent<'_>) + Send + Sync>;
