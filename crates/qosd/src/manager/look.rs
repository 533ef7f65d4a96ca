//! The look at threads with a grant, once a second: whose they are, whether they have their grant,
//! and whether the kernel has forgotten them.

use tactus_model::time::Nanos;
use tactus_qos::ReserveId;
use tactus_reserve::{debt_most, release_time};
use tactus_sys::usage::scheduled_time;
use tactus_sys::{clock, deadline_thread};

use super::{Held, Manager, What, ended_with};
use crate::Moment;
use crate::kept::Kept;
use crate::watch::{Seen, Watch};

/// From one look at a thread with a grant to the next.
pub(super) const LOOK: Nanos = Nanos::from_secs(1);

/// Looks before others are served again; each takes some 50 µs.
const LOOKS_AT_ONCE: usize = 16;

impl Held {
    /// Why the thread has lost its reserve, if it has.
    fn lost(&self) -> Option<What> {
        if let Err(lost) = self.check_owner() {
            return Some(ended_with(&lost));
        }
        match &self.kept {
            Some(Kept::Here(kept)) if !kept.is_in_force() => {
                Some(What::Ended("somebody else has changed the policy of its thread".to_owned()))
            }
            _ => None,
        }
    }

    /// Whether the kernel has left the thread throttled.
    fn is_stuck(&mut self, now: Moment) -> bool {
        let Some(Kept::Here(kept)) = &self.kept else { return false };
        let thread = self.subject.id();
        // The end of the thread is reported by its descriptor.
        let Ok(time) = scheduled_time(thread) else { return false };
        let seen = Seen { ran: time.ran, is_ready: deadline_thread::is_ready(thread) };
        // As long as the kernel can remember it: then to leave the class helps at once.
        let patience = release_time(kept.capacity(), debt_most(clock::tick()));
        self.watch.is_stuck(seen, patience, now)
    }
}

impl Manager {
    /// Looks at the threads whose time it is: ends the reserves of those that are lost, and sets
    /// the policy of those again that the kernel has left throttled.
    pub(super) fn look(&mut self, now: Moment) {
        let due = |(_, held): &(&ReserveId, &Held)| held.is_here() && held.look <= now;
        let due = self.held.iter().filter(due).map(|(reserve, _)| *reserve);
        let due: Vec<ReserveId> = due.take(LOOKS_AT_ONCE).collect();
        for reserve in due {
            let Some(held) = self.held.get_mut(&reserve) else { continue };
            held.look = now + LOOK;
            if let Some(lost) = held.lost() {
                self.end(reserve, lost, now);
            } else if held.is_stuck(now) {
                self.renew(reserve, now);
            }
        }
    }

    fn renew(&mut self, reserve: ReserveId, now: Moment) {
        let Some(held) = self.held.get_mut(&reserve) else { return };
        let Some(Kept::Here(kept)) = &held.kept else { return };
        held.watch = Watch::default();
        held.stuck += 1;
        self.stuck += 1;
        match kept.renew() {
            Ok(()) => self.notify(reserve, What::Renewed),
            Err(refused) => self.end(reserve, What::Ended(refused.to_string()), now),
        }
    }
}
