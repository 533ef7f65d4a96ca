//! A video player like MPlayer and Xine in 2003: a decoder, a sound side and a video side,
//! driven by a timer with a period of 4 ms, the alarm.
//!
//! ```text
//! player           wakes every 4 ms, keeps the time, wakes the two sides
//! ├─ player/sound    mixes the sound of each alarm
//! ├─ player/video    shows each frame at the first alarm at which it is due, or skips it
//! └─ player/decoder  decodes up to three frames ahead
//! ```
//!
//! They are threads, as in today's players; in 2003 they were processes that shared memory. A
//! frame that is late by more than half of its slot is skipped. The CPU time of a frame
//! follows from the frame rate, so a player uses the same share of a CPU at every rate: 37 %
//! (39 % in 2003, Table 5 of the paper). A display beside it (`player+display`) takes another
//! 20 %. Above 125 frames a second, half a slot is shorter than the alarm's period, which alone
//! makes the player skip frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvError, SyncSender};
use std::time::Instant;

use tactus_model::frames::{FrameTimes, Rate};
use tactus_model::time::Nanos;
use tactus_sys::periodic_timer::PeriodicTimer;

use super::Endless;
use super::display::{self, Display};
use super::picture::{Picture, per_mille};
use crate::error::{During, LoadError};
use crate::site::Site;

/// The period of the alarm.
const ALARM: Nanos = Nanos::from_millis(4);

/// The decoder's CPU time for a frame, in thousandths of its slot.
const DECODER_PER_MILLE: u64 = 300;
/// The video side's CPU time to convert a frame for the screen, in thousandths of its slot.
const VIDEO_PER_MILLE: u64 = 40;
/// The sound side's CPU time for an alarm, in thousandths of its period.
const SOUND_PER_MILLE: u64 = 25;

/// How many frames the decoder may be ahead.
const AHEAD: usize = 3;
/// The time before the first frame, in which the decoder gets ahead.
const LEAD: Nanos = Nanos::from_millis(100);

/// The time after which a player that shows nothing counts as started.
const PATIENCE: Nanos = Nanos::from_secs(2);

/// The names of what is counted besides the frames that are shown, by number.
pub(super) const OTHERS: &[&str] = &["frames skipped", "alarms missed"];
const FRAMES_SKIPPED: usize = 0;
const ALARMS_MISSED: usize = 1;

/// Counts one operation per frame that is shown.
pub(super) fn run(rate: Rate, site: &'static Site) -> Endless {
    // Before the film begins, because measuring takes time.
    let picture = Picture::calibrated();
    let (of_decoder, of_video, of_sound) = (picture.clone(), picture.clone(), picture);
    let display = Display::beside(site)?;
    let film = Arc::new(Film::begin(rate));
    let (decoded, to_show) = mpsc::sync_channel(AHEAD);
    let (wake_video, video_woken) = mpsc::sync_channel(1);
    let (wake_sound, sound_woken) = mpsc::sync_channel(1);
    let same_film = Arc::clone(&film);
    site.spawn("decoder", move || decode(&same_film, of_decoder, &decoded))?;
    let same_film = Arc::clone(&film);
    let screen = Screen { picture: of_video, display };
    site.spawn("video", move || show(&same_film, screen, &to_show, &video_woken, site))?;
    site.spawn("sound", move || mix(of_sound, &sound_woken))?;
    alarm(&film, &wake_video, &wake_sound, site)
}

/// The film's own time, and what its threads share besides frames.
#[derive(Debug)]
struct Film {
    frames: FrameTimes,
    slot: Nanos,
    begun: Instant,
    /// The time for which the video side waits; the greatest value if it does not wait.
    awaited: AtomicU64,
}

impl Film {
    fn begin(rate: Rate) -> Self {
        Self {
            frames: FrameTimes::new(rate),
            slot: rate.period(),
            begun: Instant::now(),
            awaited: AtomicU64::new(u64::MAX),
        }
    }

    /// The time since the film was opened; the first frame is due after the lead.
    fn now(&self) -> Nanos {
        Nanos::from_nanos(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn due(&self, frame: u64) -> Nanos {
        LEAD + self.frames.due(frame)
    }

    /// The frame to decode next: `frame`, unless it is due already. Then the decoder skips
    /// frames until it is ahead again.
    fn in_time(&self, frame: u64) -> u64 {
        let now = self.now();
        if now <= self.due(frame) {
            return frame;
        }
        self.frames.within(now - LEAD) + AHEAD as u64
    }
}

fn alarm(film: &Film, video: &SyncSender<()>, sound: &SyncSender<()>, site: &Site) -> Endless {
    let timer = PeriodicTimer::start(ALARM).during("set the player's alarm")?;
    loop {
        let expired = timer.wait().during("wait for the player's alarm")?;
        site.did_other(ALARMS_MISSED, expired.saturating_sub(1));
        // A side that has not yet received the last alarm needs no second one.
        let _ = sound.try_send(());
        if film.awaited.load(Ordering::Acquire) <= film.now().as_nanos() {
            film.awaited.store(u64::MAX, Ordering::Release);
            let _ = video.try_send(());
        }
    }
}

fn mix(mut picture: Picture, alarms: &Receiver<()>) -> Endless {
    let blocks = picture.blocks_in(per_mille(ALARM, SOUND_PER_MILLE));
    loop {
        alarms.recv().map_err(side_ended)?;
        picture.transform(blocks);
    }
}

fn decode(film: &Film, mut picture: Picture, decoded: &SyncSender<u64>) -> Endless {
    let blocks = picture.blocks_in(per_mille(film.slot, DECODER_PER_MILLE));
    let mut frame = 0;
    loop {
        frame = film.in_time(frame);
        picture.transform(blocks);
        decoded.send(frame).map_err(|_| side_ended(RecvError))?;
        frame += 1;
    }
}

/// Where frames are shown.
struct Screen {
    picture: Picture,
    display: Option<Display>,
}

fn show(
    film: &Film,
    screen: Screen,
    decoded: &Receiver<u64>,
    alarms: &Receiver<()>,
    site: &Site,
) -> Endless {
    let Screen { mut picture, display } = screen;
    let blocks = picture.blocks_in(per_mille(film.slot, VIDEO_PER_MILLE));
    let mut expected = 0;
    loop {
        let frame = decoded.recv().map_err(side_ended)?;
        let due = film.due(frame);
        while film.now() < due {
            film.awaited.store(due.as_nanos(), Ordering::Release);
            alarms.recv().map_err(side_ended)?;
        }
        let is_shown = film.frames.shows(film.now() - due);
        if is_shown {
            picture.transform(blocks);
            if let Some(display) = &display {
                display.draw(per_mille(film.slot, display::PER_MILLE))?;
            }
            site.did(1, 0);
        } else if film.now() > PATIENCE {
            // A player that gets too little CPU time to show a frame is at work too.
            site.announce();
        }
        site.did_other(FRAMES_SKIPPED, frame - expected + u64::from(!is_shown));
        expected = frame + 1;
    }
}

fn side_ended(_: RecvError) -> LoadError {
    LoadError::new("a side of the player has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_decoder_gets_ahead_again() {
        let mut film = Film::begin("1000".parse().unwrap());
        assert_eq!(film.in_time(7), 7, "nothing is late yet");
        film.begun -= std::time::Duration::from_secs(5);
        let frame = film.in_time(7);
        assert!(film.due(frame) > film.due(4_900), "{frame}");
        assert_eq!(film.in_time(1_000_000), 1_000_000);
    }
}
