//! A server of PostgreSQL for tests.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::patience::PATIENCE;

/// The unprivileged user `nobody`: the server refuses to run as root.
const NOBODY: u32 = 65534;

/// A server with a socket in a temporary directory, which accepts every user of this machine that
/// may open that directory. It ends when this is dropped, and with the thread that started it.
#[derive(Debug)]
pub struct PostgresqlServer {
    programs: PathBuf,
    settings: Vec<String>,
    process: Option<Child>,
    // The last field, so that the server has ended when its files are removed.
    directory: TempDir,
}

impl PostgresqlServer {
    /// Starts a server. It does not sync its files, which is faster, and which a killed server
    /// survives.
    ///
    /// # Errors
    /// PostgreSQL or setpriv is not installed.
    pub fn start() -> Result<Self, String> {
        Self::start_with(&["fsync=off"])
    }

    /// Starts a server with these settings, such as `fsync=on`.
    ///
    /// # Errors
    /// PostgreSQL or setpriv is not installed.
    ///
    /// # Panics
    /// It is installed, but does not start.
    pub fn start_with(settings: &[&str]) -> Result<Self, String> {
        let programs = programs().ok_or("PostgreSQL is not installed")?;
        let setpriv = Command::new("setpriv").arg("--version").output();
        setpriv.map_err(|error| format!("setpriv: {error}"))?;
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        if is_root() {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).expect("a directory of our own");
        }
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut server = Self { programs, settings, process: None, directory };
        let initdb = server.unprivileged("initdb");
        succeed(
            quiet(initdb)
                .args(["--no-sync", "--no-locale", "-E", "UTF8", "-A", "trust"])
                .args(["-U", "tactus", "-D"])
                .arg(server.data()),
        );
        server.go();
        Ok(server)
    }

    /// The directory of its socket.
    pub fn socket_directory(&self) -> &Path {
        self.directory.path()
    }

    /// The URL of a database for the owner of the server.
    pub fn url(&self, database: &str) -> String {
        format!("postgresql://tactus@/{database}?host={}", self.socket_directory().display())
    }

    /// Creates a database and returns its URL.
    ///
    /// # Panics
    /// The server refuses.
    pub fn create(&self, database: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {database}"));
        self.url(database)
    }

    /// Executes statements and returns what they print, without heads and spaces.
    ///
    /// # Panics
    /// The server refuses.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "tactus",
            "-d",
            database,
        ])
        .arg("-h")
        .arg(self.socket_directory())
        .args(["-c", statements]);
        let output = succeed(&mut psql);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Ends the server as a crash does, without finishing anything.
    ///
    /// # Panics
    /// It does not end.
    pub fn crash(&mut self) {
        self.end("immediate");
    }

    /// Starts the server again.
    ///
    /// # Panics
    /// It does not start.
    pub fn go(&mut self) {
        let mut postgres = self.unprivileged("postgres");
        postgres.arg("-D").arg(self.data()).arg("-k").arg(self.socket_directory()).args([
            "-c",
            "listen_addresses=",
            "-c",
            "shared_buffers=16MB",
        ]);
        for setting in &self.settings {
            postgres.args(["-c", setting]);
        }
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log());
        let log = log.expect("a log in a directory of our own");
        self.process = Some(postgres.stdout(Stdio::null()).stderr(log).spawn().expect("a server"));
        let began = Instant::now();
        while !self.is_ready() {
            let ended = self.process.as_mut().and_then(|server| server.try_wait().ok().flatten());
            let patient = ended.is_none() && began.elapsed() < PATIENCE;
            assert!(patient, "{ended:?}: {:?}", fs::read_to_string(self.log()));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn is_ready(&self) -> bool {
        let mut ready = Command::new(self.programs.join("pg_isready"));
        ready.args(["-q", "-d", "postgres", "-h"]).arg(self.socket_directory());
        ready.status().is_ok_and(|status| status.success())
    }

    fn end(&mut self, how: &str) {
        let Some(mut process) = self.process.take() else { return };
        let mut stop = self.unprivileged("pg_ctl");
        stop.args(["stop", "-s", "-m", how, "-D"]).arg(self.data());
        if !stop.status().is_ok_and(|status| status.success()) {
            let _ = process.kill();
        }
        let _ = process.wait();
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// A command that runs a program of PostgreSQL as an ordinary user, and ends with this thread.
    fn unprivileged(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT"]);
        if is_root() {
            let nobody = NOBODY.to_string();
            command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]);
        }
        command.arg(self.programs.join(program)).current_dir("/").stdin(Stdio::null());
        command
    }
}

impl Drop for PostgresqlServer {
    fn drop(&mut self) {
        self.end("immediate");
    }
}

fn quiet(mut command: Command) -> Command {
    command.stdout(Stdio::null());
    command
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {printed}");
    output
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The programs of the newest version that Debian's package has installed, or those in `PATH`.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql");
    let installed = versions.into_iter().flatten().filter_map(io::Result::ok);
    let folders = installed.map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found: Vec<PathBuf> = std::env::split_paths(&path).chain(folders).collect();
    found.retain(|folder| folder.join("initdb").exists());
    found.pop()
}
