//! The first process: it mounts the kernel's filesystems, tells what machine this is,
//! and has the cell measured that its archive orders.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use tactus_model::guest::{DONE, ORDER_PATH};
use tactus_model::message::Message;
use tactus_sys::{SysError, facts, mount};

use crate::clock;
use crate::wire::Wire;

/// Why nothing could be measured or told; the kernel panics when its first process ends,
/// so this is the last line but those of its console.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FirstError {
    /// The guest cannot speak.
    #[error("the debug console cannot be reached: {0}")]
    Wire(#[from] SysError),
    /// The facts cannot be written down.
    #[error("{0}")]
    Message(#[from] io::Error),
}

/// What is mounted, in this order. The last ones are for recordings and for loads that
/// want them, and a kernel may lack any of them.
const MOUNTS: [(&str, &str); 8] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/tmp"),
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
    ("cgroup2", "/sys/fs/cgroup"),
];

/// Does all that the guest is booted for, and ends it.
pub(crate) fn main() -> Result<(), FirstError> {
    for (filesystem, directory) in MOUNTS {
        prepare(filesystem, Path::new(directory));
    }
    let wire = Wire::open()?;
    clock::settle();
    wire.say(&facts::read(Path::new("/")))?;
    if let Err(reason) = measure(wire) {
        wire.say(&Message::Failed { reason, hint: None })?;
    }
    wire.end(DONE);
    // Without an exit device the emulator is ended from outside.
    loop {
        thread::park();
    }
}

fn prepare(filesystem: &str, directory: &Path) {
    // Sysfs makes its own directories, and refuses others.
    let _ = fs::create_dir(directory);
    if let Err(error) = mount::mount(filesystem, directory) {
        eprintln!("tactus-guest: {filesystem} is not at {}: {error}", directory.display());
    }
}

/// Starts the measuring process and passes on what it says, line by line.
fn measure(wire: Wire) -> Result<(), String> {
    let order = fs::read(Path::new("/").join(ORDER_PATH))
        .map_err(|error| format!("the order in the guest's archive cannot be read: {error}"))?;
    let unstartable =
        |error: io::Error| format!("the measuring process cannot be started in the guest: {error}");
    let mut child = Command::new("/proc/self/exe")
        .arg0("tactus")
        .args(["internal", "cell"])
        .env("PATH", "/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(unstartable)?;
    let mut stdin = child.stdin.take().ok_or("the measuring process has no input")?;
    let stdout = child.stdout.take().ok_or("the measuring process has no output")?;
    stdin.write_all(&order).map_err(unstartable)?;
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        wire.pass_on(&line);
    }
    // Held open until now, since a load ends with whoever ordered it.
    drop(stdin);
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the measuring process ended: {status}")),
        Err(error) => Err(format!("the end of the measuring process cannot be learnt: {error}")),
    }
}
