//! Sound devices of the kernel, without a sound server.
//!
//! The device plays on when nobody writes, and never stops counting. So a frame that comes too late
//! is silence, and what follows it keeps its position.

mod encode;
pub mod name;
pub mod parameters;
mod player;
pub mod position;

pub use name::Hardware;
pub(crate) use player::{Playback, Player};
