//! Copies a 200-line file to a pseudo-terminal, over and over, while another thread
//! reads what comes out: the I/O load of 1992, whose files went to serial lines.
//!
//! The bytes go through the terminal's line discipline, as they do on a serial line. A
//! pseudo-terminal has no speed limit and no interrupts; it is bounded by its buffer.

use std::fs::File;
use std::io::{Read, Write};

use tactus_sys::pty::Pty;

use super::Endless;
use crate::error::During;
use crate::site::Site;

/// Lines of the file, as in the paper of 1992.
const LINES: usize = 200;

/// Counts an operation each time the file was written, and the bytes that came out of
/// the line, which has made two characters of each line's end.
pub(super) fn run(site: &'static Site) -> Endless {
    let mut pty = Pty::open().during("open a pseudo-terminal").map_err(|error| {
        error.hint("mount devpts on /dev/pts, or raise /proc/sys/kernel/pty/max")
    })?;
    let line = pty.line;
    site.spawn("line", move || read_line(line, site))?;
    let file = text();
    loop {
        pty.terminal.write_all(file.as_bytes()).during("write to the pseudo-terminal")?;
        site.did(1, 0);
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
