//! Performances of the examples, in virtual time and live.

#[path = "../../examples/conduct/piece.rs"]
mod conduct;
mod live;
mod rehearsed;
#[path = "../../examples/sequencer/piece.rs"]
mod sequencer;
#[path = "../../examples/trial/piece.rs"]
mod trial;
