//! What can go wrong.

use tactus_clip::ClipError;
use tactus_reserve::Refused;
use tactus_sound::SoundError;
use tactus_sys::SysError;

/// Why a clip does not play.
#[derive(Debug, thiserror::Error)]
pub enum PlayerError {
    /// The clip, or its decoder.
    #[error(transparent)]
    Clip(#[from] ClipError),
    /// There is no display.
    #[error("there is no display: DISPLAY is not set")]
    NoDisplay,
    /// The display refuses us.
    #[error("the display {display} cannot be used: {reason}")]
    Refused {
        /// Its name.
        display: String,
        /// Why.
        reason: String,
    },
    /// It has pixels that we cannot make.
    #[error("the display {display} has pixels of another kind: {pixels}")]
    Pixels {
        /// Its name.
        display: String,
        /// What they are.
        pixels: String,
    },
    /// It does not have the way that was asked for.
    #[error("the display {display} has no {way}: {reason}")]
    NoWay {
        /// Its name.
        display: String,
        /// The way.
        way: &'static str,
        /// Why.
        reason: String,
    },
    /// It worked, and does not any more.
    #[error("the X server of {display} has ended or closed the connection: {reason}")]
    Ended {
        /// Its name.
        display: String,
        /// What failed.
        reason: String,
    },
    /// It answers nothing any more, so what became of the last frames is unknown.
    #[error("the X server of {display} does not answer: frames after the last receipt are missing")]
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
    /// A clip ended before its time.
    #[error("a clip is shorter than it says: what follows is missing")]
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
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Clip(error) => error.hint(),
            Self::NoDisplay => Some("set DISPLAY, use --display :0, or start one: Xvfb :1 &"),
            Self::Refused { .. } => {
                Some("start an X server there, or set XAUTHORITY if it demands authority")
            }
            Self::NoWay { .. } => Some("--transport auto uses what there is"),
            Self::Pixels { .. } => Some("start the display with depth 24, 16, 15 or 8"),
            _ => None,
        }
    }
}
