//! Clients of [JACK](https://jackaudio.org/api/), and of PipeWire, which serves the same interface.
//!
//! The library is loaded when it is needed, so neither building nor starting a program needs it.
//! Crate `jack` loads it too, but does not build without its header files.

mod client;
mod cycle;
mod library;

pub use client::{Active, Client, Direction, OpenError, Process};
pub use cycle::{AudioInput, AudioOutput, Cycle, CycleTimes, MidiInput, MidiOutput, MidiWriter};

#[cfg(test)]
mod tests;
