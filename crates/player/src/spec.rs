//! What is played, and how.

use tactus_clip::Clip;
use tactus_model::time::Nanos;
use tactus_playback::{IfLate, MediaTime, Speed};
use tactus_sound::Destination;

use crate::picture::Pace;
use crate::surface::Output;

/// A clip and where it is shown.
#[derive(Clone, Debug)]
pub struct Track {
    /// The clip.
    pub clip: Clip,
    /// Where its picture is shown.
    pub output: Output,
}

/// What is played, and how.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The clips, in step.
    pub tracks: Vec<Track>,
    /// Where they begin.
    pub from: MediaTime,
    /// How much of them is played; `None` for all.
    pub length: Option<Nanos>,
    /// How fast.
    pub speed: Speed,
    /// What happens to late frames.
    pub if_late: IfLate,
    /// Who gets the sound; `None` for no sound.
    pub sound: Option<Destination>,
    /// How the threads that show frames run.
    pub pace: Pace,
}

impl Spec {
    /// Where playing ends, if not at the end of the clips.
    pub(crate) fn until(&self) -> Option<MediaTime> {
        self.length.map(|length| self.from.after(length))
    }
}
