//! The end of what a process writes to its standard error.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How many bytes of the standard error of a process are kept.
pub const LAST_WORDS_LIMIT: usize = 4096;

/// Keeps the end of what a process writes to its standard error, while it runs.
#[derive(Debug)]
pub struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Disconnected when the stream has ended.
    end: Receiver<()>,
}

impl LastWords {
    /// Reads `stream` in a thread, and keeps its last [`LAST_WORDS_LIMIT`] bytes.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn listen(mut stream: impl Read + Send + 'static) -> io::Result<Self> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (reading, end) = channel();
        let listener = Arc::clone(&kept);
        thread::Builder::new().name("last-words".to_owned()).spawn(move || {
            let _reading = reading;
            let mut buffer = [0; LAST_WORDS_LIMIT];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                let mut kept = listener.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..count]);
                let surplus = kept.len().saturating_sub(LAST_WORDS_LIMIT);
                kept.drain(..surplus);
            }
        })?;
        Ok(Self { kept, end })
    }

    /// Returns the end of the standard error of a process that has ended; empty if it wrote
    /// nothing.
    ///
    /// Processes that it left behind may hold the stream open, so this waits for the end of
    /// the stream for `patience` at most.
    pub fn take(self, patience: Duration) -> String {
        let _ = self.end.recv_timeout(patience);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}
