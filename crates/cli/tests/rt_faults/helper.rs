//! This program, started again as one of the processes of a scene.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable with the socket, by which a helper knows that it is one.
const SOCKET: &str = "TACTUS_RT_FAULTS_SOCKET";

/// The command that runs the ignored test `name`, and ends with the thread that starts it. In a
/// guest, which runs no tests, the name is that of the part.
pub fn command(name: &str, socket: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture"]).env(SOCKET, socket);
    // With it, the message of a panic takes tenths of a second.
    command.env_remove("RUST_BACKTRACE");
    tactus_sys::process::die_with_parent(&mut command);
    command
}

/// The socket of the broker; `None` if this process is no helper.
pub fn socket() -> Option<PathBuf> {
    std::env::var_os(SOCKET).map(PathBuf::from)
}
