//! Playing a clip, without clocks, windows and sound: the present instant is an argument.
//!
//! | module | content |
//! |---|---|
//! | [`media`] | times within a clip, and speeds |
//! | [`clock`] | which part of the clip is due at an instant, and the reverse |
//! | [`sound_clock`] | the same by the positions of a sound device, which then drives the clock |
//! | [`frames`] | which frame is shown next, and which are dropped |
//! | [`tally`] | what became of frames: late, dropped, repeated, slip against wall time |
#![forbid(unsafe_code)]

pub mod clock;
pub mod frames;
pub mod media;
pub mod sound_clock;
pub mod tally;

pub use clock::Clock;
pub use frames::{Choice, IfLate, choose};
pub use media::{MediaTime, Speed};
pub use sound_clock::SoundClock;
pub use tally::{Shown, Summary, Tally};

#[cfg(test)]
mod simulation;
