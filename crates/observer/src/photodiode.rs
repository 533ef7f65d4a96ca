//! Looks at the picture on the screen of an X server, again and again.
//!
//! A look takes microseconds. Something that changed was changed after the look before it had begun,
//! and before its own look had ended; a change has both as its bounds. Looks that are too far apart
//! are blind time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};

use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::result::Shortfall;
use tactus_model::time::{Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_synchrony::observed::{Change, Moment, Picture, Span};
use tactus_synchrony::{Clip, strip};
use tactus_sys::SysError;
use tactus_sys::clock;
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_xserver::framebuffer::Framebuffer;

/// A pixel that is at least so bright is white.
const WHITE: u8 = 128;

/// Two looks that are further apart than so many periods are blind time.
const BLIND: u64 = 4;

/// The most stretches of blind time, and changes of each frame, that are kept.
const SPANS_MOST: usize = 1 << 16;
const CHANGES_PER_FRAME: usize = 4;

/// What differs between pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sight {
    number: Option<u16>,
    is_bright: bool,
}

/// Collects what was seen.
#[derive(Debug)]
struct Looks {
    period: Nanos,
    picture: Picture,
    /// What the last look saw, and when it began.
    last: Option<(Sight, Moment)>,
    changes_most: usize,
}

impl Looks {
    fn new(period: Nanos, frames: u32) -> Self {
        let changes_most = frames as usize * CHANGES_PER_FRAME + 1024;
        let picture = Picture { changes: Vec::with_capacity(changes_most), blind: Vec::new() };
        Self { period, picture, last: None, changes_most }
    }

    /// Adds a look from `began` to `ended`.
    fn add(&mut self, seen: Sight, began: Moment, ended: Moment) {
        let Some((before, since)) = self.last.replace((seen, began)) else { return };
        let Picture { changes, blind } = &mut self.picture;
        if ended - since > self.period.saturating_mul(BLIND) {
            put_blind(blind, Span { from: since, to: ended });
        }
        if before == seen {
            return;
        }
        let when = Span { from: since, to: ended };
        if changes.len() < self.changes_most {
            let Sight { number, is_bright } = seen;
            changes.push(Change { when, number, is_bright });
        } else {
            put_blind(blind, when);
        }
    }
}

/// Adds a stretch; the last one becomes longer if there are too many.
fn put_blind(blind: &mut Vec<Span>, span: Span) {
    let is_full = blind.len() >= SPANS_MOST;
    match blind.last_mut() {
        Some(last) if is_full => last.to = span.to,
        _ => blind.push(span),
    }
}

/// Where to look.
struct Eye {
    screen: Framebuffer,
    columns: [u16; strip::CELLS],
    row: u16,
    flashing: (u16, u16),
}

impl Eye {
    fn new(screen: Framebuffer, clip: &Clip) -> Self {
        let (columns, row) = clip.strip().middles();
        Self { screen, columns, row, flashing: clip.flashing_pixel() }
    }

    fn look(&self) -> Sight {
        let is_white = |column, row| self.screen.brightness(column, row) >= WHITE;
        let cells = self.columns.map(|column| is_white(column, self.row));
        let is_bright = is_white(self.flashing.0, self.flashing.1);
        Sight { number: strip::read(&cells), is_bright }
    }
}

/// A thread that looks.
#[derive(Debug)]
pub struct Photodiode {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Picture>,
    /// The policy that the thread did not get.
    pub shortfall: Option<Shortfall>,
}

impl Photodiode {
    /// Starts to look at a clip that covers the screen, once every `period`.
    ///
    /// # Errors
    /// The thread does not start.
    pub fn start(screen: Framebuffer, clip: &Clip, period: Nanos) -> io::Result<Self> {
        let eye = Eye::new(screen, clip);
        let looks = Looks::new(period, clip.frames());
        let is_over = Arc::<AtomicBool>::default();
        let ends = Arc::clone(&is_over);
        let (send, prepared) = sync_channel(1);
        let thread = Builder::new().name("photodiode".to_owned()).spawn(move || {
            let _ = send.send(prepare());
            watch(&eye, looks, &ends)
        })?;
        let prepared = prepared.recv().unwrap_or(Ok(None));
        let shortfall = prepared.map_err(|error| io::Error::from(error.errno))?;
        Ok(Self { is_over, thread, shortfall })
    }

    /// Ends, and returns what was seen.
    pub fn finish(self) -> Picture {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Above players and their sound servers: a look takes microseconds.
const POLICY: Scheduling = match RealtimePriority::new(80) {
    Some(priority) => Scheduling::Fifo(priority),
    None => Scheduling::ORDINARY,
};

fn prepare() -> Result<Option<Shortfall>, SysError> {
    let refused = ThreadRef::Calling.schedule(POLICY)?;
    Ok(refused.map(|refused| refused.explain_here()))
}

fn watch(eye: &Eye, mut looks: Looks, ends: &AtomicBool) -> Picture {
    let mut due: Moment = clock::now::<Monotonic>();
    while !ends.load(Ordering::Relaxed) {
        let began = clock::now::<Monotonic>();
        let seen = eye.look();
        let ended = clock::now::<Monotonic>();
        looks.add(seen, began, ended);
        // After a gap, looks do not hurry to catch up.
        due = (due + looks.period).max(ended);
        if Nanosleep.sleep_until(due).is_err() {
            break;
        }
    }
    looks.picture
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Nanos = Nanos::from_micros(250);

    fn at(micros: u64) -> Moment {
        Moment::from_nanos(1_000_000_000 + micros * 1000)
    }

    fn look(looks: &mut Looks, micros: u64, number: Option<u16>, is_bright: bool) {
        looks.add(Sight { number, is_bright }, at(micros), at(micros + 5));
    }

    #[test]
    fn a_change_lies_between_the_looks_before_and_after_it() {
        let mut looks = Looks::new(PERIOD, 10);
        look(&mut looks, 0, None, false);
        look(&mut looks, 250, Some(0), false);
        look(&mut looks, 500, Some(0), false);
        look(&mut looks, 750, Some(1), true);
        let change = |from, to, number, is_bright| Change {
            when: Span { from: at(from), to: at(to) },
            number: Some(number),
            is_bright,
        };
        assert_eq!(looks.picture.changes, [change(0, 255, 0, false), change(500, 755, 1, true)]);
        assert_eq!(looks.picture.blind, []);
    }

    #[test]
    fn looks_that_are_far_apart_are_blind_time() {
        let mut looks = Looks::new(PERIOD, 10);
        look(&mut looks, 0, Some(3), false);
        look(&mut looks, 990, Some(3), false);
        look(&mut looks, 9000, Some(4), false);
        assert_eq!(looks.picture.blind, [Span { from: at(990), to: at(9005) }]);
        assert_eq!(looks.picture.changes.len(), 1);
    }

    #[test]
    fn a_flickering_screen_has_a_limit() {
        let mut looks = Looks::new(PERIOD, 0);
        for number in 0..3000 {
            look(&mut looks, 250 * u64::from(number), Some(number), false);
        }
        assert_eq!(looks.picture.changes.len(), 1024);
        assert_eq!(looks.picture.blind.len(), 2999 - 1024);
    }
}
