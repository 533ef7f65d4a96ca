//! Connecting again: that takes long, and the thread that plays must not wait.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::SoundError;

/// How often a connection is tried again.
const RECONNECT: Duration = Duration::from_secs(1);
/// How long the end of the thread is awaited. A server that does not answer keeps it longer; it ends by
/// itself then.
const END_MOST: Duration = Duration::from_millis(200);
const STEP: Duration = Duration::from_millis(2);

/// A thread that connects again. It ends with this value, or after its present attempt.
pub struct Connector<C> {
    /// Connections that are gone.
    gone: Option<Sender<Option<C>>>,
    connected: Receiver<C>,
    thread: Option<JoinHandle<()>>,
}

impl<C: Send + 'static> Connector<C> {
    /// Starts a thread that connects by `open`, again and again until it succeeds, for each
    /// [`reconnect`](Self::reconnect).
    ///
    /// # Errors
    /// The thread does not start.
    pub fn start(open: impl Fn() -> Option<C> + Send + 'static) -> Result<Self, SoundError> {
        let (gone, to_reconnect) = channel::<Option<C>>();
        let (send, connected) = channel();
        let run = move || {
            while let Ok(gone) = to_reconnect.recv() {
                drop(gone);
                let connection = loop {
                    if let Some(connection) = open() {
                        break connection;
                    }
                    // The owner ends when it drops its side.
                    let ended = to_reconnect.recv_timeout(RECONNECT);
                    if matches!(ended, Err(RecvTimeoutError::Disconnected)) {
                        return;
                    }
                };
                if send.send(connection).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("reconnect".to_owned()).spawn(run);
        let thread = Some(thread.map_err(SoundError::Thread)?);
        Ok(Self { gone: Some(gone), connected, thread })
    }

    /// Closes a connection and makes another one.
    pub fn reconnect(&self, gone: Option<C>) {
        if let Some(sender) = &self.gone {
            // The thread ends only with this value.
            let _ = sender.send(gone);
        }
    }

    /// The new connection, once there is one.
    pub fn connected(&self) -> Option<C> {
        self.connected.try_recv().ok()
    }
}

impl<C> Drop for Connector<C> {
    fn drop(&mut self) {
        self.gone = None;
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + END_MOST;
        while !thread.is_finished() {
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(STEP);
        }
        let _ = thread.join();
    }
}
