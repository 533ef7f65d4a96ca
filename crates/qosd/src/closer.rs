//! Closing descriptors of clients.
//!
//! Closing can wait for as long as a client likes: for a file of a filesystem that a program of the
//! client serves, the kernel asks that program. So a thread of its own closes what is not known to
//! be a pidfd.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Descriptors of a user that wait to be closed; beyond it, the user can send none.
const WAITING_MOST: usize = 16;

/// How many descriptors of each user wait.
type Waiting = Arc<Mutex<BTreeMap<u32, usize>>>;

/// Closes descriptors on a thread of its own.
#[derive(Clone, Debug)]
pub(crate) struct Closer {
    descriptors: Sender<(u32, OwnedFd)>,
    waiting: Waiting,
}

impl Closer {
    /// Starts the thread. It ends with the last clone of this value.
    pub fn start() -> std::io::Result<Self> {
        let (descriptors, received) = channel::<(u32, OwnedFd)>();
        let waiting = Waiting::default();
        let counted = Arc::clone(&waiting);
        std::thread::Builder::new().name("qosd/closer".to_owned()).spawn(move || {
            for (user, descriptor) in received {
                drop(descriptor);
                let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(count) = counted.get_mut(&user) {
                    *count -= 1;
                }
                counted.retain(|_, count| *count > 0);
            }
        })?;
        Ok(Self { descriptors, waiting })
    }

    /// Closes a descriptor that a user sent, in its own time.
    pub fn close(&self, user: u32, descriptor: OwnedFd) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner).entry(user).or_default() += 1;
        // The thread lives for as long as this value.
        let _ = self.descriptors.send((user, descriptor));
    }

    /// Whether a user may send descriptors.
    pub fn accepts(&self, user: u32) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.get(&user).is_none_or(|count| *count < WAITING_MOST)
    }
}
