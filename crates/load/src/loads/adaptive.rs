//! A game: draws frame after frame, as fast as its share of the CPU permits.
//!
//! It never sleeps. Each frame advances the world by the duration of the last frame and draws
//! it, so the frame rate adapts to the CPU time that is left, and the world keeps its own
//! pace. With a display beside it (`adaptive+display`), the display draws a part of each
//! frame, and the game waits for it.

use std::time::{Duration, Instant};

use tactus_model::time::Nanos;

use super::Endless;
use super::display::Display;
use super::picture::Picture;
use crate::site::Site;

/// The CPU time that drawing a frame takes.
const FRAME: Nanos = Nanos::from_millis(4);

/// The CPU time of a frame that the display takes.
const SHOWN: Nanos = Nanos::from_millis(1);

/// The CPU time of a step of the world; a frame makes as many steps as fit into the last frame.
const STEP: Nanos = Nanos::from_micros(50);
/// The time by which a step advances the world.
const WORLD_STEP: Duration = Duration::from_millis(1);
/// The most steps between two frames: after a long delay, a game does not catch up.
const STEPS_MAX: u128 = 100;

/// Counts one operation per frame.
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
