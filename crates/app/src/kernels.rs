//! Fetching and building kernels while nothing else is wanted.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::OrError;
use crate::{ErrorKind, Places, Result};

/// A process that goes on after the one that started it.
#[derive(Debug)]
pub struct Background {
    /// Its number.
    pub process: u32,
    /// Where it writes what it has to say.
    pub log: PathBuf,
}

/// Starts `tactus` with `arguments` as a session of its own, which goes on when the terminal
/// is closed, after everything else of this system.
///
/// # Errors
/// It cannot be started, or there is no folder of kernels for its log.
pub fn in_background(
    places: &Places,
    arguments: impl IntoIterator<Item = String>,
) -> Result<Background> {
    let (folder, executable) = (places.kernel_folder()?, places.executable()?);
    let log = folder.join("background.log");
    let start = || -> io::Result<u32> {
        fs::create_dir_all(folder)?;
        let file = File::options().create(true).append(true).open(&log)?;
        let child = Command::new("setsid")
            .args(["nice", "-n", "19"])
            .arg(executable)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        Ok(child.id())
    };
    let process = start().or_error(ErrorKind::Unavailable, || {
        format!("no build can be started with {} for its log", log.display())
    })?;
    Ok(Background { process, log })
}

/// Lets everything else on this system go first. Where the kernel divides CPU time among
/// sessions before it does among processes, `nice` alone says nothing to other sessions
/// (sched(7), the autogroup feature).
pub fn yield_to_all() {
    // Where sessions are no groups there is no such file, and `nice` is enough.
    let _ = fs::write("/proc/self/autogroup", "19");
}
