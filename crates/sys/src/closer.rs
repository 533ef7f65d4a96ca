//! Closing what other programs have sent, on a thread of its own.
//!
//! Closing a descriptor can wait for as long as its sender likes: for a TCP socket with `SO_LINGER`,
//! until its peer has read everything, and for a file of a filesystem that a program serves, until
//! that program answers. A socket in whose queue such descriptors are is no different.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// How many values of each user wait.
type Waiting = Arc<Mutex<BTreeMap<u32, usize>>>;

/// Drops values on a thread of its own.
#[derive(Debug)]
pub struct Closer<T> {
    values: Sender<(u32, T)>,
    waiting: Waiting,
}

impl<T> Clone for Closer<T> {
    fn clone(&self) -> Self {
        Self { values: self.values.clone(), waiting: Arc::clone(&self.waiting) }
    }
}

impl<T: Send + 'static> Closer<T> {
    /// Starts the thread, with this name. It ends with the last clone of this value, after it has
    /// dropped what waits.
    ///
    /// # Errors
    /// There are too many threads.
    pub fn start(name: &str) -> io::Result<Self> {
        let (values, received) = channel::<(u32, T)>();
        let waiting = Waiting::default();
        let counted = Arc::clone(&waiting);
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            for (user, value) in received {
                drop(value);
                let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(count) = counted.get_mut(&user) {
                    *count -= 1;
                }
                counted.retain(|_, count| *count > 0);
            }
        })?;
        Ok(Self { values, waiting })
    }

    /// Drops what a user sent, in its own time.
    pub fn close(&self, user: u32, value: T) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner).entry(user).or_default() += 1;
        // The thread lives for as long as this value.
        let _ = self.values.send((user, value));
    }

    /// How many values of a user wait. The caller limits them.
    pub fn waiting(&self, user: u32) -> usize {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.get(&user).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;
    use std::time::{Duration, Instant};

    use super::*;

    /// Waits when it is dropped.
    struct Slow(Receiver<()>);

    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }

    #[test]
    fn nobody_waits_for_what_waits_to_be_closed() {
        let closer = Closer::start("closer").unwrap();
        let (release, slow) = channel();
        closer.close(7, Slow(slow));
        assert_eq!((closer.waiting(7), closer.waiting(8)), (1, 0));
        drop(release);
        let end = Instant::now() + Duration::from_secs(20);
        while closer.waiting(7) > 0 {
            assert!(Instant::now() < end);
            thread::sleep(Duration::from_millis(1));
        }
    }
}
