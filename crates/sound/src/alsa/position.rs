//! Where a device stands that plays on when nobody writes.

use tactus_delivery::item::Moment;

/// Positions begin here, as those of the sound server do.
const FIRST: u64 = 1 << 40;

/// What a device has counted since it was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Frames that it has played.
    pub played: u64,
    /// Frames that were written or skipped.
    pub written: u64,
}

/// What is written next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Frames that cannot be written any more: they are silence. More than 0 is an xrun.
    pub skipped: u64,
    /// The position of the frame after them.
    pub position: u64,
    /// Frames for which there is room from there on.
    pub frames: u64,
}

/// Gives the frames of a device positions, which go on when the device was prepared again.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    rate: u32,
    buffer: u64,
    /// The device may play so many frames while the program writes.
    guard: u64,
    /// The position of the frame that was the first since the device was prepared.
    base: u64,
    /// The last observation: the frames that it has played, and when.
    last: Option<(u64, Moment)>,
}

impl Place {
    /// Begins, for a device with so many frames a second and in its buffer. The guard is less than
    /// the buffer.
    pub fn new(rate: u32, buffer: u32, guard: u32) -> Self {
        let (buffer, guard) = (u64::from(buffer), u64::from(guard));
        Self { rate, buffer, guard: guard.min(buffer / 2), base: FIRST, last: None }
    }

    /// The position that the device asks for when it has played so many frames: the end of its
    /// buffer.
    pub const fn asked(&self, played: u64) -> u64 {
        self.base + played + self.buffer
    }

    /// Follows a device that runs.
    pub fn due(&mut self, Counted { played, written }: Counted, at: Moment) -> Due {
        self.last = Some((played, at));
        let safe = played + self.guard;
        let skipped = safe.saturating_sub(written);
        let next = written + skipped;
        let frames = (played + self.buffer).saturating_sub(next);
        Due { skipped, position: self.base + next, frames }
    }

    /// What fills the buffer of a device that was prepared and starts now. Time has passed since it
    /// was last seen to run, so as many frames are skipped; `written` is its count before.
    pub fn restart(&mut self, written: u64, now: Moment) -> Due {
        let Some((played, at)) = self.last.take() else {
            return Due { skipped: 0, position: self.base, frames: self.buffer };
        };
        let nanos = u128::from((now - at).as_nanos());
        let passed = nanos * u128::from(self.rate) / 1_000_000_000;
        let end = self.base + written;
        let passed = u64::try_from(passed).unwrap_or(u64::MAX - end);
        // What was written and not played is cut, and what follows keeps its place.
        self.base += played.saturating_add(passed);
        Due { skipped: self.base.saturating_sub(end), position: self.base, frames: self.buffer }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::time::Nanos;

    use super::*;

    const RATE: u32 = 1000;
    const BUFFER: u32 = 80;
    const GUARD: u32 = 5;

    fn at(milliseconds: u64) -> Moment {
        Moment::from_nanos(7_000_000_000) + Nanos::from_millis(milliseconds)
    }

    #[test]
    fn a_writer_in_time_fills_the_buffer() {
        let mut place = Place::new(RATE, BUFFER, GUARD);
        assert_eq!(place.restart(0, at(0)), Due { skipped: 0, position: FIRST, frames: 80 });
        let due = place.due(Counted { played: 20, written: 80 }, at(20));
        assert_eq!(due, Due { skipped: 0, position: FIRST + 80, frames: 20 });
        assert_eq!(place.asked(20), due.position + due.frames);
    }

    #[test]
    fn a_stopped_writer_skips_what_was_played_as_silence() {
        let mut place = Place::new(RATE, BUFFER, GUARD);
        place.restart(0, at(0));
        let due = place.due(Counted { played: 200, written: 80 }, at(200));
        assert_eq!(due, Due { skipped: 125, position: FIRST + 205, frames: 75 });
        // Writing would be a race with the device.
        let due = place.due(Counted { played: 277, written: 280 }, at(277));
        assert_eq!(due.skipped, 2);
    }

    #[test]
    fn a_device_that_stops_itself_keeps_its_positions() {
        let mut place = Place::new(RATE, BUFFER, GUARD);
        place.restart(0, at(0));
        place.due(Counted { played: 20, written: 80 }, at(20));
        let due = place.restart(100, at(520));
        assert_eq!(due, Due { skipped: 420, position: FIRST + 520, frames: 80 });
        assert_eq!(place.asked(10), FIRST + 610);
        // It came back before what was written would have been played.
        place.due(Counted { played: 10, written: 90 }, at(530));
        let due = place.restart(90, at(540));
        assert_eq!((due.skipped, due.position), (0, FIRST + 540));
    }

    proptest! {
        /// However long the writer is away and however often the device stops: the frame at a
        /// position is played when its time has come, or never.
        #[test]
        fn a_frame_is_played_at_its_time_or_never(
            turns in prop::collection::vec((1_u64..200, prop::bool::weighted(0.1)), 1..60),
        ) {
            let mut place = Place::new(RATE, BUFFER, GUARD);
            let first = place.restart(0, at(0));
            prop_assert_eq!(first.position, FIRST);
            // A frame lasts a millisecond, and the device was prepared at `begun`.
            let (mut now, mut begun, mut written) = (0, 0, first.frames);
            let mut end = FIRST + first.frames;
            for (passed, stops) in turns {
                now += passed;
                let played = now - begun;
                let due = if stops {
                    // It has stopped just now.
                    place.due(Counted { played, written }, at(now));
                    let end_before = written;
                    (begun, written) = (now, 0);
                    let due = place.restart(end_before, at(now));
                    prop_assert_eq!(due.position, FIRST + now);
                    due
                } else {
                    let due = place.due(Counted { played, written }, at(now));
                    // A position is its time in milliseconds.
                    prop_assert_eq!(due.position, FIRST + begun + written + due.skipped);
                    prop_assert_eq!(due.position, end + due.skipped);
                    prop_assert!(due.position >= FIRST + now + u64::from(GUARD));
                    prop_assert_eq!(place.asked(played), due.position + due.frames);
                    written += due.skipped;
                    due
                };
                written += due.frames;
                end = due.position + due.frames;
                prop_assert!(written - (now - begun) == u64::from(BUFFER));
            }
        }
    }
}
