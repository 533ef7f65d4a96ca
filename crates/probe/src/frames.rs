//! The measured loop of the frames probe: a player.
//!
//! It shows no frame ahead of its time and skips one that is late by more than
//! half of its slot. Its timers are set for the time at which a frame is due, or
//! for the first tick after that, as a kernel would that serves timers at its
//! ticks only: so what any tick rate does to a player is measured on this kernel,
//! with its own latencies on top.

use tactus_model::frames::{FrameTimes, FramesProbe};
use tactus_model::sample::Sample;
use tactus_model::time::{Clock, Instant, Nanos};
use tactus_sys::SysError;
use tactus_sys::sleep::Sleeper;

use crate::timer::{Activity, Recording, SampleKeeper, SampleMemory};

/// The frames of one player in a window, in the order in which they are due.
#[derive(Clone, Debug)]
pub struct Player {
    probe: FramesProbe,
    frames: FrameTimes,
    offset: Nanos,
    window: Nanos,
}

impl Player {
    /// Begins with a frame at `offset`; all are due within the window.
    pub fn new(probe: &FramesProbe, offset: Nanos, window: Nanos) -> Self {
        Self { probe: probe.clone(), frames: probe.frames(), offset, window }
    }

    /// How many frames are due in the window.
    pub fn intended(&self) -> u64 {
        self.frames.within(self.window - self.offset)
    }

    /// When a frame is due, since the window opened.
    fn due(&self, frame: u64) -> Nanos {
        self.offset + self.frames.due(frame)
    }

    /// Parts the frames that were looked at into those that were shown and those
    /// that were too late for that.
    ///
    /// The player decides by the same rule when it looks at them.
    pub fn judged(&self, mut recording: Recording) -> Recording {
        let (shown, skipped): (Vec<Sample>, Vec<Sample>) =
            recording.samples.iter().partition(|sample| self.frames.shows(sample.latency()));
        recording.missed = skipped.len() as u64;
        Recording { samples: shown, skipped, ..recording }
    }
}

/// Plays the frames of a window that opens at `start`: sleeps until each is due, or
/// until the tick after that, and acts on those that it shows.
///
/// A frame that is due already when the one before it is done with is looked at
/// in the same wakeup. Every frame that was looked at is kept, with the time at
/// which that was; [`Player::judged`] parts them.
///
/// The loop allocates nothing, takes no lock, and makes no system call besides
/// the sleep (and what the activity does). It has a turn for each frame.
///
/// # Errors
/// The sleeper's.
#[inline]
pub fn play<C: Clock>(
    sleeper: &mut impl Sleeper<C>,
    activity: &mut impl Activity<C>,
    player: &Player,
    start: Instant<C>,
    mut memory: SampleMemory,
) -> Result<Recording, SysError> {
    let mut dropped = 0;
    let mut awake: Option<Nanos> = None;
    for frame in 0..player.intended() {
        let due = player.due(frame);
        let came = match awake {
            Some(now) if now >= due => now,
            _ => {
                let asked_for = player.probe.asked_for(due, player.window);
                sleeper.sleep_until(start + asked_for)? - start
            }
        };
        if !memory.keep(Sample { due, came }) {
            dropped += 1;
        }
        let shown = player.frames.shows(came - due);
        awake = Some(match shown {
            true => activity.act(start + came, start + player.due(frame + 1)) - start,
            false => came,
        });
    }
    Ok(Recording {
        samples: memory.into_vec(),
        skipped: Vec::new(),
        missed: 0,
        dropped,
        ended: awake.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
