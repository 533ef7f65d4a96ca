//! The player: clips in windows, with sound, on one clock.
//!
//! ```text
//! decoder ──► reader ──► picture thread ──► display ──► receipt        (for each clip)
//! decoder ──► reader ──► sound thread ──► sound server or device       (of the first clip with sound)
//!                             │ drives
//!                             ▼
//!                           clock ◄── control: start, pause, seek, speed ◄── keys
//! ```
//!
//! All clips share one clock, so they are in step. The sound device drives it; without sound, wall
//! time does. A frame is shown when its time comes, and each has a receipt: when it was due, when it
//! was seen, and how that is known. What decides is `tactus-playback`.
//!
//! | module | content |
//! |---|---|
//! | [`command`] | what people ask of a player |
//! | [`spec`] | what is played, and how |
//! | [`control`] | starting, commands, the end: the thread that calls [`play`] |
//! | [`event`] | what a player reports |
//! | [`surface`] | where frames are shown: windows, and devices of the delivery server |
#![forbid(unsafe_code)]

pub mod command;
pub mod control;
mod error;
pub mod event;
mod opening;
mod picture;
mod reader;
mod shared;
mod sound;
pub mod spec;
pub mod surface;

pub use command::Command;
pub use control::{Remote, play};
pub use error::PlayerError;
pub use event::{
    Event, FrameOutcome, FrameReceipt, Note, Preparation, Progress, SoundInfo, Way, WindowInfo,
};
pub use picture::Pace;
pub use spec::{Spec, Track};
pub use surface::Output;
pub use tactus_xserver::window::Transport;
