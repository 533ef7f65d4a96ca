//! Installed programs.

use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tactus_model::result::Shortfall;
use tactus_permission::{Asked, Diagnosis};
use tactus_prepare::diagnose_here;
use tactus_sys::leash::{self, Leash};
pub(super) use tactus_sys::program::find;
use tactus_sys::{Errno, SysError};
use tactus_wire::LastWords;

use super::Endless;
use crate::containment::Containment;
use crate::error::{During, LoadError};
use crate::site::Site;

/// A command that runs `program` without standard input and output, and that ends with the
/// calling thread.
pub(super) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    // The standard output is our connection to the supervisor.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    tactus_sys::process::die_with_parent(&mut command);
    command
}

/// How long a program may take to find out that it cannot run.
const EARLY: Duration = Duration::from_millis(100);

/// How long to wait for the end of a program's standard error, because a process that the
/// program left in the background may hold the pipe open forever.
const COMPLAINT_PATIENCE: Duration = Duration::from_millis(500);

/// Starts a program, reports that the copy works, and waits for the program's end.
///
/// A program that fails within 100 ms never worked. Messages call it `name`.
pub(super) fn run_once(command: Command, name: &str, site: &'static Site) -> Endless {
    let mut program = Program::start(command, site).during(&format!("start {name}"))?;
    let complaints = program.child.stderr.take().map(LastWords::listen).transpose();
    let complaints = complaints.during(&format!("read the messages of {name}"))?;
    let ended = Arc::new(AtomicBool::new(false));
    let has_ended = Arc::clone(&ended);
    thread::spawn(move || {
        thread::sleep(EARLY);
        if !has_ended.load(Ordering::Relaxed) {
            site.announce();
        }
    });
    let status = program.wait().during(&format!("wait for {name}"))?;
    ended.store(true, Ordering::Relaxed);
    if status.success() {
        site.announce();
    }
    let mut reason = format!("{name} ended with {status}");
    let complaint = complaints.filter(|_| !status.success());
    let complaint = complaint.map(|complaint| complaint.take(COMPLAINT_PATIENCE));
    if let Some(complaint) = complaint.filter(|complaint| !complaint.is_empty()) {
        reason += &format!(": {complaint}");
    }
    let error = LoadError::new(reason);
    site.send_failure(match status.success() {
        true => error,
        false => error.hint(format!("run {name} in a shell, correct it, and measure again")),
    });
    program.wait_for_descendants();
    site.leave()
}

/// A running program, traced if nothing else contains its descendants.
struct Program {
    child: Child,
    leash: Option<Leash>,
}

impl Program {
    fn start(mut command: Command, site: &Site) -> io::Result<Self> {
        command.stderr(Stdio::piped());
        if site.containment() != Containment::Watched {
            return Ok(Self { child: command.spawn()?, leash: None });
        }
        let mut leashed = duplicate(&command);
        leash::wait_for_leash(&mut leashed);
        match leashed.spawn() {
            Ok(child) => {
                Ok(Self { leash: Some(Leash::take(&child).map_err(without_call)?), child })
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                site.shortfall(no_leash(&error));
                Ok(Self { child: command.spawn()?, leash: None })
            }
            Err(error) => Err(error),
        }
    }

    fn wait(&mut self) -> io::Result<ExitStatus> {
        match &mut self.leash {
            Some(leash) => leash.wait().map_err(without_call),
            None => self.child.wait(),
        }
    }

    /// Waits for the traced processes that the program left in the background.
    fn wait_for_descendants(&mut self) {
        if let Some(leash) = &mut self.leash {
            leash.wait_for_descendants();
        }
    }
}

fn without_call(error: SysError) -> io::Error {
    error.errno.into()
}

/// A second command with the same program and arguments.
fn duplicate(command: &Command) -> Command {
    let mut same = self::command(Path::new(command.get_program()));
    same.args(command.get_args()).stderr(Stdio::piped());
    same
}

fn no_leash(refused: &io::Error) -> Shortfall {
    let errno = Errno::from_io_error(refused).unwrap_or(Errno::PERM);
    let Diagnosis { reason, fix } = diagnose_here(&Asked::Tracing, errno);
    Shortfall {
        asked: "load's programs traced, so that none of their processes is left behind".to_owned(),
        granted: "load's programs watched by its host; what they start in the background outlives \
                  the load if all processes of tactus are killed at once"
            .to_owned(),
        reason,
        fix,
    }
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
