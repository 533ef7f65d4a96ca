//! A server in a thread.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_qos::{Connection, Constraint, Grant, Need, NotAnswered};
use tactus_qosd::policy::Names;
use tactus_qosd::{Bandwidth, Manager, ManagerHandle, Policy, Server};
use tactus_sys::local_socket;
use tactus_testing::{Need as TestNeed, skip};
use tempfile::TempDir;

/// A server that ends with this value.
pub struct Running {
    folder: TempDir,
    handle: ManagerHandle,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// A server with the usual policy.
    pub fn start() -> Self {
        Self::with("")
    }

    /// A server with this policy, and a quarter of a CPU: other tests reserve too.
    pub fn with(policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let policy = Policy::parse(policy, &Names::default()).unwrap();
        let manager = Manager::new(Bandwidth::percent_of_cpus(25, 1), None).unwrap();
        let (listener, file) = local_socket::listen(&folder.path().join("socket")).unwrap();
        let mut server = Server::new(listener, manager, policy, 1).unwrap();
        server.remove_at_end(Some(file));
        let handle = server.handle();
        let thread = std::thread::spawn(move || server.run(None, drop).unwrap());
        Self { folder, handle, thread: Some(thread) }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// The folder of the socket, which other users may enter.
    pub fn open_to_all(&self) -> &Path {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.folder.path(), open).unwrap();
        self.folder.path()
    }

    pub fn connect(&self) -> Connection {
        Connection::open(&self.socket()).unwrap()
    }

    pub fn stream(&self) -> UnixStream {
        UnixStream::connect(self.socket()).unwrap()
    }

    pub fn handle(&self) -> &ManagerHandle {
        &self.handle
    }

    /// The number of reserves.
    pub fn reserves(&self) -> usize {
        self.connect().status().unwrap().reserves.len()
    }

    /// Waits until there are `count` reserves.
    pub fn until_reserves(&self, count: usize) {
        while self.reserves() != count {
            std::thread::yield_now();
        }
    }

    /// Whether a new client is served.
    pub fn is_serving(&self) -> bool {
        self.connect().status().is_ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.end();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// A thread that sleeps.
pub struct Sleeper(tactus_testing::Sleeper<ThreadId>);

impl Sleeper {
    pub fn start() -> Self {
        Self(tactus_testing::Sleeper::start(tactus_sys::thread::current_id))
    }

    pub fn id(&self) -> ThreadId {
        self.0.id
    }

    pub fn policy(&self) -> String {
        ThreadRef::Id(self.id()).scheduling().unwrap().to_string()
    }
}

pub const MS: Nanos = Nanos::from_millis(1);

/// A need of 1 to `most` hundredths of a CPU.
pub fn need(most: u64) -> Need {
    let need = Need::new(MS.saturating_mul(10), Nanos::from_micros(100));
    Need { cost_max: Some(Nanos::from_micros(100 * most)), ..need }
}

/// The grant; `None` if the machine does not permit the deadline class, or if others have taken
/// its bandwidth.
#[track_caller]
pub fn granted(answer: Result<Grant, NotAnswered>) -> Option<Grant> {
    match answer {
        Ok(grant) => Some(grant),
        Err(NotAnswered::Refused(refusal)) if refusal.bound_by == Constraint::Kernel => {
            skip(TestNeed::Root, refusal);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Reserves for a thread.
#[track_caller]
pub fn reserve(connection: &mut Connection, sleeper: &Sleeper, need: Need) -> Option<Grant> {
    use std::os::fd::AsFd;
    let thread = tactus_sys::pidfd::PidFd::of_thread(sleeper.id()).unwrap();
    granted(connection.reserve(thread.as_fd(), need))
}
