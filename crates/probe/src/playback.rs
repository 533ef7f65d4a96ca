//! A whole player: `tactus play` with a clip, an X server and a sound server of its own.
//!
//! ```text
//! clip ──► decoder ──► tactus play ──socket or shared memory──► X server
//!                          └──► sound server
//! ```
//!
//! Frames have 160 × 120 pixels of a byte, those of the video player of 1993 (Dannenberg and others,
//! section 11). The player decodes ahead, hands a frame over a little before it is due, and writes
//! a receipt for each. A sample is a frame that was shown, from its due time, by the player's clock, to
//! when it was seen. The window begins when that clock starts, so the events of a recording would not
//! match the samples.

mod judge;
mod line;
mod site;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use tactus_model::cpus::CpuList;
use tactus_model::frames::FramesProbe;
use tactus_model::policy::Scheduling;
use tactus_model::result::{PlaybackFindings, Shortfall};
use tactus_model::time::Nanos;
use tactus_sys::SysError;
use tactus_xserver::NoServer;

use crate::timer::TakenSamples;
use site::Site;

/// Why nothing can be played.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaybackError {
    /// A call failed.
    #[error(transparent)]
    System(#[from] SysError),
    /// There is no X server.
    #[error(transparent)]
    Display(#[from] NoServer),
    /// There is no clip.
    #[error("ffmpeg is not installed")]
    NotInstalled,
    /// ffmpeg makes no clip.
    #[error("cannot make the clip: {0}")]
    Clip(String),
    /// A file cannot be written.
    #[error("{what}: {error}")]
    File {
        /// What cannot be done.
        what: &'static str,
        /// Why.
        error: std::io::Error,
    },
    /// The player does not play.
    #[error("tactus play failed: {0}")]
    Player(String),
}

impl PlaybackError {
    /// What the user can do about it.
    pub(crate) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotInstalled => Some("apt-get install ffmpeg"),
            Self::Display(error) => error.hint(),
            _ => None,
        }
    }
}

/// What a playback gave.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) taken: TakenSamples,
    pub(crate) findings: PlaybackFindings,
}

/// A player that is ready to play. A thread with the ordinary policy starts its processes, which end
/// with that thread, and that thread ends with this value.
pub(crate) struct Stage {
    frames: u64,
    /// Dropped to end a thread that has nothing to play.
    go: Option<Sender<()>>,
    played: Receiver<Result<Played, PlaybackError>>,
    thread: Option<JoinHandle<()>>,
}

impl Stage {
    /// Makes the clip and starts the servers on these CPUs. Returns what was not granted.
    ///
    /// # Errors
    /// ffmpeg or the X server is missing, or does not work.
    pub(crate) fn open(
        probe: &FramesProbe,
        window: Nanos,
        scheduling: Scheduling,
        cpus: CpuList,
    ) -> Result<(Self, Option<Shortfall>), PlaybackError> {
        let frames = probe.frames().within(window);
        let (opened, ready) = channel();
        let (go, wait) = channel();
        let (result, played) = channel();
        let probe = probe.clone();
        let run = move || match Site::open(&probe, window, scheduling, &cpus) {
            Ok((site, refused)) => {
                // The task may have ended.
                let _ = opened.send(Ok(refused));
                if wait.recv().is_ok() {
                    let _ = result.send(site.play());
                }
            }
            Err(error) => drop(opened.send(Err(error))),
        };
        let thread = thread::Builder::new().name("stage".to_owned()).spawn(run);
        let thread =
            thread.map_err(|error| PlaybackError::File { what: "cannot start a thread", error })?;
        let stage = Self { frames, go: Some(go), played, thread: Some(thread) };
        let refused = ready.recv().unwrap_or_else(|_| Err(ended()))?;
        Ok((stage, refused))
    }

    /// How many frames the clip has.
    pub(crate) const fn frames(&self) -> u64 {
        self.frames
    }

    /// Plays the clip to its end.
    ///
    /// # Errors
    /// The player fails.
    pub(crate) fn play(mut self) -> Result<Played, PlaybackError> {
        // A stage that has ended receives and sends nothing.
        let _ = self.go.take().map(|go| go.send(()));
        self.played.recv().unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Nothing is left behind: the thread removes the clip and ends the servers.
        drop(self.go.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn ended() -> PlaybackError {
    PlaybackError::Player("its stage has ended".to_owned())
}
