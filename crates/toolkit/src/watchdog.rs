//! Reports a task that never waits.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tactus_score::busy::Busy;

/// How long a task may run without waiting before it is reported.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Calls `report` with the name of each task that runs for [`PATIENCE`] without waiting, once a turn.
/// The thread ends when the score is gone.
pub(crate) fn start(busy: &Arc<Busy>, report: impl Fn(&str) + Send + 'static) {
    let busy = Arc::downgrade(busy);
    // Without a thread, nothing is reported.
    let _ = std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
        let (mut last, mut reported) = (None, None);
        while let Some(turn) = turn(&busy) {
            if turn.is_some() && turn == last && turn != reported {
                turn.iter().for_each(|turn| report(&turn.task));
                reported = turn.clone();
            }
            last = turn;
            std::thread::sleep(PATIENCE);
        }
    });
}

/// The present turn of a score that still exists.
fn turn(busy: &Weak<Busy>) -> Option<Option<tactus_score::busy::Turn>> {
    busy.upgrade().map(|busy| busy.turn())
}
