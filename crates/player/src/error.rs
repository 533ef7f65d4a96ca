//! What can go wrong.

use tactus_clip::ClipError;
use tactus_reserve::Refused;
use tactus_sound::SoundError;
use tactus_stream::{ConnectError, RequestError, SubmitError};
use tactus_sys::SysError;
use tactus_xserver::window::WindowError;

/// Why a clip does not play.
#[derive(Debug, thiserror::Error)]
pub enum PlayerError {
    /// The clip, or its decoder.
    #[error(transparent)]
    Clip(#[from] ClipError),
    /// The window.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// There is no compositor.
    #[error("there is no Wayland compositor: WAYLAND_DISPLAY is not set")]
    NoCompositor,
    /// The compositor cannot be used, or has ended.
    #[error("the Wayland compositor {display} cannot be used: {reason}")]
    Compositor {
        /// Its socket.
        display: String,
        /// Why.
        reason: String,
    },
    /// There is no delivery server.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The delivery server refuses a request, or has ended.
    #[error("the delivery server failed: {0}")]
    Request(RequestError),
    /// It refuses a frame.
    #[error("the delivery server refuses a frame: {0}")]
    Submit(#[from] SubmitError),
    /// It has no or several devices that take frames.
    #[error("the delivery server has {}", devices(.0))]
    Devices(Vec<String>),
    /// The device takes something else.
    #[error("the device `{name}` takes no frames; the server has {}", devices(possible))]
    NoFrames {
        /// Its name.
        name: String,
        /// Those that do.
        possible: Vec<String>,
    },
    /// It answers nothing any more, so what became of the last frames is unknown.
    #[error(
        "the display {display} did not answer when playing ended: frames after the last receipt are missing"
    )]
    NoAnswer {
        /// Its name.
        display: String,
    },
    /// There is nothing to see or hear.
    #[error(
        "there is nothing to play: the clip has no picture, and its sound is muted or has no device"
    )]
    Nothing,
    /// The client that should get the sound is missing.
    #[error("no sound to {client}: {error}")]
    NoClient {
        /// Its name.
        client: String,
        /// Why not.
        error: SoundError,
    },
    /// The sound device that was named cannot be used.
    #[error("no sound: {0}")]
    NoHardware(SoundError),
    /// A clip ended before its time.
    #[error("a clip ends before its stated duration")]
    Short,
    /// The clips are not ready.
    #[error("the decoder has delivered nothing for {seconds} s")]
    Stuck {
        /// How long it was awaited.
        seconds: u64,
    },
    /// No rung grants the reserve.
    #[error("no reserve: {0}")]
    Reserve(Refused),
    /// The system fails.
    #[error(transparent)]
    System(#[from] SysError),
    /// A thread does not start.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

impl PlayerError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Clip(error) => error.hint(),
            Self::Window(error) => error.hint(),
            Self::NoCompositor => Some("set WAYLAND_DISPLAY, or use --display wayland-0"),
            Self::Devices(names) if names.is_empty() => {
                Some("start it with one: tactus streamd --device left=picture::0")
            }
            Self::Devices(_) => Some("choose with --display DEVICE"),
            _ => None,
        }
    }
}

/// The devices that take frames.
fn devices(names: &[String]) -> String {
    match names {
        [] => "no device that takes frames".to_owned(),
        names => format!("these devices that take frames: {}", names.join(", ")),
    }
}
