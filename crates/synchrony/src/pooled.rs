//! Several playbacks of one player.

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

use crate::distribution::{Distribution, median};
use crate::findings::{BlindTime, Findings, Slip};
use crate::signed::SignedNanos;
use crate::thresholds::Rating;

/// The figures of several playbacks of one player.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pooled {
    /// The playbacks.
    pub playbacks: usize,
    /// Sound − picture, of all pairs.
    pub offset: Option<Distribution>,
    /// The least and the greatest median of a playback.
    pub medians: Option<(SignedNanos, SignedNanos)>,
    /// How many offsets viewers notice.
    pub rating: Rating,
    /// The median of the drifts.
    pub drift_per_minute: Option<SignedNanos>,
    /// The worst slip of a playback.
    pub slip: Option<SignedNanos>,
    /// Over which time of the clip that slip is.
    #[serde(default)]
    pub slip_over: Option<Nanos>,
    /// What became of the frames of all playbacks; `None` if no number was read.
    pub frames: Option<FrameCounts>,
    /// How regularly frames appeared.
    pub phase: Option<Distribution>,
    /// Flashes without a tone, and tones without a flash.
    pub unpaired: u32,
    /// Flashes that were not observed.
    pub unobserved: u32,
    /// When nobody looked; `None` if the picture was not observed.
    pub blind_picture: Option<BlindTime>,
    /// When nobody listened; `None` if the sound was not observed.
    pub blind_sound: Option<BlindTime>,
}

/// The sums of [`Frames`](crate::Frames).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameCounts {
    /// The frames of the clips.
    pub intended: u32,
    /// Those that appeared.
    pub shown: u32,
    /// Those that never appeared.
    pub dropped: u32,
    /// Those that may have appeared while nobody looked.
    pub unobserved: u32,
    /// Those before the first one shown and after the last one.
    pub outside: u32,
    /// By how many periods frames remained longer than one.
    pub repeated: u32,
    /// How often a frame appeared after a later one.
    pub backward: u32,
}

impl Pooled {
    /// The figures of these playbacks.
    pub fn of(all: &[&Findings]) -> Self {
        let offsets = || all.iter().flat_map(|found| &found.pairs).map(|pair| pair.offset);
        let mut medians: Vec<SignedNanos> =
            all.iter().filter_map(|found| Some(found.offset?.median)).collect();
        medians.sort_unstable();
        let mut drifts: Vec<SignedNanos> =
            all.iter().filter_map(|found| found.drift_per_minute).collect();
        drifts.sort_unstable();
        let slips = all.iter().filter_map(|found| found.slip.as_ref().and_then(Slip::worst));
        let (slip, slip_over) = slips.max_by_key(|(slip, _)| slip.magnitude()).unzip();
        let blind = |of: fn(&Findings) -> Option<BlindTime>| {
            all.iter().filter_map(|found| of(found)).reduce(BlindTime::and)
        };
        let frames = || all.iter().filter_map(|found| found.frames.as_ref());
        Self {
            playbacks: all.len(),
            offset: Distribution::of(offsets()),
            medians: medians.first().copied().zip(medians.last().copied()),
            rating: Rating::of(offsets()),
            drift_per_minute: median(&drifts),
            slip,
            slip_over,
            frames: frames().map(FrameCounts::of).reduce(FrameCounts::and),
            phase: Distribution::of(frames().flat_map(|frames| frames.phases())),
            unpaired: all.iter().map(|found| found.unpaired.flashes + found.unpaired.tones).sum(),
            unobserved: all.iter().map(|found| found.unpaired.unobserved).sum(),
            blind_picture: blind(|found| found.blind_picture),
            blind_sound: blind(|found| found.blind_sound),
        }
    }

    /// The 99th percentile of the distances from a regular sequence of frames.
    pub fn phase_p99(&self) -> Option<Nanos> {
        self.phase.map(|phase| phase.p99)
    }
}

impl FrameCounts {
    fn of(frames: &crate::Frames) -> Self {
        let crate::Frames {
            intended, shown, dropped, unobserved, outside, repeated, backward, ..
        } = *frames;
        Self { intended, shown, dropped, unobserved, outside, repeated, backward }
    }

    fn and(self, other: Self) -> Self {
        Self {
            intended: self.intended + other.intended,
            shown: self.shown + other.shown,
            dropped: self.dropped + other.dropped,
            unobserved: self.unobserved + other.unobserved,
            outside: self.outside + other.outside,
            repeated: self.repeated + other.repeated,
            backward: self.backward + other.backward,
        }
    }
}
