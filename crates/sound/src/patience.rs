//! Waiting for a sound server for a limited time: the library waits without a limit.

use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use std::time::Duration;

use crate::error::SoundError;

/// How long a sound server may take to accept a client with its ports.
pub const OPEN_MOST: Duration = Duration::from_secs(30);

/// Opens something in a thread of its own. If the server answers after [`OPEN_MOST`], the thread
/// closes it again.
pub(crate) fn within<T: Send + 'static>(
    open: impl FnOnce() -> Result<T, SoundError> + Send + 'static,
) -> Result<T, SoundError> {
    let (send, opened) = sync_channel(1);
    let run = move || drop(send.send(open()));
    Builder::new().name("sound-client".to_owned()).spawn(run).map_err(SoundError::Thread)?;
    opened.recv_timeout(OPEN_MOST).unwrap_or(Err(SoundError::Silent))
}
