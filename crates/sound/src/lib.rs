//! Sound by absolute positions of the device's clock, through PipeWire or JACK, or at a device of the
//! kernel.
//!
//! ```text
//! ordinary thread ──► rings ──► thread of the sound server ──► ports       (output)
//! ordinary thread ──► rings ──► thread of ours ──► device of the kernel    (output)
//! ordinary thread ◄── rings ◄── thread of the sound server ◄── ports       (capture)
//! ```
//!
//! The sound server counts frames by the clock of its device. What plays has a position in that
//! count, and what was captured has one too; a [`DeviceClock`] maps positions to the monotonic
//! clock. A cycle that is lost therefore cuts a piece out of the sound, and never shifts what
//! follows.
//!
//! | module | content |
//! |---|---|
//! | [`cycle`] | where a cycle of the server stands, and what was missed before it |
//! | [`track`] | samples at absolute positions: the part that the thread of the server does |
//! | [`alsa`] | devices of the kernel, without a sound server |
//! | [`output`] | playing |
//! | [`capture`] | capturing, with blind time |
//! | [`ports`] | whose ports ours are connected with |
//! | [`connector`] | connecting again after the server has ended |
//! | [`patience`] | how long a sound server may take to answer |
//! | [`server`] | a sound server of our own, without hardware |
//! | [`session`] | its session manager |
//!
//! [`DeviceClock`]: tactus_delivery::device_clock::DeviceClock
#![forbid(unsafe_code)]

pub mod alsa;
pub mod capture;
pub mod connector;
pub mod cycle;
mod error;
pub mod output;
pub mod patience;
pub mod ports;
pub mod server;
pub mod session;
pub mod track;

pub use alsa::Hardware;
pub use capture::{Block, Capture};
pub use connector::Connector;
pub use cycle::{Cycle, Placed, Positions};
pub use error::SoundError;
pub use output::{Counts, Destination, Output, OutputSpec};
pub use ports::{ClientSpec, Peer};
pub use server::PrivateServer;
pub use session::SessionManager;
