//! Runs `tactus` with a store of its own, and checks that no process is left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tactus_testing::{Need, skip};
use tempfile::TempDir;

/// The command with a store in a temporary directory.
pub struct Tactus {
    folder: TempDir,
}

impl Tactus {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn store(&self) -> PathBuf {
        self.folder().join("runs.sqlite")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tactus"));
        command.args(arguments).env("TACTUS_STORE", self.store()).env("NO_COLOR", "1");
        command
    }

    /// Runs to the end and returns the output.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs, requires success, and returns standard output.
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?} failed\n{out}\n{err}");
        out
    }

    /// Runs, requires this exit code, and returns standard error.
    pub fn fail(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{err}");
        err
    }

    /// Builds a C program, named by its path in the workspace; `None` without a compiler.
    pub fn compile(&self, source: &str) -> Option<String> {
        let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(source);
        let program = self.folder().join(source.file_stem().unwrap());
        let built = Command::new("cc")
            .args(["-g", "-O1", "-pthread", "-o"])
            .args([program.as_os_str(), source.as_ref()])
            .status();
        if built.is_ok_and(|status| status.success()) {
            return Some(program.display().to_string());
        }
        skip(Need::Tools, "there is no C compiler");
        None
    }

    /// The running processes with our store in their environment.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let mark = format!("TACTUS_STORE={}", self.store().display());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
            .filter(|pid| {
                // A process may end meanwhile.
                let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
            })
            .map(|pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                (pid, text(&line).replace('\0', " "))
            })
            .collect()
    }

    /// Waits until no process of ours runs any more, and fails if one remains.
    pub fn require_nothing_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.processes().is_empty() {
            assert!(Instant::now() < deadline, "left behind: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
