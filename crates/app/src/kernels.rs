//! Fetching and building kernels in the background, and checking those that are files.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tactus_kernels::{Kernel, Kernels};
use tactus_model::cell::Cell;
use tactus_model::kernel::KernelSource;

use crate::error::OrError;
use crate::{ErrorKind, Places, Result};

/// A process that outlives the one that started it.
#[derive(Debug)]
pub struct Background {
    /// Its process ID.
    pub process: u32,
    /// The file that its output is appended to.
    pub log: PathBuf,
}

/// Starts `tactus` with `arguments` in a session of its own, so it continues when the terminal
/// is closed, at the lowest priority (nice 19).
///
/// # Errors
/// It cannot be started, or there is no kernel directory for its log.
pub fn in_background(
    places: &Places,
    arguments: impl IntoIterator<Item = String>,
) -> Result<Background> {
    let (directory, executable) = (places.kernel_directory()?, places.executable()?);
    let log = directory.join("background.log");
    let start = || -> io::Result<u32> {
        fs::create_dir_all(directory)?;
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
        format!("cannot start a background build that logs to {}", log.display())
    })?;
    Ok(Background { process, log })
}

/// Checks that the kernels of `cells` that are files are kernels. Nothing is fetched or built.
///
/// # Errors
/// One of them cannot be read, or is not a kernel.
pub fn check_files(places: &Places, cells: &[Cell]) -> Result<()> {
    let mut checked: Vec<&KernelSource> = Vec::new();
    for source in cells.iter().filter_map(|cell| Some(&cell.target.guest()?.kernel.source)) {
        if !checked.contains(&source) {
            file(places, source)?;
            checked.push(source);
        }
    }
    Ok(())
}

/// The kernel of a source that is a file; `None` for other sources.
pub(crate) fn file(places: &Places, source: &KernelSource) -> Result<Option<Kernel>> {
    match source {
        KernelSource::File(_) => Ok(Some(unbuilt(places).find(source)?)),
        KernelSource::Installed { .. } | KernelSource::Debian { .. } | KernelSource::Built(_) => {
            Ok(None)
        }
    }
}

/// The known kernels, none of which is built.
pub(crate) fn unbuilt(places: &Places) -> Kernels {
    Kernels::new("/boot", places.kernels.clone().unwrap_or_default())
}

/// Gives the session of this process the lowest priority. With autogroups, the kernel divides
/// CPU time among sessions first, and `nice` acts within a session only (sched(7)).
pub fn yield_to_all() {
    // Without autogroups this file does not exist, and `nice` is enough.
    let _ = fs::write("/proc/self/autogroup", "19");
}
