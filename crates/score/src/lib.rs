//! A toolkit for programs in logical time: tempo maps, tasks that await logical time, cuts.
//!
//! The toolkit of the Mach multimedia testbed (Dannenberg et al., CMU-CS-93-205, 1993, section 7)
//! and of *Tactus* (Dannenberg, Neuendorffer, Newcomer, Rubine and Anderson, *Tactus: toolkit-level
//! support for synchronized interactive multimedia*, Multimedia Systems 1, 1993): active objects ask
//! to run at a time, run earlier, and what they write carries the time that they asked for.
//!
//! | module | content |
//! |---|---|
//! | [`beat`](mod@beat), [`time`] | positions in a piece, logical time |
//! | [`tempo`], [`timeline`] | from beats to times and back; tempo maps that tasks share |
//! | [`score`], [`task`] | programs, and what their tasks do |
//! | [`draft`] | what programs write |
//! | [`perform`] | running a score ahead of a clock, and handing over what it writes |
//! | [`rehearsal`] | performances in virtual time |
//! | [`table`] | receipts as a table |
//! | [`error`] | what goes wrong in programs |
//! | [`busy`] | which task runs, for another thread that watches |
//!
//! **Deterministic.** Tasks run in the order of (logical time, task, sequence), and an input acts at
//! a logical time that is recorded. So what a program writes does not depend on how far ahead of
//! real time it runs, and a recorded performance repeats in virtual time to the byte.
#![forbid(unsafe_code)]

pub mod beat;
mod branch;
pub mod busy;
mod core;
pub mod draft;
pub mod error;
pub mod perform;
pub mod rehearsal;
pub mod score;
pub mod table;
pub mod task;
pub mod tempo;
pub mod time;
pub mod timeline;

pub use beat::{Beat, beat};
pub use draft::{Bytes, Dmx, Draft, Midi};
pub use error::{Fault, Problem};
pub use perform::{Lead, Performance, Played};
pub use rehearsal::rehearse;
pub use score::{HeardInput, Input, ReactionId, Score};
pub use table::Row;
pub use task::Task;
pub use tempo::{Tempo, TempoError, TempoMap, bpm};
pub use time::Time;
pub use timeline::Timeline;
