//! Running the programs of Slurm, which may wait for a server that is gone.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::ClusterError;

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(120);

/// How often a stop is noticed.
const STEP: Duration = Duration::from_millis(50);

/// The most characters of an error text that are shown.
const SAID: usize = 500;

/// Finds a program along `search_path`, a list of directories in the form of `PATH`.
pub(crate) fn find(search_path: &OsStr, name: &'static str) -> Result<PathBuf, ClusterError> {
    tactus_sys::program::find_along(search_path, name).ok_or(ClusterError::NoProgram(name))
}

/// Runs a program to its end and returns what it prints. It is killed after a time limit, and when
/// `stop` is set.
pub(crate) fn run(
    name: &'static str,
    file: &Path,
    arguments: &[OsString],
    stop: Option<&AtomicBool>,
) -> Result<String, ClusterError> {
    let refused = |said: String| ClusterError::Refused { program: name, said };
    let mut command = Command::new(file);
    tactus_sys::process::die_with_parent(&mut command);
    // A person's defaults for these programs would hide tasks.
    let variables =
        ["SQUEUE_STATES", "SQUEUE_USERS", "SQUEUE_PARTITION", "SQUEUE_ACCOUNT", "SINFO_PARTITION"];
    for variable in variables {
        command.env_remove(variable);
    }
    let child = command
        // An interrupt from the terminal is for us: a job that is being submitted gets its number.
        .process_group(0)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| refused(error.to_string()))?;
    let process = child.id();
    let (sender, ended) = channel();
    let reader = thread::spawn(move || {
        // The receiver waits until this is sent.
        let _ = sender.send(child.wait_with_output());
    });
    let deadline = Instant::now() + LIMIT;
    let mut is_killed = false;
    let output = loop {
        match ended.recv_timeout(STEP) {
            Ok(output) => break output.map_err(|error| refused(error.to_string()))?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(refused("it cannot be read".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {
                let is_stopped = stop.is_some_and(|stop| stop.load(Ordering::SeqCst));
                if !is_killed && (is_stopped || Instant::now() >= deadline) {
                    is_killed = true;
                    // It has not been waited for, so its ID is still its own; it may just have ended.
                    let _ = tactus_sys::process::kill(process);
                }
            }
        }
    };
    // It has sent its last value.
    let _ = reader.join();
    if is_killed && !output.status.success() {
        return Err(refused(format!("no answer within {} s", LIMIT.as_secs())));
    }
    text(&output).map_err(refused)
}

/// What a program printed, or why it failed.
fn text(output: &Output) -> Result<String, String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said: String = said.join("; ").chars().take(SAID).collect();
    Err(if said.is_empty() { output.status.to_string() } else { said })
}
