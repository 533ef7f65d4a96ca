//! What can go wrong.

use std::io;
use std::path::PathBuf;

use tactus_sys::SysError;

use crate::sinks::PortError;

/// Why a device is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system refuses it.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// Why.
        error: io::Error,
    },
    /// It cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The socket.
    #[error("cannot listen at `{}`: {error}", path.display())]
    Socket {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Two devices have the same name.
    #[error("two devices have the name `{0}`")]
    NameTaken(String),
    /// There is no device, or there are too many.
    #[error("{count} devices; 1 to {} are possible", crate::server::DEVICES_MOST)]
    Devices {
        /// How many.
        count: usize,
    },
    /// A device is not opened.
    #[error("device `{name}`: {error}")]
    Device {
        /// The device.
        name: String,
        /// Why.
        error: OpenError,
    },
    /// An input is not opened.
    #[error("input `{name}`: {error}")]
    Input {
        /// The input.
        name: String,
        /// Why.
        error: PortError,
    },
    /// Two inputs have the same name.
    #[error("two inputs have the name `{0}`")]
    InputNameTaken(String),
    /// What observes a device does not start.
    #[error("{0}")]
    Observer(String),
    /// A thread does not start.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The system fails.
    #[error(transparent)]
    System(#[from] SysError),
}

/// Why the server ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The thread of a device has ended by a defect, which it reported.
    #[error("the thread of device `{0}` has ended")]
    DeviceEnded(String),
    /// The system fails.
    #[error(transparent)]
    System(#[from] SysError),
}
