//! The standard input of a process that may have stopped reading.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use tactus_sys::wait::{never_wait, wait_writable};

/// Writes to a process, and fails with [`TimedOut`](io::ErrorKind::TimedOut) if it reads nothing for
/// a while.
#[derive(Debug)]
pub struct PatientInput {
    pipe: ChildStdin,
    patience: Duration,
}

impl PatientInput {
    /// Takes over the input of a process that may read nothing for `patience`.
    ///
    /// # Errors
    /// The system refuses to make it a pipe that never waits.
    pub fn new(pipe: ChildStdin, patience: Duration) -> io::Result<Self> {
        never_wait(pipe.as_fd()).map_err(io::Error::other)?;
        Ok(Self { pipe, patience })
    }
}

impl Write for PatientInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let deadline = Instant::now() + self.patience;
        loop {
            match self.pipe.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return written,
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let is_writable = wait_writable(self.pipe.as_fd(), left).map_err(io::Error::other)?;
            if !is_writable && left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// More bytes than a pipe holds.
    const MANY: usize = 1 << 20;

    #[test]
    fn a_process_that_reads_nothing_ends_the_writing() {
        let mut sleeper = Command::new("sleep").arg("1000").stdin(Stdio::piped()).spawn().unwrap();
        let pipe = sleeper.stdin.take().unwrap();
        let mut input = PatientInput::new(pipe, Duration::from_millis(50)).unwrap();
        let error = input.write_all(&[0; MANY]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let error = input.write_all(&[0; MANY]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_process_that_reads_gets_everything() {
        let mut reader = Command::new("wc")
            .arg("-c")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = reader.stdin.take().unwrap();
        let mut input = PatientInput::new(pipe, Duration::from_secs(60)).unwrap();
        input.write_all(&vec![0; MANY]).unwrap();
        drop(input);
        let output = reader.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), MANY.to_string());
    }
}
