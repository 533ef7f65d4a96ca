//! Cycles of a sound server, and where they stand.

use tactus_delivery::item::Moment;
use tactus_model::time::Monotonic;
use tactus_sys::{clock, jack};

/// A cycle as the sound server counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The number of its first frame, which wraps.
    pub frame: u32,
    /// The number of its frames.
    pub frames: u32,
    /// When it began.
    pub began: Moment,
    /// The xruns before it.
    pub xruns: u64,
}

impl Cycle {
    /// The present cycle, with its beginning on the monotonic clock: the server's may be another
    /// one. `None` if the server does not know it.
    pub fn read(cycle: &jack::Cycle<'_>) -> Option<Self> {
        let times = cycle.times()?;
        let age = times.age_us.saturating_mul(1000);
        let began = clock::now::<Monotonic>().as_nanos().saturating_add_signed(-age);
        let (frame, frames, xruns) = (times.frame, cycle.frames(), cycle.xruns());
        Some(Self { frame, frames, began: Moment::from_nanos(began), xruns })
    }
}

/// A cycle with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The position of its first frame, which does not wrap.
    pub position: u64,
    /// The number of its frames.
    pub frames: u32,
    /// When it began.
    pub began: Moment,
    /// Frames between the end of the last cycle and its beginning: nobody was asked for them.
    /// Negative if the server has stepped back.
    pub skipped: i64,
    /// The xruns since the last cycle.
    pub xruns: u64,
}

impl Placed {
    /// The position after its last frame.
    pub fn end(&self) -> u64 {
        self.position + u64::from(self.frames)
    }

    /// Whether it follows the last cycle, which then came out whole.
    pub const fn is_whole(&self) -> bool {
        self.skipped == 0 && self.xruns == 0
    }
}

/// Positions begin here, so that they can step back.
const FIRST: u64 = 1 << 40;

/// Numbers the frames of cycles without wrapping.
#[derive(Clone, Copy, Debug, Default)]
pub struct Positions {
    /// The last cycle, with its position.
    last: Option<(Cycle, u64)>,
}

impl Positions {
    /// Places a cycle after the one before.
    pub fn place(&mut self, cycle: Cycle) -> Placed {
        let Cycle { frame, frames, began, .. } = cycle;
        let (position, skipped, xruns) = match self.last {
            None => (FIRST + u64::from(frame), 0, 0),
            Some((last, position)) => {
                let moved = i64::from(frame.wrapping_sub(last.frame).cast_signed());
                let skipped = moved - i64::from(last.frames);
                let xruns = cycle.xruns.saturating_sub(last.xruns);
                (position.saturating_add_signed(moved), skipped, xruns)
            }
        };
        self.last = Some((cycle, position));
        Placed { position, frames, began, skipped, xruns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(frame: u32, xruns: u64) -> Cycle {
        Cycle { frame, frames: 256, began: Moment::from_nanos(0), xruns }
    }

    #[test]
    fn numbers_wrap_and_positions_do_not() {
        let mut positions = Positions::default();
        let first = positions.place(cycle(u32::MAX - 255, 0));
        let second = positions.place(cycle(0, 0));
        assert_eq!(second.position, first.end());
        assert!(first.is_whole() && second.is_whole());
    }

    #[test]
    fn what_was_missed_is_counted() {
        let mut positions = Positions::default();
        let first = positions.place(cycle(1000, 0));
        let late = positions.place(cycle(1000 + 256 * 3, 1));
        assert_eq!((late.skipped, late.xruns), (512, 1));
        assert_eq!(late.position, first.position + 768);
        let back = positions.place(cycle(1000, 1));
        assert_eq!((back.skipped, back.position), (-1024, first.position));
        assert!(!late.is_whole() && !back.is_whole());
        // An xrun may lose a cycle that was counted.
        assert!(!positions.place(cycle(1256, 2)).is_whole());
    }
}
