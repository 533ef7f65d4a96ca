//! Frames that were shown, dropped and repeated.

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

use crate::clip::Clip;
use crate::distribution::median;
use crate::findings::UNCERTAIN;
use crate::observed::{Change, Moment, Picture, Span};
use crate::signed::SignedNanos;

/// A frame that appeared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownFrame {
    /// Its number in the clip, from 0.
    pub number: u16,
    /// When it appeared, since the player was started: within half of `uncertainty` of this.
    pub at: Nanos,
    /// The time between the two looks before and after it appeared.
    pub uncertainty: Nanos,
    /// How much later it appeared than in a regular sequence of frames through all frames.
    pub phase: SignedNanos,
}

/// What became of the frames of a clip: intended = shown + dropped + unobserved + outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// The frames of the clip.
    pub intended: u32,
    /// Different frames that appeared.
    pub shown: u32,
    /// Frames between the first and the last one shown that never appeared.
    pub dropped: u32,
    /// Frames that may have appeared while nobody looked.
    pub unobserved: u32,
    /// Frames before the first one shown and after the last one.
    pub outside: u32,
    /// By how many periods frames remained longer than one.
    pub repeated: u32,
    /// How often a frame appeared after a later one.
    pub backward: u32,
    /// How often the number of a frame could not be read between two frames.
    pub unreadable: u32,
    /// Every appearance of a frame, in order.
    pub appeared: Vec<ShownFrame>,
}

impl Frames {
    /// The frames that appeared in a picture; `None` if no number was read.
    pub fn of(clip: &Clip, picture: &Picture, origin: Moment) -> Option<Self> {
        let numbered = appearances(&picture.changes);
        let (first, last) = (numbered.first()?, numbered.last()?);
        let period = clip.period().as_nanos().max(1);
        let mut frames = Self { intended: clip.frames(), ..Self::default() };
        let mut seen = vec![false; clip.frames() as usize];
        for (number, _) in &numbered {
            if let Some(seen) = seen.get_mut(usize::from(*number)) {
                frames.shown += u32::from(!*seen);
                *seen = true;
            }
        }
        for pair in numbered.windows(2) {
            let ((number, when), (next, then)) = (pair[0], pair[1]);
            // Surely: what happened while nobody looked is unknown.
            let remained = then.from - when.to;
            let periods = (remained.as_nanos() + period / 2) / period;
            frames.repeated += u32::try_from(periods.saturating_sub(1)).unwrap_or(u32::MAX);
            frames.backward += u32::from(next < number);
            let hidden = then.length().as_nanos() / period;
            let between = usize::from(number) + 1..usize::from(next);
            let missing = seen.get(between).unwrap_or_default();
            let missing = missing.iter().filter(|seen| !**seen).count() as u64;
            frames.unobserved += missing.min(hidden) as u32;
        }
        let is_shown = |place: &bool| *place;
        let before = seen.iter().position(is_shown).unwrap_or(0);
        let after = seen.iter().rev().position(is_shown).unwrap_or(0);
        frames.outside = (before + after) as u32;
        let accounted = frames.shown + frames.unobserved + frames.outside;
        frames.dropped = frames.intended.saturating_sub(accounted);
        frames.unreadable = unreadable(&picture.changes, first.1.from, last.1.from);
        frames.appeared = with_phases(clip, &numbered, origin);
        Some(frames)
    }

    /// The phases of all frames, but of those that appeared while nobody looked.
    pub fn phases(&self) -> impl Iterator<Item = SignedNanos> + '_ {
        self.appeared.iter().filter(|frame| frame.uncertainty <= UNCERTAIN).map(|frame| frame.phase)
    }
}

/// The number of each frame that appeared after another one, and when.
fn appearances(changes: &[Change]) -> Vec<(u16, Span)> {
    let mut numbered: Vec<(u16, Span)> = Vec::new();
    let found = changes.iter().filter_map(|change| Some((change.number?, change.when)));
    for (number, when) in found {
        if numbered.last().is_none_or(|(last, _)| *last != number) {
            numbered.push((number, when));
        }
    }
    numbered
}

fn unreadable(changes: &[Change], from: Moment, to: Moment) -> u32 {
    let within = |change: &&Change| change.when.from >= from && change.when.to <= to;
    changes.iter().filter(within).filter(|change| change.number.is_none()).count() as u32
}

fn with_phases(clip: &Clip, numbered: &[(u16, Span)], origin: Moment) -> Vec<ShownFrame> {
    let lag = |(number, when): &(u16, Span)| {
        let at = SignedNanos::between(when.middle(), origin);
        at - SignedNanos::from(clip.time_of(*number))
    };
    let mut lags: Vec<SignedNanos> = numbered.iter().map(lag).collect();
    lags.sort_unstable();
    let usual = median(&lags).unwrap_or_default();
    let shown = |appeared: &(u16, Span)| ShownFrame {
        number: appeared.0,
        at: appeared.1.middle() - origin,
        uncertainty: appeared.1.length(),
        phase: lag(appeared) - usual,
    };
    numbered.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIP: Clip =
        Clip { width: 320, height: 180, rate: 25, seconds: 4, shift: SignedNanos::ZERO };
    const ORIGIN: Moment = Moment::from_nanos(7_000_000_000);

    /// Frames that appear at these times in ms.
    fn picture(frames: &[(u16, u64)]) -> Picture {
        let change = |(number, millis): &(u16, u64)| {
            let at = ORIGIN + Nanos::from_millis(*millis);
            let when = Span { from: at, to: at + Nanos::from_micros(200) };
            Change { when, number: Some(*number), is_bright: false }
        };
        Picture { changes: frames.iter().map(change).collect(), blind: Vec::new() }
    }

    fn all() -> Vec<(u16, u64)> {
        (0..100).map(|number| (number, 500 + 40 * u64::from(number))).collect()
    }

    #[test]
    fn a_regular_playback_shows_every_frame_once() {
        let frames = Frames::of(&CLIP, &picture(&all()), ORIGIN).unwrap();
        let expected = Frames { intended: 100, shown: 100, ..Frames::default() };
        assert_eq!(Frames { appeared: Vec::new(), ..frames.clone() }, expected);
        assert!(frames.phases().all(|phase| phase == SignedNanos::ZERO));
        assert_eq!(frames.appeared[3].at, Nanos::from_micros(620_100));
    }

    #[test]
    fn a_dropped_frame_lets_another_one_remain() {
        let mut shown = all();
        shown.remove(50);
        let frames = Frames::of(&CLIP, &picture(&shown), ORIGIN).unwrap();
        assert_eq!((frames.shown, frames.dropped, frames.repeated), (99, 1, 1));
    }

    #[test]
    fn a_late_start_and_an_early_end_drop_nothing() {
        let frames = Frames::of(&CLIP, &picture(&all()[4..97]), ORIGIN).unwrap();
        assert_eq!((frames.shown, frames.dropped, frames.outside), (93, 0, 7));
    }

    #[test]
    fn frames_that_a_blind_look_hides_are_not_dropped() {
        let mut picture = picture(&all());
        picture.changes.drain(40..42);
        picture.changes[40].when.from = picture.changes[39].when.to;
        let frames = Frames::of(&CLIP, &picture, ORIGIN).unwrap();
        assert_eq!((frames.dropped, frames.unobserved, frames.repeated), (0, 2, 0));
        assert_eq!(frames.phases().count(), 97, "the one after the gap may have come earlier");
    }

    #[test]
    fn a_slow_playback_repeats_without_drops() {
        let slow: Vec<(u16, u64)> =
            all().into_iter().map(|(number, millis)| (number, 2 * millis)).collect();
        let frames = Frames::of(&CLIP, &picture(&slow), ORIGIN).unwrap();
        assert_eq!((frames.dropped, frames.repeated), (0, 99));
    }

    #[test]
    fn steps_back_and_unreadable_numbers_are_counted() {
        let mut shown = all();
        shown.insert(60, (58, 500 + 40 * 60 - 20));
        let mut picture = picture(&shown);
        let when = picture.changes[10].when;
        let later = |at: Moment| at + Nanos::from_millis(1);
        let when = Span { from: later(when.from), to: later(when.to) };
        picture.changes.insert(11, Change { when, number: None, is_bright: false });
        let frames = Frames::of(&CLIP, &picture, ORIGIN).unwrap();
        assert_eq!((frames.shown, frames.backward, frames.unreadable), (100, 1, 1));
    }

    #[test]
    fn without_numbers_there_are_no_frames() {
        assert_eq!(Frames::of(&CLIP, &Picture::default(), ORIGIN), None);
    }
}
