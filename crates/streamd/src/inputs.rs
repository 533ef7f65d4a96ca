//! MIDI inputs: where messages come in.
//!
//! | module | content |
//! |---|---|
//! | [`input`] | an input: a pseudo-terminal, a MIDI device, a serial line, a client of the sound server |
//! | [`port_spec`] | where bytes come from or go to, as text |
//! | [`mod@attend`] | one thread for several inputs |
//! | [`hubs`] | the inputs of the server, each with its listeners |
//! | [`thru`] | from inputs to an output |
//!
//! **What a time stamp means.** The thread of the inputs reads the clock right after `read` returns.
//! The stamp of a byte is therefore later than its arrival by the delay of the driver, the wakeup
//! latency of the thread, and the time that it was busy with other bytes; bytes that one read
//! returned have the same stamp. On a MIDI cable bytes are 320 µs apart, so a thread of real-time
//! priority usually reads each by itself. A message of the sound server has the time of its frame, by the clock
//! of the server's device.

use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_prepare::ThreadRef;
use tactus_sys::SysError;

pub mod attend;
pub mod hubs;
pub mod input;
mod jack;
pub mod port_spec;
pub mod thru;

pub use attend::{Attentive, EndedBy, attend};
pub use hubs::{Inputs, OfferedInput};
pub use input::{Gone, Input};
pub use port_spec::{LineOptions, NamedInput, NotANamedInput, NotAPort, PortSpec};
pub use thru::{Thru, ThruCounts};

/// Gives the calling thread, which is to read inputs, a policy, or else the best permitted policy:
/// then returns what was refused, with the fix.
///
/// # Errors
/// The kernel does not show the thread's settings.
pub fn prepare(policy: Scheduling) -> Result<Option<Shortfall>, SysError> {
    let refused = ThreadRef::Calling.schedule(policy)?;
    Ok(refused.map(|refused| refused.explain_here()))
}
