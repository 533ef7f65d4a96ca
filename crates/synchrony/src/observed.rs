//! What was seen and heard during a playback.

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

/// An instant of an observation.
pub use tactus_model::time::Moment;

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its beginning.
    pub from: Moment,
    /// Its end.
    pub to: Moment,
}

impl Span {
    /// How long it is.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// Its middle.
    pub fn middle(&self) -> Moment {
        self.from + Nanos::from_nanos(self.length().as_nanos() / 2)
    }

    /// Whether it has an instant within `reach` of `at`.
    pub fn is_near(&self, at: Moment, reach: Nanos) -> bool {
        self.from <= at + reach && at <= self.to + reach
    }
}

/// The picture has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When: after the look that still saw the old picture had begun, and before the look that saw
    /// this one had ended.
    pub when: Span,
    /// The number of the frame; `None` if it cannot be read.
    pub number: Option<u16>,
    /// Whether the picture flashes.
    pub is_bright: bool,
}

/// What a photodiode saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The changes of the picture, in order.
    pub changes: Vec<Change>,
    /// When it did not look.
    pub blind: Vec<Span>,
}

/// A tone began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tone {
    /// When its first sample was heard.
    pub at: Moment,
    /// The number of its pitch, below [`PITCHES`](crate::clip::PITCHES); `None` if it is unclear.
    pub pitch: Option<u8>,
}

/// What a microphone heard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sound {
    /// The tones, in order.
    pub tones: Vec<Tone>,
    /// When it did not listen.
    pub blind: Vec<Span>,
}

/// What was seen and heard of one playback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// When the player was started.
    pub origin: Moment,
    /// The picture; `None` if nothing was observed.
    pub picture: Option<Picture>,
    /// The sound; `None` if nothing was observed.
    pub sound: Option<Sound>,
}
