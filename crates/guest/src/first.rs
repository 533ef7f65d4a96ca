//! The first process: it mounts the kernel's filesystems, tells what machine this is,
//! and measures the cell that the request in the emulator names.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;

use tactus_model::guest::{DONE, REQUEST_ITEM};
use tactus_model::message::{CellRequest, Message};
use tactus_sys::{SysError, facts, mount};
use tactus_wire::{Start, parse};

use crate::clock;
use crate::console::Console;

/// Why nothing could be measured or told; the kernel panics when its first process ends,
/// so this is the last line but those of its console.
#[derive(Debug, thiserror::Error)]
pub enum FirstError {
    /// The guest cannot speak.
    #[error("the debug console cannot be reached: {0}")]
    Console(#[from] SysError),
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

/// What brings the loopback interface up, as netdevice(7) numbers it, and where it is
/// written; its address it has from the kernel then.
const LOOPBACK_FLAGS: &str = "/sys/class/net/lo/flags";
const IFF_UP: &str = "0x1";

/// Does all that the guest is booted for, and ends it.
///
/// # Errors
/// Nobody can be told anything.
pub fn main() -> Result<(), FirstError> {
    let console = begin()?;
    if let Err(reason) = request(console).and_then(|request| measure(console, &request)) {
        console.say(&Message::Failed { reason, hint: None })?;
    }
    end(console)
}

/// Prepares the system, and tells what machine this is.
///
/// # Errors
/// The guest cannot speak.
pub fn begin() -> Result<Console, FirstError> {
    for (filesystem, directory) in MOUNTS {
        prepare(filesystem, Path::new(directory));
    }
    if let Err(error) = fs::write(LOOPBACK_FLAGS, IFF_UP) {
        eprintln!("tactus-guest: the loopback interface is not up: {error}");
    }
    let console = Console::open()?;
    clock::settle();
    console.pause();
    console.say(&facts::read(Path::new("/")))?;
    Ok(console)
}

/// Ends the guest as one that did what it was asked.
pub fn end(console: Console) -> ! {
    console.end(DONE);
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

/// The request that the emulator has for the guest.
///
/// # Errors
/// There is none, in a sentence.
pub fn request(console: Console) -> Result<CellRequest, String> {
    let item = console.item(REQUEST_ITEM);
    let item = item.ok_or_else(|| "the emulator has no request for the guest".to_owned())?;
    parse(&item).map_err(|error| format!("the request for the guest cannot be read: {error}"))
}

/// Has `request` carried out by a measuring process, and passes on what that says, line by line.
///
/// # Errors
/// The process could not be started or did not end well, in a sentence.
pub fn measure(console: Console, request: &CellRequest) -> Result<(), String> {
    let unstartable =
        |error: io::Error| format!("the measuring process cannot be started in the guest: {error}");
    let mut command = Command::new(std::env::current_exe().map_err(unstartable)?);
    command.args(["internal", "cell"]).env("PATH", "/bin");
    let (mut cell, mut answers) = Start::new(command).start().map_err(unstartable)?;
    cell.send(request).map_err(|error| unstartable(error.into()))?;
    loop {
        match answers.read_line() {
            Ok(line) => console.pass_on(&line),
            Err(error) if error.is_end() => break,
            Err(error) => {
                return Err(format!("the measuring process cannot be understood: {error}"));
            }
        }
    }
    // Its input was open until now, since a load ends with whoever requested it.
    match cell.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the measuring process ended: {status}")),
        Err(error) => Err(format!("the end of the measuring process cannot be learnt: {error}")),
    }
}
