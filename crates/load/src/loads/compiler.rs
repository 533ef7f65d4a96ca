//! The installed C compiler.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::program;
use crate::error::{During, LoadError};

/// The installed C compiler at work in one directory.
#[derive(Debug)]
pub(super) struct Compiler {
    executable: PathBuf,
    directory: PathBuf,
}

const HINT: &str = "install a C compiler: sudo apt install gcc libc6-dev";

impl Compiler {
    /// Finds `cc`, which shall keep its temporary files in `directory`.
    pub(super) fn find(directory: &Path) -> Result<Self, LoadError> {
        let executable = program::find("cc").ok_or_else(|| {
            LoadError::new("this load needs a C compiler, and there is no `cc` in PATH").hint(HINT)
        })?;
        Ok(Self { executable, directory: directory.to_owned() })
    }

    /// Preprocesses, compiles, optimises, assembles and links C files to a program.
    pub(super) fn build(&self, sources: &[PathBuf], output: &Path) -> Result<(), LoadError> {
        let mut command = program::command(&self.executable);
        command
            .arg("-O2")
            .arg("-o")
            .arg(output)
            .args(sources)
            .env("TMPDIR", &self.directory)
            .stderr(Stdio::piped());
        let finished = command.spawn().and_then(|child| child.wait_with_output());
        let finished = finished.during("run the C compiler")?;
        if finished.status.success() {
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&finished.stderr);
        let first = complaint.lines().next().unwrap_or("it does not say why");
        Err(LoadError::new(format!("the C compiler ended with {}: {first}", finished.status))
            .hint(HINT))
    }
}
