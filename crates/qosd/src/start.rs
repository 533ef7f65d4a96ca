//! Starting the manager of a machine: its policy, its state file and its socket.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use tactus_model::recording::ThreadId;
use tactus_sys::filesystem::open_regular;
use tactus_sys::local_socket::{self, SocketFile};
use tactus_sys::{SysError, facts, process};

use crate::ledger::is_trusted;
use crate::policy::{BadPolicy, Names, POLICY_BYTES};
use crate::{BadLedger, Bandwidth, Ledger, Manager, Policy, Server, listener, machine};

/// Where the manager of a machine has its files.
#[derive(Clone, Debug)]
pub struct Places {
    /// The socket, unless systemd has opened one.
    pub socket: PathBuf,
    /// The policy file; `None` for the usual policy.
    pub policy: Option<PathBuf>,
    /// The state file.
    pub state: PathBuf,
}

/// The policy file of a machine. The usual policy applies if it does not exist.
pub const POLICY: &str = "/etc/tactus/qosd.toml";

/// The state file of the manager of a machine.
pub const STATE: &str = "/run/tactus/qosd/threads";

/// What was found at the start.
#[derive(Clone, Debug)]
pub struct Found {
    /// What may be reserved.
    pub capacity: Bandwidth,
    /// The CPUs of the machine.
    pub cpus: u32,
    /// Whether systemd opened the socket.
    pub is_activated: bool,
    /// The threads that a killed manager had left.
    pub returned: Vec<ThreadId>,
    /// The policy.
    pub policy: Policy,
}

/// Why the manager does not start.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The policy file cannot be read.
    #[error("cannot read policy {}: {error}", .path.display())]
    PolicyFile {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// Others can write the policy.
    #[error(
        "policy {path} can be written by others; fix: chown root {path} && chmod go-w {path}",
        path = .0.display()
    )]
    PolicyOfOthers(PathBuf),
    /// The policy is wrong.
    #[error("policy {}: {error}", .path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: BadPolicy,
    },
    /// The state file cannot be used.
    #[error(transparent)]
    State(#[from] BadLedger),
    /// Another manager serves the socket, or it cannot be made.
    #[error("cannot listen at {}: {error}", .path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The system fails.
    #[error(transparent)]
    System(#[from] SysError),
}

/// Starts the manager of this machine: reads its policy, repairs what a killed one has left, and
/// listens. [`Server::run`] serves.
///
/// # Errors
/// The policy or the state file is wrong or others can write it, or there is another manager.
pub fn start(places: &Places) -> Result<(Server, Found), NotStarted> {
    // Of others' limits, a process that starts no programs needs only this one raised.
    process::raise_open_files_limit()?;
    let policy = match &places.policy {
        Some(path) => read_policy(path)?,
        None => Policy::default(),
    };
    let facts = facts::read(Path::new("/"));
    let (capacity, cpus) = (machine::capacity(&facts, &policy), machine::cpus(&facts));
    let activated = listener::activated();
    let is_activated = activated.is_some();
    // The lock of the state file keeps a second manager from taking the socket.
    let (ledger, returned) = Ledger::open(&places.state)?;
    let manager = Manager::new(capacity, Some(ledger))?;
    let socket = |error| NotStarted::Socket { path: places.socket.clone(), error };
    let (listening, file): (UnixListener, Option<SocketFile>) = match activated {
        Some(listener) => (listener, None),
        None => {
            let (listener, file) = local_socket::listen(&places.socket).map_err(socket)?;
            (listener, Some(file))
        }
    };
    let mut server = Server::new(listening, manager, policy.clone(), cpus).map_err(socket)?;
    server.remove_at_end(file);
    Ok((server, Found { capacity, cpus, is_activated, returned, policy }))
}

/// Reads a policy file that nobody else can write.
fn read_policy(path: &Path) -> Result<Policy, NotStarted> {
    let failed = |error| NotStarted::PolicyFile { path: path.to_owned(), error };
    let file = open_regular(path, OpenOptions::new().read(true)).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !is_trusted(&metadata) {
        return Err(NotStarted::PolicyOfOthers(path.to_owned()));
    }
    if metadata.len() > POLICY_BYTES {
        let reason = format!("it has more than {POLICY_BYTES} bytes");
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, reason)));
    }
    let mut text = String::new();
    file.take(POLICY_BYTES).read_to_string(&mut text).map_err(failed)?;
    // Without these files, a policy has no names.
    let names = |path| std::fs::read_to_string(path).unwrap_or_default();
    Policy::parse(&text, &Names::parse(&names("/etc/passwd"), &names("/etc/group")))
        .map_err(|error| NotStarted::Policy { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_policy_that_is_no_file_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [fifo.as_path(), folder.path()] {
            let refused = read_policy(path).unwrap_err().to_string();
            assert!(refused.ends_with("it is not a regular file"), "{refused}");
        }
    }
}
