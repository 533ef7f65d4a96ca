//! One JSON value a line.

use std::io::{self, BufRead, Read, StdinLock, Stdout, Write};
use std::thread::{self, JoinHandle};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::MESSAGE_LIMIT;
use crate::error::WireError;

/// Reads the requests of the process that started this one, on the standard input.
///
/// The standard input stays locked while the reader lives.
pub fn requests() -> MessageReader<StdinLock<'static>> {
    MessageReader::new(io::stdin().lock(), MESSAGE_LIMIT)
}

/// Writes responses to the process that started this one, on the standard output.
///
/// Messages of several threads do not mix.
pub fn responses() -> MessageWriter<Stdout> {
    MessageWriter::new(io::stdout(), MESSAGE_LIMIT)
}

/// Encodes a message as a line of at most `limit` bytes and the end of the line.
///
/// # Errors
/// - [`WireError::TooLarge`].
/// - [`WireError::Io`]: JSON cannot represent it.
pub fn encode(message: &impl Serialize, limit: usize) -> Result<Vec<u8>, WireError> {
    let mut bounded = Bounded { line: Vec::new(), limit };
    let encoded = serde_json::to_writer(&mut bounded, message);
    let mut line = bounded.line;
    match encoded {
        Ok(()) => {
            line.push(b'\n');
            Ok(line)
        }
        Err(error) if error.is_io() => Err(WireError::too_large(&line, limit)),
        Err(error) => Err(WireError::Io(error.into())),
    }
}

/// Decodes the message of a line.
///
/// # Errors
/// [`WireError::Garbled`].
pub fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, WireError> {
    serde_json::from_slice(line).map_err(|error| WireError::garbled(line, &error))
}

/// A line that does not grow beyond its limit.
struct Bounded {
    line: Vec<u8>,
    limit: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.limit - self.line.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes messages, each immediately and in one piece, so that short messages of several
/// processes do not mix in one pipe
/// ([pipe(7)](https://man7.org/linux/man-pages/man7/pipe.7.html), `PIPE_BUF`).
#[derive(Debug)]
pub struct MessageWriter<W> {
    /// `None` after a write failed.
    output: Option<W>,
    limit: usize,
}

impl<W: Write> MessageWriter<W> {
    /// Writes messages of at most `limit` bytes to `output`.
    pub const fn new(output: W, limit: usize) -> Self {
        Self { output: Some(output), limit }
    }

    /// Writes a message.
    ///
    /// # Errors
    /// - [`WireError::TooLarge`]: nothing was written; another message can follow.
    /// - [`WireError::Io`]: the reader is gone, or JSON cannot represent the message.
    /// - [`WireError::Closed`]: an earlier write failed.
    pub fn write(&mut self, message: &impl Serialize) -> Result<(), WireError> {
        let line = encode(message, self.limit)?;
        let output = self.output.as_mut().ok_or(WireError::Closed)?;
        let written = output.write_all(&line).and_then(|()| output.flush());
        written.map_err(|error| {
            // To the reader, the next message would be the rest of this one.
            self.output = None;
            WireError::Io(error)
        })
    }

    /// The output, unless it has failed.
    pub(crate) fn into_output(self) -> Option<W> {
        self.output
    }
}

/// Reads messages, and never keeps more than the limit of each.
#[derive(Debug)]
pub struct MessageReader<R> {
    /// `None` after the end and after an error.
    pub(crate) input: Option<R>,
    limit: usize,
}

impl<R: BufRead> MessageReader<R> {
    /// Reads messages of at most `limit` bytes from `input`.
    pub const fn new(input: R, limit: usize) -> Self {
        Self { input: Some(input), limit }
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// After any error the input is closed, and every later call returns
    /// [`WireError::Closed`].
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<T, WireError> {
        let line = self.read_bytes()?;
        parse(&line).inspect_err(|_| self.input = None)
    }

    /// Waits for the next line, and does not decode it.
    ///
    /// # Errors
    /// Those of [`read`](Self::read); a line that is not UTF-8 is [`WireError::Garbled`].
    pub fn read_line(&mut self) -> Result<String, WireError> {
        String::from_utf8(self.read_bytes()?).map_err(|error| {
            self.input = None;
            WireError::garbled(error.as_bytes(), &error)
        })
    }

    fn read_bytes(&mut self) -> Result<Vec<u8>, WireError> {
        let input = self.input.as_mut().ok_or(WireError::Closed)?;
        read_bytes(input, self.limit).inspect_err(|_| self.input = None)
    }

    /// Reads in a thread of its own, and passes each message to `take`, then the error that
    /// ends the input; stops earlier when `take` returns false.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn listen<T: DeserializeOwned>(
        mut self,
        name: &str,
        mut take: impl FnMut(Result<T, WireError>) -> bool + Send + 'static,
    ) -> io::Result<JoinHandle<()>>
    where
        R: Send + 'static,
    {
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            loop {
                let message = self.read();
                let is_last = message.is_err();
                if !take(message) || is_last {
                    return;
                }
            }
        })
    }
}

fn read_bytes(input: &mut impl BufRead, limit: usize) -> Result<Vec<u8>, WireError> {
    let mut line = Vec::new();
    // The byte beyond the limit is the end of the line, or one byte too many.
    input.take(limit as u64 + 1).read_until(b'\n', &mut line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        Ok(line)
    } else if line.is_empty() {
        Err(WireError::Closed)
    } else if line.len() > limit {
        Err(WireError::too_large(&line, limit))
    } else {
        Err(WireError::truncated(&line))
    }
}
