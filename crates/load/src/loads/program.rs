//! Programs that are installed on the machine.

use std::env;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Endless;
use crate::error::{During, LoadError};
use crate::site::Site;

/// Finds a program as the shell would, by `PATH`.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    env::split_paths(&path).map(|directory| directory.join(name)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// A command that runs `program` without standard input or output, and that ends with
/// the calling thread.
pub(super) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    // The standard output is our connection to the keeper.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    tactus_sys::process::die_with_parent(&mut command);
    command
}

/// How long a program that cannot run may take to find that out.
const EARLY: Duration = Duration::from_millis(100);

/// How much of what a program complains of is kept, in bytes.
const COMPLAINT: usize = 2048;

/// Starts a program, says that the copy works, and waits for the program's end.
///
/// A program that fails within 100 ms never worked. `name` is how a message calls it.
pub(super) fn run_once(mut command: Command, name: &str, site: &Site) -> Endless {
    let mut child = command.stderr(Stdio::piped()).spawn().during(&format!("start {name}"))?;
    let complaints = child.stderr.take().map(|stderr| thread::spawn(|| tail(stderr)));
    let started = Instant::now();
    let mut status = None;
    while status.is_none() && started.elapsed() < EARLY {
        thread::sleep(Duration::from_millis(2));
        status = child.try_wait().during(&format!("watch {name}"))?;
    }
    if status.is_none_or(|status| status.success()) {
        site.announce();
    }
    let status = match status {
        Some(status) => status,
        None => child.wait().during(&format!("watch {name}"))?,
    };
    // What it left running in the background may hold the pipe open, so no more is
    // read than is there already.
    thread::sleep(Duration::from_millis(2));
    let complaint = complaints
        .filter(thread::JoinHandle::is_finished)
        .and_then(|complaints| complaints.join().ok())
        .filter(|complaint| !status.success() && !complaint.is_empty());
    let complaint = complaint.map_or_else(String::new, |complaint| format!(": {complaint}"));
    Err(LoadError::new(format!("{name} ended with {status}{complaint}")))
}

/// The end of what a stream brings.
fn tail(mut stream: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; COMPLAINT];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..count]);
        kept.drain(..kept.len().saturating_sub(COMPLAINT));
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_are_found() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
    }
}
