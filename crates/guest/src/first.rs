//! The first process: it mounts the kernel's filesystems, sends the facts of the machine, and
//! measures the cell of the request in the emulator.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde::de::DeserializeOwned;
use tactus_model::guest::DONE;
use tactus_model::message::{CellRequest, Message};
use tactus_sys::{SysError, facts, mount};
use tactus_wire::{Start, parse};

use crate::clock;
use crate::console::Console;

/// Why the guest could send nothing. The kernel panics when its first process ends, so only
/// the kernel's own lines follow this error on the console.
#[derive(Debug, thiserror::Error)]
pub enum FirstError {
    /// The debug console is not accessible.
    #[error("cannot access the debug console: {0}")]
    Console(#[from] SysError),
    /// A message cannot be encoded.
    #[error("{0}")]
    Message(#[from] io::Error),
}

/// The mounts, in this order. The last ones serve recordings and some loads; a kernel may lack
/// any of them.
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

/// The file and the flag, from netdevice(7), that bring the loopback interface up; the kernel
/// then gives it its address.
const LOOPBACK_FLAGS: &str = "/sys/class/net/lo/flags";
const IFF_UP: &str = "0x1";

/// Measures the requested cell, and ends the guest.
///
/// # Errors
/// The guest can send nothing.
pub fn main() -> Result<(), FirstError> {
    let console = begin()?;
    if let Err(reason) = request(console).and_then(|request| measure(console, &request)) {
        console.send(&Message::Failed { reason, hint: None })?;
    }
    end(console)
}

/// Prepares the system, and sends the facts of the machine.
///
/// # Errors
/// The guest can send nothing.
pub fn begin() -> Result<Console, FirstError> {
    for (filesystem, directory) in MOUNTS {
        prepare(filesystem, Path::new(directory));
    }
    if let Err(error) = fs::write(LOOPBACK_FLAGS, IFF_UP) {
        eprintln!("tactus-guest: cannot bring up the loopback interface: {error}");
    }
    let console = Console::open()?;
    clock::settle();
    console.pause();
    console.send(&facts::read(Path::new("/")))?;
    Ok(console)
}

/// Ends the guest with the status for success.
pub fn end(console: Console) -> ! {
    console.end(DONE);
    // Without an exit device, the host ends the emulator.
    loop {
        thread::park();
    }
}

fn prepare(filesystem: &str, directory: &Path) {
    // Sysfs creates its own directories, and refuses others.
    let _ = fs::create_dir(directory);
    if let Err(error) = mount::mount(filesystem, directory) {
        eprintln!("tactus-guest: cannot mount {filesystem} at {}: {error}", directory.display());
    }
}

/// The request in the emulator.
///
/// # Errors
/// There is no valid request; the reason, in a sentence.
pub fn request<T: DeserializeOwned>(console: Console) -> Result<T, String> {
    let item = console.request();
    let item = item.ok_or_else(|| "the emulator has no request for the guest".to_owned())?;
    parse(&item).map_err(|error| format!("cannot read the request for the guest: {error}"))
}

/// Starts a measuring process for `request`, and forwards its output, line by line.
///
/// # Errors
/// The process cannot be started, or it failed; the reason, in a sentence.
pub fn measure(console: Console, request: &CellRequest) -> Result<(), String> {
    let unstartable =
        |error: io::Error| format!("cannot start the measuring process in the guest: {error}");
    let mut command = Command::new(std::env::current_exe().map_err(unstartable)?);
    command.args(["internal", "cell"]).env("PATH", "/bin");
    let (mut cell, mut messages) = Start::new(command).start().map_err(unstartable)?;
    cell.send(request).map_err(|error| unstartable(error.into()))?;
    loop {
        match messages.read_line() {
            Ok(line) => console.send_line(&line),
            Err(error) if error.is_end() => break,
            Err(error) => {
                return Err(format!("invalid output of the measuring process: {error}"));
            }
        }
    }
    // Its input stayed open until now: a load ends when its requester closes the input.
    match cell.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the measuring process failed: {status}")),
        Err(error) => Err(format!("cannot wait for the measuring process: {error}")),
    }
}
