//! Short turns of the drainer.

use std::time::{Duration, Instant};

/// Divides a drain into short turns with pauses between them, so that no thread waits long for a
/// CPU behind the drainer.
#[derive(Debug)]
pub(super) struct Pace {
    turn_began: Instant,
    /// Bytes since the last look at the clock.
    bytes: u64,
    /// What is left for pauses: a drain that needs more of them would not keep up with the kernel.
    pauses_left: Duration,
}

/// The longest turn.
const TURN: Duration = Duration::from_micros(250);

/// The pause between two turns.
const PAUSE: Duration = Duration::from_micros(250);

/// The pauses of a drain, in total.
const PAUSES: Duration = Duration::from_millis(25);

/// The bytes between two looks at the clock.
const LOOK: u64 = 4096;

impl Pace {
    /// Starts a drain.
    pub(super) fn new() -> Self {
        Self { turn_began: Instant::now(), bytes: 0, pauses_left: PAUSES }
    }

    /// Starts a drain without pauses.
    pub(super) fn unbroken() -> Self {
        Self { pauses_left: Duration::ZERO, ..Self::new() }
    }

    /// Takes that the drainer has read this number of bytes; pauses at the end of a turn.
    pub(super) fn pass(&mut self, bytes: u64) {
        self.bytes += bytes;
        if self.bytes >= LOOK {
            self.bytes = 0;
            if self.turn_began.elapsed() >= TURN {
                self.pause();
            }
        }
    }

    fn pause(&mut self) {
        if let Some(left) = self.pauses_left.checked_sub(PAUSE) {
            self.pauses_left = left;
            std::thread::sleep(PAUSE);
        }
        self.turn_began = Instant::now();
    }
}
