//! What can go wrong.

use std::io;

use tactus_sys::SysError;
use tactus_sys::jack::OpenError;

use crate::alsa::Hardware;
use crate::alsa::parameters::Unsuitable;

/// Why there is no connection with a sound server or a device.
#[derive(Debug, thiserror::Error)]
pub enum SoundError {
    /// There is no server, or no library.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The server refuses something.
    #[error(transparent)]
    Refused(#[from] SysError),
    /// The target is missing or too small.
    #[error("`{target}` has {found} inputs for these ports, and {needed} are needed")]
    Target {
        /// The client.
        target: String,
        /// The inputs that it has.
        found: usize,
        /// The ports to connect.
        needed: usize,
    },
    /// The client to listen to has no output for messages.
    #[error("`{0}` has no output for messages")]
    Source(String),
    /// There is nothing to connect with.
    #[error("{0}")]
    Peer(String),
    /// A device has no or too many channels.
    #[error("{0} channels; 1 to {most} are possible", most = crate::ports::CHANNELS_MOST)]
    Channels(u16),
    /// There is no such device.
    #[error("there is no ALSA device {hardware} that plays; {available}")]
    NoHardware {
        /// The device.
        hardware: Hardware,
        /// What there is, in words.
        available: String,
    },
    /// Another program plays there.
    #[error("the ALSA device {0} is used by another program, such as the sound server")]
    Busy(Hardware),
    /// The device cannot do what is needed.
    #[error("the ALSA device {hardware} is not suitable: {reason}")]
    Unsuitable {
        /// The device.
        hardware: Hardware,
        /// Why not.
        reason: Unsuitable,
    },
    /// The kernel refuses something.
    #[error("the ALSA device {hardware} cannot be used: {error}")]
    Hardware {
        /// The device.
        hardware: Hardware,
        /// The call.
        error: SysError,
    },
    /// The server does not answer.
    #[error(
        "the sound server did not answer within {} s: it is stopped or overloaded",
        crate::patience::OPEN_MOST.as_secs()
    )]
    Silent,
    /// A thread does not start.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
