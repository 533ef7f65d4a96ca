//! Video mail: pictures and sound that get their own stamps when they are taken, a WebM clip in
//! which they are in step, and a message that contains the clip and its stamps.
//!
//! ```text
//! screen, camera, pattern ──► stamps ──┐
//!                                      ├──► raw Matroska ──► encoder (ffmpeg) ──► WebM
//! microphone, tone ─────────► stamps ──┘          └──► timing.json
//! ```
//!
//! Programs that let the encoder read each device stamp frames when they arrive there, so picture
//! and sound differ by what each path takes. Here, the encoder never sees a device.
#![forbid(unsafe_code)]

pub mod encoder;
mod matroska;
pub mod message;
pub mod pictures;
pub mod record;
pub mod send;
pub mod sound;
pub mod timing;
pub mod unpack;

pub use message::{Letter, Opened};
pub use pictures::PictureSource;
pub use record::{Plan, Progress, Recorded, Recorder, record};
pub use sound::SoundSource;
pub use timing::Timing;

/// A point in time of the clock by which pictures and sound are stamped.
pub use tactus_model::time::Moment;
