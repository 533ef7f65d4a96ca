//! How many machines run at a time, over all turns.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::running::{Ended, LOOK_FOR_END};

/// The place of a machine in the queue: the number of its turn, then its own.
pub type Place = (u64, usize);

/// Permits to run a machine. Machines of earlier turns get them first.
#[derive(Debug)]
pub struct Permits {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug)]
struct Queue {
    free: usize,
    waiting: BTreeSet<Place>,
}

/// A machine may run until this is dropped.
#[derive(Debug)]
pub struct Permit<'p>(&'p Permits);

impl Permits {
    /// Permits for this many machines at a time, at least one.
    pub fn new(machines: usize) -> Self {
        let queue = Queue { free: machines.max(1), waiting: BTreeSet::new() };
        Self { queue: Mutex::new(queue), changed: Condvar::new() }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// The turn was ended meanwhile.
    pub fn wait(&self, place: Place, is_ended: impl Fn() -> bool) -> Result<Permit<'_>, Ended> {
        let mut queue = self.queue();
        queue.waiting.insert(place);
        while (queue.free == 0 || queue.waiting.first() != Some(&place)) && !is_ended() {
            let waited = self.changed.wait_timeout(queue, LOOK_FOR_END);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.waiting.remove(&place);
        let permit = match is_ended() {
            true => Err(Ended),
            false => {
                queue.free -= 1;
                Ok(Permit(self))
            }
        };
        drop(queue);
        // Another machine may be the first now.
        self.changed.notify_all();
        permit
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.queue().free += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn no_more_machines_run_than_permitted() {
        let permits = Permits::new(2);
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for turn in 0..20 {
                let (permits, running, most) = (&permits, &running, &most);
                scope.spawn(move || {
                    let _permit = permits.wait((turn, 0), || false).unwrap();
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert!((1..=2).contains(&most.into_inner()));
        assert_eq!(permits.queue().free, 2);
    }

    #[test]
    fn the_machines_of_an_earlier_turn_come_first() {
        let permits = Permits::new(1);
        let first = permits.wait((1, 0), || false).unwrap();
        let (sender, order) = channel();
        thread::scope(|scope| {
            for place in [(3, 0), (2, 1), (2, 0)] {
                let (permits, sender) = (&permits, sender.clone());
                scope.spawn(move || {
                    let permit = permits.wait(place, || false).unwrap();
                    sender.send(place).unwrap();
                    drop(permit);
                });
            }
            while permits.queue().waiting.len() < 3 {
                thread::yield_now();
            }
            drop(first);
        });
        drop(sender);
        assert_eq!(order.iter().collect::<Vec<_>>(), [(2, 0), (2, 1), (3, 0)]);
    }

    #[test]
    fn an_ended_turn_waits_no_longer() {
        let permits = Permits::new(1);
        let taken = permits.wait((1, 0), || false).unwrap();
        assert!(permits.wait((2, 0), || true).is_err());
        assert!(permits.queue().waiting.is_empty());
        drop(taken);
        assert!(permits.wait((3, 0), || false).is_ok());
    }
}
