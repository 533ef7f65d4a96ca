//! Handing a message over to a mail program with the interface of sendmail.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tactus_sys::{process, program};
use tactus_wire::LastWords;

/// The usual name of the program.
pub const SENDMAIL: &str = "sendmail";
/// Where it may be, beside the folders in `PATH`.
const FOLDERS: &str = "/usr/sbin:/usr/lib";
/// How long it may take: it stores the message, and delivers it later.
const PATIENCE: Duration = Duration::from_secs(120);
const STEP: Duration = Duration::from_millis(10);
/// How long the end of its messages is awaited.
const COMPLAINT: Duration = Duration::from_millis(500);

/// Why a message was not handed over.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// There is no such program.
    #[error("there is no mail program `{}`", .0.display())]
    NotInstalled(PathBuf),
    /// It cannot be started.
    #[error("cannot start `{}`: {error}", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// It refuses the message.
    #[error("`{}` refuses the mail: {reason}", .program.display())]
    Refused {
        /// The program.
        program: PathBuf,
        /// Its last message, or how it ended.
        reason: String,
    },
    /// It does not end.
    #[error("`{}` did not take the mail within {} s", .0.display(), PATIENCE.as_secs())]
    Hangs(PathBuf),
}

/// Starts `program -t -i`, which finds the receivers in the message
/// ([sendmail(8)](https://manpages.debian.org/sendmail.8)), and hands the message over.
///
/// # Errors
/// See [`SendError`].
pub fn send(program: &Path, message: &[u8]) -> Result<(), SendError> {
    let program = &find(program).ok_or_else(|| SendError::NotInstalled(program.to_owned()))?;
    let failed = |error| SendError::Start { program: program.clone(), error };
    let mut command = Command::new(program);
    command.args(["-t", "-i"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    process::die_with_parent(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    let complaints = child.stderr.take().map(LastWords::listen).transpose().map_err(failed)?;
    let input = child.stdin.take();
    let deadline = Instant::now() + PATIENCE;
    let status = thread::scope(|scope| {
        // A program that refuses the message may not read it: the error is in its status.
        scope.spawn(move || input.map(|mut input| input.write_all(message)));
        loop {
            match child.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(STEP),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Ok(None);
                }
                ended => return ended,
            }
        }
    });
    let status = status.map_err(failed)?.ok_or_else(|| SendError::Hangs(program.clone()))?;
    if status.success() {
        return Ok(());
    }
    let complaint = complaints.map(|complaints| complaints.take(COMPLAINT)).unwrap_or_default();
    let line = complaint.lines().map(str::trim).rfind(|line| !line.is_empty());
    let reason = line.map_or_else(|| status.to_string(), str::to_owned);
    Err(SendError::Refused { program: program.clone(), reason })
}

/// The program, by its path or by its name.
fn find(program: &Path) -> Option<PathBuf> {
    program::find(program).or_else(|| program::find_along(FOLDERS.as_ref(), program))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A mail program that is a script.
    fn program(script: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sendmail");
        fs::write(&path, format!("#!/bin/sh\ncd \"${{0%/*}}\" && {script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, path)
    }

    /// Sends, again if another test was just starting a program: that has the script open.
    fn sent(program: &Path, message: &[u8]) -> Result<(), SendError> {
        loop {
            match send(program, message) {
                Err(SendError::Start { error, .. })
                    if error.kind() == io::ErrorKind::ExecutableFileBusy =>
                {
                    thread::sleep(STEP);
                }
                result => return result,
            }
        }
    }

    #[test]
    fn the_program_gets_the_whole_message_and_no_addresses_as_arguments() {
        let (folder, path) = program("echo \"$@\" >arguments && cat >message");
        let message = vec![b'x'; 1 << 20];
        sent(&path, &message).unwrap();
        assert_eq!(fs::read(folder.path().join("message")).unwrap(), message);
        assert_eq!(fs::read_to_string(folder.path().join("arguments")).unwrap(), "-t -i\n");
    }

    #[test]
    fn a_program_that_refuses_is_reported_with_its_last_line() {
        let (_folder, path) = program("echo 'no such user: bob' >&2; exit 67");
        let refused = sent(&path, &vec![b'x'; 1 << 20]).unwrap_err().to_string();
        assert!(refused.ends_with("refuses the mail: no such user: bob"), "{refused}");
        let (_folder, path) = program("exit 75");
        let refused = sent(&path, b"").unwrap_err().to_string();
        assert!(refused.ends_with("exit status: 75"), "{refused}");
        let missing = send(Path::new("no-such-mail-program"), b"").unwrap_err().to_string();
        assert_eq!(missing, "there is no mail program `no-such-mail-program`");
    }
}
