//! The measured loop of the frames probe: a player.
//!
//! It shows no frame before it is due, and skips a frame that is late by more than half of its
//! slot, or shows the latest frame that is due. Its timers are set for the due time of a frame, or for the first tick after it, like
//! on a kernel that serves timers only at its ticks. So this kernel measures the effect of any
//! tick rate on a player, and adds its own latencies.

use tactus_delivery::item::Moment;
use tactus_model::frames::{FrameTimes, FramesProbe, PlayerKind};
use tactus_model::sample::Sample;
use tactus_model::time::{Clock, Instant, Nanos};
use tactus_playback::{Choice, Clock as MediaClock, IfLate, MediaTime, Speed, choose};
use tactus_sys::SysError;
use tactus_sys::sleep::Sleeper;

use crate::timer::{Activity, SampleMemory, SampleSink, TakenSamples};

/// The frames of a looping player in a window, in the order in which they are due.
#[derive(Clone, Debug)]
pub struct Player {
    probe: FramesProbe,
    frames: FrameTimes,
    offset: Nanos,
    window: Nanos,
    /// The clock of the media time, for the rule of `tactus play`: it starts with the window.
    clock: MediaClock,
}

/// When the window opens, by that clock.
const ORIGIN: Moment = Moment::from_nanos(1_000_000_000_000);

fn media(time: Nanos) -> MediaTime {
    MediaTime::ZERO.after(time)
}

impl Player {
    /// Begins with a frame at `offset`; all are due within the window.
    pub fn new(probe: &FramesProbe, offset: Nanos, window: Nanos) -> Self {
        let mut clock = MediaClock::resting(MediaTime::ZERO, Speed::ONE);
        clock.start(ORIGIN);
        Self { probe: probe.clone(), frames: probe.frames(), offset, window, clock }
    }

    /// How many frames are due in the window.
    pub fn intended(&self) -> u64 {
        self.frames.within(self.window - self.offset)
    }

    /// When a frame is due, relative to the opening of the window.
    fn due(&self, frame: u64) -> Nanos {
        self.offset + self.frames.due(frame)
    }

    /// Whether the frame with this number is shown if the player looks at it at `came`.
    #[inline]
    fn shows(&self, frame: u64, came: Nanos) -> bool {
        match self.probe.player {
            PlayerKind::Latest => {
                let waiting = [frame, frame + 1].map(|number| media(self.due(number)));
                let choice = choose(waiting, &self.clock, ORIGIN + came, Nanos::ZERO, IfLate::Drop);
                matches!(choice, Choice::Show { dropped: 0, .. })
            }
            _ => self.frames.shows(came - self.due(frame)),
        }
    }

    /// Separates the frames that were shown from the frames that were too late.
    ///
    /// The player applies the same rule when it looks at a frame.
    pub fn judged(&self, mut taken: TakenSamples) -> TakenSamples {
        // Samples are kept in the order of their frames, and the last ones may be dropped.
        let numbered = (0..).zip(&taken.samples);
        let (shown, skipped): (Vec<_>, Vec<_>) =
            numbered.partition(|(frame, sample)| self.shows(*frame, sample.came));
        let [shown, skipped] = [shown, skipped]
            .map(|of| of.into_iter().map(|(_, sample)| *sample).collect::<Vec<Sample>>());
        taken.missed = skipped.len() as u64;
        TakenSamples { samples: shown, skipped, ..taken }
    }
}

/// Plays the frames of a window that opens at `start`: sleeps until each frame is due, or until
/// the next tick, and acts on the frames that it shows.
///
/// If a frame is due already when the player is done with the frame before it, the player looks
/// at it in the same wakeup. Every frame is kept, with the time at which the player looked at
/// it; [`Player::judged`] separates them.
///
/// The loop allocates nothing, takes no lock, and makes no system call besides the sleep (and
/// those of the activity). It has one turn per frame.
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
) -> Result<TakenSamples, SysError> {
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
        let shown = player.shows(frame, came);
        awake = Some(match shown {
            true => activity.act(start + came, start + player.due(frame + 1)) - start,
            false => came,
        });
    }
    Ok(TakenSamples {
        samples: memory.into_vec(),
        skipped: Vec::new(),
        passes: Vec::new(),
        missed: 0,
        dropped,
        ended: awake.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
