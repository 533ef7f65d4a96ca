//! Offset, drift and slip of one playback.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

use crate::clip::{Clip, MARK, PITCHES};
use crate::distribution::{Distribution, median};
use crate::frames::Frames;
use crate::observed::{Change, Moment, Observed, Span, Tone};
use crate::signed::SignedNanos;
use crate::thresholds::Rating;

/// A flash whose beginning is uncertain by more than this is not paired, nor is a frame's phase known.
pub(crate) const UNCERTAIN: Nanos = Nanos::from_millis(4);

/// A flash with the tone that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The mark in the clip; `None` if the number of the frame cannot be read.
    pub mark: Option<u16>,
    /// When the flash began, since the player was started: within half of `uncertainty` of this.
    pub at: Nanos,
    /// Sound − picture.
    pub offset: SignedNanos,
    /// The time between the two looks before and after the flash began.
    pub uncertainty: Nanos,
}

/// How far a playback fell behind wall time: positive if it is late. The median lag of the last marks
/// less that of the first ones, so one late flash is no slip. It is not scaled to the time between the
/// first mark and the last one: a player that stops once slips by that stop, however long the clip is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slip {
    /// Of the picture.
    pub picture: Option<SignedNanos>,
    /// Over which time of the clip that is: between the medians of its first and of its last marks.
    pub picture_over: Option<Nanos>,
    /// Of the sound.
    pub sound: Option<SignedNanos>,
    /// Over which time of the clip that is: between the medians of its first and of its last marks.
    pub sound_over: Option<Nanos>,
}

impl Slip {
    /// The one further from zero, and over which time of the clip.
    pub fn worst(&self) -> Option<(SignedNanos, Nanos)> {
        let (picture, sound) =
            (self.picture.zip(self.picture_over), self.sound.zip(self.sound_over));
        picture.into_iter().chain(sound).max_by_key(|(slip, _)| slip.magnitude())
    }
}

/// Flashes and tones without the other one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpaired {
    /// Flashes without a tone.
    pub flashes: u32,
    /// Tones without a flash.
    pub tones: u32,
    /// Flashes that are uncertain, and those whose tone may have come while nobody listened.
    pub unobserved: u32,
}

/// Time in which nobody looked or listened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindTime {
    /// How often.
    pub count: usize,
    /// Altogether.
    pub total: Nanos,
    /// The longest.
    pub worst: Nanos,
}

impl BlindTime {
    /// Of these stretches.
    pub fn of(spans: &[Span]) -> Self {
        let lengths = || spans.iter().map(Span::length);
        let worst = lengths().max().unwrap_or(Nanos::ZERO);
        Self { count: spans.len(), total: lengths().sum(), worst }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            total: self.total + other.total,
            worst: self.worst.max(other.worst),
        }
    }
}

/// What was found about one playback.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// The flashes with their tones.
    pub pairs: Vec<Pair>,
    /// Sound − picture.
    pub offset: Option<Distribution>,
    /// How many offsets viewers notice.
    pub rating: Rating,
    /// By how much sound − picture grows in a minute.
    pub drift_per_minute: Option<SignedNanos>,
    /// How far the playback fell behind wall time. Marks of the sound are those of their flashes, or
    /// without any that is known, those of their pitches.
    pub slip: Option<Slip>,
    /// What became of the frames; `None` if no number was read.
    pub frames: Option<Frames>,
    /// What has no counterpart.
    pub unpaired: Unpaired,
    /// When nobody looked; `None` if the picture was not observed.
    pub blind_picture: Option<BlindTime>,
    /// When nobody listened; `None` if the sound was not observed.
    pub blind_sound: Option<BlindTime>,
}

/// The beginning of a flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flash {
    pub(crate) mark: Option<u16>,
    pub(crate) when: Span,
}

impl Findings {
    /// Compares what was observed with the clip.
    pub fn of(clip: &Clip, observed: &Observed) -> Self {
        let changes = observed.picture.as_ref().map(|picture| &picture.changes[..]);
        let flashes = flashes(clip, changes.unwrap_or_default());
        let tones = observed.sound.as_ref().map(|sound| &sound.tones[..]).unwrap_or_default();
        let deaf = observed.sound.as_ref().map(|sound| &sound.blind[..]).unwrap_or_default();
        let frames = observed.picture.as_ref();
        Self {
            frames: frames.and_then(|picture| Frames::of(clip, picture, observed.origin)),
            blind_picture: frames.map(|picture| BlindTime::of(&picture.blind)),
            blind_sound: observed.sound.as_ref().map(|sound| BlindTime::of(&sound.blind)),
            ..Self::of_marks(&flashes, tones, deaf, observed.origin)
        }
    }

    /// Pairs flashes with tones.
    pub(crate) fn of_marks(
        flashes: &[Flash],
        tones: &[Tone],
        deaf: &[Span],
        origin: Moment,
    ) -> Self {
        let marks = marks(tones);
        // By their own pitches, if no flash says which mark it is.
        let own: Vec<_> = marks.iter().copied().zip(tones.iter().map(|tone| tone.at)).collect();
        let mut unused = Heard::of(tones, marks);
        let mut found = Self::default();
        let mut sounds = Vec::new();
        for flash in flashes {
            let at = flash.when.middle();
            if flash.when.length() > UNCERTAIN {
                found.unpaired.unobserved += 1;
                continue;
            }
            let Some(place) = unused.take(flash) else {
                let is_deaf = deaf.iter().any(|span| span.is_near(at, MARK));
                found.unpaired.flashes += u32::from(!is_deaf);
                found.unpaired.unobserved += u32::from(is_deaf);
                continue;
            };
            let offset = SignedNanos::between(tones[place].at, at);
            sounds.push((flash.mark, tones[place].at));
            let uncertainty = flash.when.length();
            found.pairs.push(Pair { mark: flash.mark, at: at - origin, offset, uncertainty });
        }
        found.unpaired.tones = unused.len() as u32;
        let offsets = || found.pairs.iter().map(|pair| pair.offset);
        found.offset = Distribution::of(offsets());
        found.rating = Rating::of(offsets());
        found.drift_per_minute = drift(&found.pairs);
        let seen: Vec<_> = flashes.iter().map(|flash| (flash.mark, flash.when.middle())).collect();
        let is_numbered = sounds.iter().any(|(mark, _)| mark.is_some());
        found.slip = slip(&seen, if is_numbered { &sounds } else { &own });
        found
    }
}

/// The beginnings of flashes.
fn flashes(clip: &Clip, changes: &[Change]) -> Vec<Flash> {
    let mut was_bright = false;
    let mut found = Vec::new();
    for change in changes {
        if change.is_bright && !was_bright {
            let mark = change.number.and_then(|number| clip.mark_of(number));
            found.push(Flash { mark, when: change.when });
        }
        was_bright = change.is_bright;
    }
    found
}

/// The mark of each tone. The first one belongs to one of the first marks. Each further one is the mark of its
/// pitch that is nearest to where a player in time would be since then, however far sound and picture
/// are apart.
fn marks(tones: &[Tone]) -> Vec<Option<u16>> {
    let mut last: Option<(u16, Moment)> = None;
    let mark = |tone: &Tone| {
        let pitch = u64::from(tone.pitch?);
        let turn = u64::from(PITCHES);
        let mark = last.map_or(pitch, |(mark, at)| {
            let elapsed = tone.at - at + Nanos::from_nanos(MARK.as_nanos() / 2);
            // The nearest number of whole turns of all pitches, from the mark of this pitch on.
            let expected = u64::from(mark) + elapsed.div_floor(MARK);
            (expected + turn / 2).saturating_sub(pitch) / turn * turn + pitch
        });
        let mark = u16::try_from(mark).ok()?;
        last = Some((mark, tone.at));
        Some(mark)
    };
    tones.iter().map(mark).collect()
}

/// The place of a tone, by its time.
type Place = (Moment, usize);

/// The tones that belong to no flash yet.
struct Heard {
    marks: Vec<Option<u16>>,
    all: BTreeSet<Place>,
    /// Those whose mark is unknown.
    unknown: BTreeSet<Place>,
    /// Those of each mark.
    of_mark: BTreeMap<u16, BTreeSet<Place>>,
}

impl Heard {
    /// Tones with the mark of each.
    fn of(tones: &[Tone], marks: Vec<Option<u16>>) -> Self {
        let mut heard = Self {
            marks,
            all: tones.iter().enumerate().map(|(place, tone)| (tone.at, place)).collect(),
            unknown: BTreeSet::new(),
            of_mark: BTreeMap::new(),
        };
        for (place, (tone, mark)) in tones.iter().zip(&heard.marks).enumerate() {
            let same = match mark {
                Some(mark) => heard.of_mark.entry(*mark).or_default(),
                None => &mut heard.unknown,
            };
            same.insert((tone.at, place));
        }
        heard
    }

    fn len(&self) -> usize {
        self.all.len()
    }

    /// Takes the tone that belongs to a flash: that of its mark, or the nearest one if either mark is
    /// unknown.
    fn take(&mut self, flash: &Flash) -> Option<usize> {
        let at = flash.when.middle();
        let is_near = |(time, _): &Place| {
            SignedNanos::between(*time, at).magnitude() < Nanos::from_nanos(MARK.as_nanos() / 2)
        };
        let found = match flash.mark {
            Some(mark) => {
                let same = self.of_mark.get(&mark).and_then(|same| nearest(same, at));
                let near = nearest(&self.unknown, at).filter(is_near);
                nearer(same, near, at)
            }
            None => nearest(&self.all, at).filter(is_near),
        };
        let (time, place) = found?;
        self.all.remove(&(time, place));
        match self.marks[place] {
            Some(mark) => self.of_mark.get_mut(&mark).map(|same| same.remove(&(time, place))),
            None => Some(self.unknown.remove(&(time, place))),
        };
        Some(place)
    }
}

/// The tone that is nearest to a time, the earlier one of two.
fn nearest(tones: &BTreeSet<Place>, at: Moment) -> Option<Place> {
    let before = tones.range(..(at, 0)).next_back().copied();
    let after = tones.range((at, 0)..).next().copied();
    nearer(before, after, at)
}

/// The one that is nearer to a time; the first if both are as near.
fn nearer(one: Option<Place>, other: Option<Place>, at: Moment) -> Option<Place> {
    let distance = |(time, _): &Place| SignedNanos::between(*time, at).magnitude();
    one.into_iter().chain(other).min_by_key(distance)
}

/// Fewer pairs support no slope: those of the start of a player would decide it.
const DRIFT_PAIRS_LEAST: usize = 8;

/// The most pairs whose slopes are computed, since their number grows with the square. More pairs, which a
/// clip of 17 minutes has, are thinned out evenly.
const DRIFT_PAIRS_MOST: usize = 1000;

/// The slope of the offsets: the median of the slopes of all two, which a few outliers do not move. Of more
/// than [`DRIFT_PAIRS_MOST`] pairs, every second one counts, or every third, and so on.
///
/// Sen, [Estimates of the regression coefficient based on Kendall's
/// tau](https://doi.org/10.1080/01621459.1968.10480934), 1968.
fn drift(pairs: &[Pair]) -> Option<SignedNanos> {
    const MINUTE: f64 = 60.0;
    if pairs.len() < DRIFT_PAIRS_LEAST {
        return None;
    }
    let step = pairs.len().div_ceil(DRIFT_PAIRS_MOST);
    let pairs: Vec<&Pair> = pairs.iter().step_by(step).collect();
    let slope = |(from, to): (&Pair, &Pair)| {
        let seconds = to.at.as_secs_f64() - from.at.as_secs_f64();
        (seconds > 0.0).then(|| (to.offset.as_f64() - from.offset.as_f64()) / seconds)
    };
    let both = pairs
        .iter()
        .enumerate()
        .flat_map(|(place, from)| pairs[place + 1..].iter().map(move |to| (*from, *to)));
    let slopes = both.filter_map(slope).map(|slope| SignedNanos::rounded(slope * MINUTE));
    let mut slopes: Vec<SignedNanos> = slopes.collect();
    slopes.sort_unstable();
    median(&slopes)
}

/// The most marks at each end whose median lag counts.
const SLIP_MARKS_MOST: usize = 5;

/// How much longer the time from the first marks to the last ones was than in the clip.
fn slip(seen: &[(Option<u16>, Moment)], heard: &[(Option<u16>, Moment)]) -> Option<Slip> {
    let ((picture, picture_over), (sound, sound_over)) =
        (slip_of(seen).unzip(), slip_of(heard).unzip());
    let slip = Slip { picture, picture_over, sound, sound_over };
    slip.worst().map(|_| slip)
}

/// The slip of one of both, and over which time of the clip.
fn slip_of(marks: &[(Option<u16>, Moment)]) -> Option<(SignedNanos, Nanos)> {
    let first = marks.first()?.1;
    let known = marks.iter().filter_map(|(mark, at)| Some((Clip::mark_time((*mark)?), *at)));
    let lags: Vec<(Nanos, SignedNanos)> = known
        .map(|(time, at)| (time, SignedNanos::between(at, first) - SignedNanos::from(time)))
        .collect();
    let ends = (lags.len() / 3).clamp(1, SLIP_MARKS_MOST);
    let (begin, end) = (lags.get(..ends)?, lags.get(lags.len() - ends..)?);
    // Of an even number, the mean of both in the middle: of times as of lags.
    let usual = |values: &mut dyn Iterator<Item = SignedNanos>| {
        let mut values: Vec<SignedNanos> = values.collect();
        values.sort_unstable();
        median(&values)
    };
    let time = |marks: &[(Nanos, SignedNanos)]| {
        usual(&mut marks.iter().map(|(time, _)| SignedNanos::from(*time)))
    };
    let lag = |marks: &[(Nanos, SignedNanos)]| usual(&mut marks.iter().map(|(_, lag)| *lag));
    let over = time(end)? - time(begin)?;
    let slip = lag(end)? - lag(begin)?;
    (over > SignedNanos::ZERO).then(|| (slip, over.magnitude()))
}
