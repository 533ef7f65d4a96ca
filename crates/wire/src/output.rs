//! The output of a process, with a deadline for reading.

use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::process::ChildStdout;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tactus_sys::wait::wait_readable;

use crate::error::WireError;
use crate::message::MessageReader;

/// The standard output of a process.
#[derive(Debug)]
pub struct Output {
    pipe: ChildStdout,
    /// Reading waits until then; without a limit if `None`.
    deadline: Option<Instant>,
}

impl Output {
    pub(crate) const fn new(pipe: ChildStdout) -> Self {
        Self { pipe, deadline: None }
    }

    fn wait_until(&self, deadline: Instant) -> io::Result<()> {
        let wait = || wait_readable(self.pipe.as_fd(), left_until(deadline));
        while !wait().map_err(|error| io::Error::from(error.errno))? {
            // A signal may have ended the wait.
            if left_until(deadline).is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            self.wait_until(deadline)?;
        }
        self.pipe.read(buffer)
    }
}

fn left_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

impl MessageReader<BufReader<Output>> {
    /// Waits for the next message, for `patience` at most.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), and [`WireError::Silent`].
    pub fn read_within<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<T, WireError> {
        self.set_deadline(Some(Instant::now() + patience));
        let message = self.read();
        self.set_deadline(None);
        message.map_err(|error| match error {
            WireError::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                WireError::Silent { waited: patience }
            }
            error => error,
        })
    }

    fn set_deadline(&mut self, deadline: Option<Instant>) {
        if let Some(input) = &mut self.input {
            input.get_mut().deadline = deadline;
        }
    }
}
