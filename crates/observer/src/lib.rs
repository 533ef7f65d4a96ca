//! Observes what players show and play, from outside of them.
//!
//! ```text
//!  clip ──► player ──► X server ──► its memory ──► photodiode ──┐
//!                 └──► sound server ──► monitor ──► microphone ─┴──► findings
//! ```
//!
//! Each turn runs in a fresh process ([`observer_main`]) with an X server and a sound server of its
//! own, so the player finds nothing of the user's, and nothing is left when the turn ends.
//!
//! | module | content |
//! |---|---|
//! | [`maker`] | makes the clip, by ffmpeg |
//! | [`player`] | players as commands |
//! | [`photodiode`] | looks at the picture |
//! | [`microphone`] | listens to the sound |
//! | [`turn`] | one playback, observed |
//! | [`judging`] | all turns of a plan |
#![forbid(unsafe_code)]

pub mod judging;
pub mod maker;
pub mod microphone;
mod monitor;
pub mod photodiode;
pub mod player;
pub mod turn;

pub use judging::{Event, Interrupted, judge};
pub use maker::{MakeError, make};
pub use player::{NotAPlayer, PLACE, Player, PlayerName};
pub use turn::observer_main;
