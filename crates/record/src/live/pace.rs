//! Short turns of the drainer and of readers.

use std::time::{Duration, Instant};

/// Divides work, such as a drain, into short turns with pauses between them, so that no thread waits long for a
/// CPU behind it. Without pauses from the moment that a buffer turns out to be
/// half full: it fills faster than it is emptied.
#[derive(Debug)]
pub(super) struct Pace {
    turn_began: Instant,
    /// Bytes since the last look at the clock.
    bytes: usize,
    /// Bytes of the current buffer.
    of_buffer: usize,
    /// The bytes of a buffer that end the pauses.
    enough: usize,
    in_haste: bool,
}

/// The longest turn, and the pause after it.
const TURN: Duration = Duration::from_micros(250);

/// The bytes between two looks at the clock.
const LOOK: usize = 4096;

impl Pace {
    /// Starts a drain of buffers of this size.
    pub(super) fn new(buffer_size: usize) -> Self {
        Self {
            turn_began: Instant::now(),
            bytes: 0,
            of_buffer: 0,
            enough: buffer_size / 2,
            in_haste: false,
        }
    }

    /// Starts a drain without pauses.
    pub(super) fn in_haste() -> Self {
        Self { in_haste: true, ..Self::new(0) }
    }

    /// Moves to the next buffer.
    pub(super) fn next_buffer(&mut self) {
        self.of_buffer = 0;
    }

    /// Takes that the drainer has read this number of bytes; pauses at the end of a turn.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.of_buffer += bytes;
        self.in_haste |= self.of_buffer > self.enough;
        self.bytes += bytes;
        if self.bytes >= LOOK {
            self.bytes = 0;
            self.look();
        }
    }

    /// Pauses at the end of a turn.
    pub(super) fn look(&mut self) {
        if !self.in_haste && self.turn_began.elapsed() >= TURN {
            std::thread::sleep(TURN);
            self.turn_began = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_more_than_half_full_ends_the_pauses_of_a_drain() {
        let mut pace = Pace::new(1000);
        for _ in 0..10 {
            pace.pass(500);
            pace.next_buffer();
        }
        assert!(!pace.in_haste);
        pace.pass(501);
        pace.next_buffer();
        assert!(pace.in_haste);
    }
}
