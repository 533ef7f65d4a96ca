//! The timing monitor: what a cell does while it is measured, as a person looks at it.
//!
//! [`Monitor`] is a value that [messages](Message) change and that is drawn into places of
//! a terminal: samples, keys and the passing of time all come from outside, and what is
//! to be done about a key is [asked for](Request). [`LiveFigures`] are the figures of
//! the same samples for those who write lines.
#![forbid(unsafe_code)]

mod choices;
mod figures;
mod message;
mod plain;
mod scale;
mod state;
mod sweep;
mod view;

#[cfg(test)]
mod tests;

pub use figures::{LatencyFigures, LiveFigures, StretchFigures, Worst};
pub use message::{CauseNews, Key, Message, Request};
pub use plain::{plain_cause, plain_header, plain_line, plain_total};
pub use scale::Scale;
pub use state::Monitor;
pub use view::{LEAST_HEIGHT, LEAST_WIDTH, Palette};
