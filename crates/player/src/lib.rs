//! The player: clips in windows on X11 displays, with sound, on one clock.
//!
//! ```text
//! decoder ──► reader ──► picture thread ──► X server ──► receipt       (for each clip)
//! decoder ──► reader ──► sound thread ──► sound server                 (of the first clip with sound)
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
//! | [`control`] | starting, keys, the end: the thread that calls [`play`] |
//! | [`event`] | what a player reports |
//! | [`window`] | a window and the ways of a frame to it |
#![forbid(unsafe_code)]

pub mod control;
mod error;
pub mod event;
mod picture;
mod reader;
mod shared;
mod sound;
pub mod window;

pub use control::{Command, Pace, Remote, Spec, Track, play};
pub use error::PlayerError;
pub use event::{
    Event, FrameOutcome, FrameReceipt, Note, Preparation, Progress, SoundInfo, WindowInfo,
};
pub use window::Transport;
