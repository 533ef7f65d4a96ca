//! Keys of a terminal, one by one: [termios(3)](https://man7.org/linux/man-pages/man3/termios.3.html).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::termios::{LocalModes, OptionalActions, Termios};

use crate::error::SysError;

/// A terminal that passes on each key at once and shows none. Signals by keys remain, and what is
/// written changes as before. Dropping it restores the terminal.
#[derive(Debug)]
pub struct KeyMode {
    terminal: OwnedFd,
    before: Termios,
}

impl KeyMode {
    /// Sets the mode of a terminal; `None` if it is not one, or another program has it: the kernel
    /// stops a program in the background that reads keys or sets modes.
    ///
    /// # Errors
    /// Those of [tcsetattr(3)](https://man7.org/linux/man-pages/man3/termios.3.html).
    #[doc(alias = "tcsetattr")]
    pub fn set(terminal: BorrowedFd<'_>) -> Result<Option<Self>, SysError> {
        let foreground = rustix::termios::tcgetpgrp(terminal);
        if foreground != Ok(rustix::process::getpgrp()) {
            return Ok(None);
        }
        let terminal =
            rustix::io::fcntl_dupfd_cloexec(terminal, 0).map_err(SysError::of("fcntl"))?;
        let before = rustix::termios::tcgetattr(&terminal).map_err(SysError::of("tcgetattr"))?;
        let mut settings = before.clone();
        settings.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        rustix::termios::tcsetattr(&terminal, OptionalActions::Now, &settings)
            .map_err(SysError::of("tcsetattr"))?;
        Ok(Some(Self { terminal, before }))
    }
}

/// The terminal.
impl AsFd for KeyMode {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        // A terminal that is gone needs no mode.
        let _ = rustix::termios::tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pty::Pty;

    #[test]
    fn a_terminal_of_another_session_is_left_alone() {
        let pty = Pty::open().unwrap();
        assert!(KeyMode::set(pty.terminal.as_fd()).unwrap().is_none());
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(KeyMode::set(file.as_fd()).unwrap().is_none());
    }
}
