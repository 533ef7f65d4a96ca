//! Synchronisation of sound and picture, judged from outside a player.
//!
//! A clip of flashes and tones is played, its picture and its sound are observed, and what was seen
//! and heard is compared with the clip.
//!
//! | module | content |
//! |---|---|
//! | [`clip`] | the clip: its frames and its samples |
//! | [`strip`] | the number of a frame, drawn into its picture |
//! | [`tone`] | the beginnings of tones in samples |
//! | [`observed`] | what was seen and heard |
//! | [`findings`] | offset, drift and slip of one playback |
//! | [`frames`] | frames that were shown, dropped and repeated |
//! | [`pooled`] | several playbacks of one player |
//! | [`conditions`] | what the machine did meanwhile: load, steal, CPU time of the player |
//! | [`judgement`] | several players in turns |
//! | [`thresholds`] | what viewers notice, by ITU-R BT.1359 |
//! | [`wave`] | a recording of a real room: microphone and photodiode |
//!
//! # Signs
//!
//! An offset is *sound − picture*: the time of a tone less the time of its flash. It is positive if
//! the sound comes after the picture. ITU-R BT.1359 counts the other way; [`thresholds`] converts.
#![forbid(unsafe_code)]

pub mod clip;
pub mod conditions;
pub mod distribution;
pub mod findings;
pub mod frames;
pub mod judgement;
pub mod observed;
pub mod pooled;
pub mod signed;
pub mod strip;
pub mod thresholds;
pub mod tone;
pub mod wave;

pub use clip::{BadClip, Clip};
pub use conditions::Conditions;
pub use distribution::Distribution;
pub use findings::{Findings, Pair};
pub use frames::{Frames, ShownFrame};
pub use judgement::Judgement;
pub use observed::{Change, Moment, Observed, Picture, Sound, Span};
pub use pooled::Pooled;
pub use signed::SignedNanos;
