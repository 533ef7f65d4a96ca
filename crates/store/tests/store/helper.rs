//! Helper processes: this test program, started to run one of its functions.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// The environment variable with the store that a helper opens.
const STORE: &str = "TACTUS_TEST_STORE";

/// The unprivileged user `nobody`.
const NOBODY: u32 = 65534;

/// A command that runs the ignored test `function` of this program on the store `path`.
pub fn command(function: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", function, "--ignored", "--nocapture"])
        .env(STORE, path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Like [`command`], as an unprivileged user, since root ignores file permissions.
pub fn command_without_rights(function: &str, path: &Path) -> Command {
    let mut command = command(function, path);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// The store that a helper must open; `None` if all ignored tests are run by hand.
pub fn assigned_store() -> Option<PathBuf> {
    std::env::var_os(STORE).map(PathBuf::from)
}

/// A different seed each time, or the value of `TACTUS_TEST_SEED`.
pub fn printed_seed() -> u64 {
    let asked = std::env::var("TACTUS_TEST_SEED").ok();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = asked.map_or(now, |seed| seed.parse().unwrap());
    println!("to repeat this: TACTUS_TEST_SEED={seed}");
    seed
}
