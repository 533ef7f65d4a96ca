//! A game: draws frame after frame, as many as it gets CPU time for.
//!
//! It never sleeps. Each frame moves the world on by the time that the last one took and
//! draws it, so that the rate of frames adapts to what is left of the CPU, and the
//! world goes at its own pace. With a display beside it (`adaptive+display`) each frame is
//! drawn by the display in part, and waited for.

use std::time::{Duration, Instant};

use tactus_model::time::Nanos;

use super::Endless;
use super::display::Display;
use super::picture::Picture;
use crate::site::Site;

/// What a frame takes to be drawn.
const FRAME: Nanos = Nanos::from_millis(4);

/// What of a frame the display has to do.
const SHOWN: Nanos = Nanos::from_millis(1);

/// What a step of the world takes; there are as many as its steps fit in the last frame.
const STEP: Nanos = Nanos::from_micros(50);
/// The time by which a step moves the world on.
const WORLD_STEP: Duration = Duration::from_millis(1);
/// The most steps between two frames: a game that was held up does not run after the world.
const STEPS_MAX: u128 = 100;

/// Counts an operation each frame.
pub(super) fn run(site: &'static Site) -> Endless {
    let display = Display::beside(site)?;
    let mut picture = Picture::calibrated();
    let (frame, shown) = (picture.blocks_in(FRAME), picture.blocks_in(SHOWN));
    let step = picture.blocks_in(STEP);
    let mut last = Instant::now();
    loop {
        let now = Instant::now();
        let steps = ((now - last).as_nanos() / WORLD_STEP.as_nanos()).min(STEPS_MAX);
        last = now;
        picture.transform(step * steps as u64);
        picture.transform(frame);
        match &display {
            Some(display) => display.draw(SHOWN)?,
            None => picture.transform(shown),
        }
        site.did(1, 0);
    }
}
