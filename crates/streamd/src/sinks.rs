//! Sinks: the ways to devices.
//!
//! | module | devices |
//! |---|---|
//! | [`midi_line`] | a MIDI cable as a line of bytes: pacing, whole messages, silence |
//! | [`midi_port`] | where those bytes go: a pseudo-terminal, a raw MIDI device |
//! | [`jack`] | PipeWire and JACK: messages and audio |
//! | [`datagram`] | UDP datagrams |
//! | [`scheduled`] | UDP datagrams that the kernel holds until their times |
//! | [`lights`] | DMX512 universes over a network |
//! | [`sacn`], [`artnet`] | the two protocols of lights |
//! | [`picture`] | frames in a window of an X11 display |

pub mod artnet;
pub mod datagram;
pub mod jack;
pub mod lights;
mod link;
pub mod midi_line;
pub mod midi_port;
pub mod picture;
pub mod sacn;
pub mod scheduled;

pub use datagram::{Datagrams, Peer};
pub use lights::{Lights, Universe};
pub use midi_line::{MidiLine, Port, Rate};
pub use midi_port::{PortError, PtyPort, RawPort};

use tactus_delivery::item::Moment;
use tactus_model::time::Monotonic;

/// The present.
fn now() -> Moment {
    tactus_sys::clock::now::<Monotonic>()
}
