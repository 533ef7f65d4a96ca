//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a clip does not play.
#[derive(Debug, thiserror::Error)]
pub enum ClipError {
    /// The decoder is not in `PATH`.
    #[error("{0} is not installed")]
    NotInstalled(&'static str),
    /// The system refuses something.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The file is none that ffmpeg knows.
    #[error("{} is not a clip: {reason}", path.display())]
    NotAClip {
        /// The file.
        path: PathBuf,
        /// What ffprobe says.
        reason: String,
    },
    /// Its end is missing, and with it what says where its frames are.
    #[error("{} is truncated: its index (moov) is missing", .0.display())]
    NoIndex(PathBuf),
    /// There is nothing to play.
    #[error("{} has neither picture nor sound", .0.display())]
    Empty(PathBuf),
    /// There is no decoder for a stream.
    #[error("{}: ffmpeg has no decoder for the {kind} (stream {index}, codec {codec})", path.display())]
    NoCodec {
        /// The file.
        path: PathBuf,
        /// `picture` or `sound`.
        kind: &'static str,
        /// The number of the stream.
        index: u32,
        /// How the file names it.
        codec: String,
    },
    /// The picture is too large.
    #[error("{}: a picture of {width}x{height}; at most {most}x{most} is possible", path.display(), most = crate::probe::SIDE_MOST)]
    Large {
        /// The file.
        path: PathBuf,
        /// Its width in pixels.
        width: u32,
        /// Its height in pixels.
        height: u32,
    },
    /// The format can name other files.
    #[error("{}: the format {format} is not read: it can name other files or devices", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// ffmpeg's name of the format.
        format: String,
    },
    /// It is a picture that does not move.
    #[error("{}: the format {format} is not played: still images are no clips", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// ffmpeg's name of the format.
        format: String,
    },
    /// The decoder delivers nothing, e.g. because it was stopped.
    #[error("the decoder of the {kind} has delivered nothing for {} s", most.as_secs())]
    Silent {
        /// `picture`, `sound` or `file`.
        kind: &'static str,
        /// How long it was awaited.
        most: Duration,
    },
    /// The decoder has ended before its time.
    #[error("the decoder of the {kind} has ended: {reason}")]
    Decoder {
        /// `picture` or `sound`.
        kind: &'static str,
        /// Its last words, or its status.
        reason: String,
    },
}

impl ClipError {
    /// The error about a file that was unpacked from another one, which it then names.
    #[must_use]
    pub fn about(mut self, name: &Path) -> Self {
        match &mut self {
            Self::Open { path, .. }
            | Self::NotAClip { path, .. }
            | Self::NoIndex(path)
            | Self::Empty(path)
            | Self::NoCodec { path, .. }
            | Self::Large { path, .. }
            | Self::Format { path, .. }
            | Self::Image { path, .. } => name.clone_into(path),
            Self::NotInstalled(_)
            | Self::System { .. }
            | Self::Silent { .. }
            | Self::Decoder { .. } => {}
        }
        self
    }

    /// What the user can do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotInstalled(_) => Some("apt-get install ffmpeg"),
            _ => None,
        }
    }
}
