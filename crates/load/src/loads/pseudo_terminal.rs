//! Pseudo-terminals, and a shell at the end of one.

use std::fs::File;
use std::io::{Read, Write};
use std::thread;

use tactus_sys::Errno;
use tactus_sys::pty::Pty;

use super::Endless;
use crate::error::{During, LoadError};
use crate::site::Site;

/// The key that ends a line.
pub(super) const RETURN: u8 = b'\r';

/// The most bytes that come back for one key.
const ANSWER_MAX: usize = 64;

const PROMPT: &[u8] = b"$ ";

/// Makes a pseudo-terminal.
pub(super) fn open() -> Result<Pty, LoadError> {
    Pty::open()
        .during("open a pseudo-terminal")
        .map_err(|error| error.hint("mount devpts on /dev/pts, or raise /proc/sys/kernel/pty/max"))
}

/// The person's end of a terminal with a shell.
///
/// The line discipline of the kernel echoes each key, and passes a line to the shell when the
/// return key ends it. The shell, a thread, prompts for the next line; it runs nothing.
#[derive(Debug)]
pub(super) struct Console {
    line: File,
    answer: Vec<u8>,
}

impl Console {
    /// A console with a shell that waits for a line.
    pub(super) fn start(site: &'static Site) -> Result<Self, LoadError> {
        let Pty { line, terminal } = open()?;
        site.spawn("shell", move || prompt(terminal))?;
        Ok(Self { line, answer: Vec::with_capacity(ANSWER_MAX) })
    }

    /// Presses a key, and returns what the console then shows: the echo of a letter, or a new line
    /// and the shell's prompt.
    pub(super) fn press(&mut self, key: u8) -> Result<&[u8], LoadError> {
        self.line.write_all(&[key]).during("type at the console")?;
        let letter = [key];
        let end: &[u8] = if key == RETURN { PROMPT } else { &letter };
        self.answer.clear();
        while !self.answer.ends_with(end) {
            let mut bytes = [0; ANSWER_MAX];
            let read = self.line.read(&mut bytes).during("read from the console")?;
            if self.answer.len() + read > ANSWER_MAX {
                return Err(LoadError::new("the console answers a key with too many bytes"));
            }
            self.answer.extend_from_slice(&bytes[..read]);
        }
        Ok(&self.answer)
    }
}

fn prompt(mut terminal: File) -> Endless {
    let mut line = [0; 4096];
    loop {
        let read = terminal.read(&mut line);
        let prompted = read.and_then(|read| match read {
            0 => Err(Errno::IO.into()),
            _ => terminal.write_all(PROMPT),
        });
        match prompted {
            Ok(()) => {}
            // The person's end is closed by a thread that fails, whose reason is to be named.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => thread::park(),
            Err(error) => return Err(error).during("prompt at the console"),
        }
    }
}
