//! Copies a 200-line file to a serial line, over and over: the I/O load of 1992.
//!
//! On a host, the line is a pseudo-terminal whose output another thread reads. The bytes go
//! through the terminal's line discipline, as on a serial line. But a pseudo-terminal has no
//! speed limit and no interrupts, and only its buffer bounds it.
//!
//! In a guest, the lines are emulated 16550s that are connected to nothing: every byte goes
//! through the driver, its interrupts and its ports. Only the driver limits the speed, because
//! an emulated port sends at once. If there are more copies than ports, copies share them.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use tactus_model::result::Shortfall;
use tactus_sys::serial_port;

use super::{Endless, pseudo_terminal};
use crate::error::During;
use crate::site::Site;
use crate::surroundings::Surroundings;

/// Lines of the file, as in the paper of 1992.
const LINES: usize = 200;

/// Counts one operation each time the file was written, and the bytes that came out of the
/// pseudo-terminal, which expands each newline to two characters. For a serial port, counts
/// the bytes that were written to it.
pub(super) fn run(site: &'static Site) -> Endless {
    if site.surroundings() == Surroundings::Guest {
        let ports = serial_port::free(Path::new("/"));
        match ports.get(site.copy() as usize % ports.len().max(1)) {
            Some(port) => return copy_to(port, site),
            None => site.shortfall(no_port()),
        }
    }
    let mut pty = pseudo_terminal::open()?;
    let line = pty.line;
    site.spawn("line", move || read_line(line, site))?;
    let file = text();
    loop {
        pty.terminal.write_all(file.as_bytes()).during("write to the pseudo-terminal")?;
        site.did(1, 0);
    }
}

fn copy_to(port: &Path, site: &Site) -> Endless {
    let mut line = serial_port::open(port).during(&format!("open {}", port.display()))?;
    let file = text();
    loop {
        line.write_all(file.as_bytes()).during("write to the serial port")?;
        site.did(1, file.len() as u64);
    }
}

fn no_port() -> Shortfall {
    Shortfall {
        asked: "load serial on a serial port".to_owned(),
        granted: "load serial on a pseudo-terminal".to_owned(),
        reason: "the guest's kernel has no serial port besides its console".to_owned(),
        fix: Some("boot a kernel with CONFIG_SERIAL_8250".to_owned()),
    }
}

fn read_line(mut line: File, site: &Site) -> Endless {
    let mut buffer = [0; 4096];
    loop {
        let read = line.read(&mut buffer).during("read from the pseudo-terminal")?;
        site.did(0, read as u64);
    }
}

/// Lines of program text of ordinary length.
fn text() -> String {
    (0..LINES)
        .map(|line| format!("    total += table[{line}] * weight; /* line {line} */\n"))
        .collect()
}
