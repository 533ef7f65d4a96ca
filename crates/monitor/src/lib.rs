//! The timing monitor: shows a cell to a person while it is measured.
//!
//! [`Monitor`] is a value: [messages](Message) change it, and it draws itself into the cells
//! of a terminal. Samples, keys and ticks of time all come from outside, and a key may result
//! in a [request](Request) to the caller. [`LiveFigures`] computes the figures of the same
//! samples for output as lines.
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
pub use message::{Key, Message, Request, WatchEvent};
pub use plain::{plain_cause, plain_header, plain_line, plain_total};
pub use scale::Scale;
pub use state::Monitor;
pub use view::{LEAST_HEIGHT, LEAST_WIDTH, Palette};
