//! Finding threads that the kernel has forgotten: ready, granted, and never run.

use tactus_model::time::Nanos;

use crate::Moment;

/// What is seen of a thread with a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The CPU time that it has used.
    pub ran: Nanos,
    /// Whether it is ready to run.
    pub is_ready: bool,
}

/// The last sight of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    /// Since when the thread is ready and has used no more than this.
    waits: Option<(Moment, Nanos)>,
}

impl Watch {
    /// Whether the thread is stuck: it has waited for longer than `patience`, without a break. A
    /// thread that is ready at two sights and has not run between them was ready all the time.
    pub fn is_stuck(&mut self, seen: Seen, patience: Nanos, now: Moment) -> bool {
        self.waits = match self.waits {
            _ if !seen.is_ready => None,
            Some((since, ran)) if ran == seen.ran => Some((since, ran)),
            _ => Some((now, seen.ran)),
        };
        self.waits.is_some_and(|(since, _)| now - since > patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_stuck_if_it_is_ready_and_does_not_run_for_long() {
        let ms = Nanos::from_millis;
        let at = |time| Moment::from_nanos(ms(time).as_nanos());
        let mut watch = Watch::default();
        let mut check = |time, ran, is_ready, expected| {
            let seen = Seen { ran: ms(ran), is_ready };
            assert_eq!(watch.is_stuck(seen, ms(100), at(time)), expected, "at {time} ms");
        };
        check(0, 7, true, false);
        check(100, 7, true, false);
        check(101, 7, true, true);
        // It runs.
        check(200, 8, true, false);
        check(290, 8, true, false);
        // It sleeps for as long as it likes.
        check(300, 8, false, false);
        check(900, 8, true, false);
        check(990, 8, true, false);
        check(1001, 8, true, true);
    }
}
