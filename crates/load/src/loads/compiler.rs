//! The installed C compiler, or its imitation in a guest.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::imitation::Imitation;
use super::program;
use crate::error::{During, LoadError};
use crate::site::Site;
use crate::surroundings::Surroundings;

/// A C compiler at work in one directory.
#[derive(Debug)]
pub(super) enum Compiler {
    /// The installed compiler.
    Installed {
        /// The path of its driver.
        executable: PathBuf,
        /// The directory of its temporary files.
        directory: PathBuf,
    },
    /// An imitation of what a compiler does to the kernel.
    Imitated(Imitation),
}

const HINT: &str = "install a C compiler: sudo apt install gcc libc6-dev";

impl Compiler {
    /// Finds `cc` and lets it keep its temporary files in `directory`. Guests have no
    /// compiler; there it is imitated, which is reported as a shortfall.
    pub(super) fn find(directory: &Path, site: &'static Site) -> Result<Self, LoadError> {
        if site.surroundings() == Surroundings::Guest {
            return Imitation::prepare(site).map(Self::Imitated);
        }
        let executable = program::find("cc").ok_or_else(|| {
            LoadError::new("this load needs a C compiler, but `cc` is not in PATH").hint(HINT)
        })?;
        Ok(Self::Installed { executable, directory: directory.to_owned() })
    }

    /// Preprocesses, compiles, optimises, assembles and links C files into a program.
    pub(super) fn build(&self, sources: &[PathBuf], output: &Path) -> Result<(), LoadError> {
        match self {
            Self::Installed { executable, directory } => {
                build(executable, directory, sources, output)
            }
            Self::Imitated(imitation) => imitation.build(sources, output),
        }
    }
}

fn build(
    executable: &Path,
    directory: &Path,
    sources: &[PathBuf],
    output: &Path,
) -> Result<(), LoadError> {
    let mut command = program::command(executable);
    command
        .arg("-O2")
        .arg("-o")
        .arg(output)
        .args(sources)
        .env("TMPDIR", directory)
        .stderr(Stdio::piped());
    let finished = command.spawn().and_then(|child| child.wait_with_output());
    let finished = finished.during("run the C compiler")?;
    if finished.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&finished.stderr);
    let first = complaint.lines().next().unwrap_or("it printed no reason");
    Err(LoadError::new(format!("the C compiler ended with {}: {first}", finished.status))
        .hint(HINT))
}
