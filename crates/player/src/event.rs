//! What a player reports.

use serde::Serialize;
use tactus_delivery::item::Moment;
use tactus_delivery::receipt::Evidence;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::{Capacity, Rung};
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_playback::{MediaTime, Speed, Summary};
use tactus_sound::Counts;
use tactus_xserver::window::Transport;

/// Something that has happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A window is open.
    Opened(WindowInfo),
    /// The thread that shows the frames of a clip runs as it was granted.
    Prepared(Preparation),
    /// The clock starts, at an instant that may be in the future.
    Started {
        /// When.
        at: Moment,
        /// From where in the clips.
        media: MediaTime,
        /// How fast.
        speed: Speed,
        /// The sound that drives the clock; `None` if wall time does.
        sound: Option<SoundInfo>,
    },
    /// The clock rests.
    Paused {
        /// Where in the clips.
        media: MediaTime,
    },
    /// A frame was shown or dropped.
    Frame(FrameReceipt),
    /// Something that the user should know.
    Note(Note),
    /// A setting that was not granted.
    Shortfall(Shortfall),
    /// How far it is.
    Progress(Progress),
    /// It has ended. The summaries are those of the clips, in their order.
    Ended {
        /// What became of frames.
        summaries: Vec<Summary>,
        /// What became of the sound; `None` if none was played.
        sound: Option<SoundCounts>,
        /// CPU time of the decoders that have ended, with their start.
        decoder_cpu: Nanos,
    },
}

/// The way of frames to a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// X11: shared memory, and extension Present.
    Present,
    /// X11: shared memory.
    Shm,
    /// X11: the connection itself.
    Socket,
    /// Wayland: shared memory, with presentation feedback.
    Wayland,
    /// A device of the delivery server.
    Server,
}

impl Way {
    /// Its word in options and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Present => Transport::Present.word(),
            Self::Shm => Transport::Shm.word(),
            Self::Socket => Transport::Socket.word(),
            Self::Wayland => "wayland",
            Self::Server => "server",
        }
    }
}

impl From<Transport> for Way {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Present => Self::Present,
            Transport::Shm => Self::Shm,
            Transport::Socket => Self::Socket,
        }
    }
}

/// A window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WindowInfo {
    /// The number of its clip, from 0.
    pub clip: usize,
    /// Its display, or the device of the server.
    pub display: String,
    /// Its width in pixels.
    pub width: u16,
    /// Its height in pixels.
    pub height: u16,
    /// Bits of a pixel that count.
    pub depth: u8,
    /// The way of frames to it.
    pub transport: Way,
    /// Why it is not a better one.
    pub why: Option<String>,
}

/// The thread that shows the frames of a clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Preparation {
    /// The number of its clip, from 0.
    pub clip: usize,
    /// The thread.
    pub thread: ThreadId,
    /// Its reserve; `None` if none was asked for.
    pub reserve: Option<Granted>,
}

/// A reserve that was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Granted {
    /// The CPU time of every period.
    pub capacity: Capacity,
    /// What keeps it.
    pub rung: Rung,
}

/// The sound of a player.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SoundInfo {
    /// The client at the sound server, or the device.
    pub client: String,
    /// Frames a second.
    pub rate: u32,
    /// Frames of a cycle.
    pub cycle: u32,
    /// Frames until a sample is heard: what the server reports, at least a cycle.
    pub latency: u32,
}

/// What became of the sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SoundCounts {
    /// Cycles in which the server asked for samples.
    pub cycles: u64,
    /// Xruns, of any client of the server.
    pub xruns: u64,
    /// Frames that the server took in its cycles. It does not report what its device played: each time
    /// that it ends or stops, what it took last may not have been heard, up to its latency and a cycle.
    pub played: u64,
    /// Frames that were cut, because a cycle was missed, they came too late, or there was no server.
    pub cut: u64,
    /// Frames that were due and that the decoder had not delivered when playing ended: to the end of the
    /// clip at most, if its file states one.
    pub missing: u64,
    /// How often the positions of the device jumped.
    pub jumps: u64,
    /// How often the server was lost.
    pub lost: u64,
}

impl SoundCounts {
    /// Adds what an output has counted until its end.
    pub(crate) fn add(&mut self, counts: Counts) {
        self.cycles += counts.cycles;
        self.xruns += counts.xruns;
        self.played += counts.played;
        self.cut += counts.late;
        self.jumps += counts.moves;
    }
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameOutcome {
    /// It was shown.
    Shown,
    /// It was dropped: the next frame was due as well.
    Dropped,
}

/// The receipt of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FrameReceipt {
    /// The number of its clip, from 0.
    pub clip: usize,
    /// Its number among the frames that were decoded since the player started, from 0.
    pub frame: u64,
    /// Its time in the clip, in nanoseconds.
    pub media: MediaTime,
    /// What became of it.
    pub outcome: FrameOutcome,
    /// When it was due.
    pub due: Moment,
    /// How long before it is due a shown frame was to be handed over, in nanoseconds.
    pub lead: Option<Nanos>,
    /// When handing it over began.
    pub began: Option<Moment>,
    /// When it was on the display, as far as the evidence goes.
    pub shown: Option<Moment>,
    /// When it was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Moment>,
    /// How far `shown` can be trusted: `device-clock` is the server's own stamp, `call` the end of a
    /// round trip.
    pub evidence: Evidence,
    /// The server's stamp (UST), in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ust: Option<u64>,
    /// The server's count of refreshes (MSC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msc: Option<u64>,
    /// How far the clock is behind wall time, in nanoseconds; negative if it is ahead.
    pub slip: i64,
}

/// Something that the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// There is no sound: wall time drives the clock.
    Silent(String),
    /// The sound server or the device was lost: wall time drives the clock until it is back.
    SoundLost,
    /// The sound server or the device asks for nothing: wall time drives the clock until it does.
    SoundSilent,
    /// The sound server or the device is back.
    SoundBack,
    /// The positions of the device jumped: a piece of the sound was cut.
    SoundJumped,
    /// Only the sound of another clip is played.
    Muted(usize),
    /// A clip ended before its time.
    Short {
        /// The number of the clip, from 0.
        clip: usize,
        /// When its last frame ended.
        at: MediaTime,
        /// How long it should be.
        of: Nanos,
        /// What the decoder said.
        reason: String,
    },
    /// A decoder was too slow: the frames of this part of a clip are dropped.
    Behind {
        /// The number of the clip, from 0.
        clip: usize,
        /// The beginning of the part.
        from: MediaTime,
        /// Its end.
        to: MediaTime,
    },
    /// A display did not answer for a time: the frames of this part of a clip are dropped.
    Unanswered {
        /// The number of the clip, from 0.
        clip: usize,
        /// How long.
        silence: Nanos,
        /// The beginning of the part.
        from: MediaTime,
        /// Its end.
        to: MediaTime,
    },
    /// A decoder has not delivered this part of a clip in time: it was stopped, or is far too slow.
    Missing {
        /// The number of the clip, from 0.
        clip: usize,
        /// The beginning of the part.
        from: MediaTime,
        /// Its end.
        to: MediaTime,
    },
    /// A display has not shown this part of a clip: it did not answer, or has ended.
    Unseen {
        /// The number of the clip, from 0.
        clip: usize,
        /// The beginning of the part.
        from: MediaTime,
        /// Its end.
        to: MediaTime,
    },
    /// Frames have no stamp of their own: the times of the container count.
    Unstamped {
        /// The number of the clip, from 0.
        clip: usize,
        /// How many.
        frames: u64,
    },
    /// A decoder failed: the rest of the picture or sound is missing.
    Failed(String),
    /// What a decoder complained about.
    Complained(String),
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Silent(reason) => write!(f, "no sound: {reason}; wall time drives the clock"),
            Self::SoundLost => f.write_str(
                "the sound server has ended, or its device is gone: wall time drives the clock until it is back",
            ),
            Self::SoundSilent => write!(
                f,
                "the sound server or its device asked for nothing for {} s, so it is stopped: wall time drives the clock until it is back",
                crate::sound::SILENT_MOST.as_secs_f64()
            ),
            Self::SoundBack => f.write_str("the sound is back"),
            Self::SoundJumped => {
                f.write_str("the clock of the sound device jumped: a piece of the sound was cut")
            }
            Self::Muted(clip) => {
                write!(f, "clip {}: its sound is muted, the first sound is played", clip + 1)
            }
            Self::Short { clip, at, of, reason } => {
                let (at, of) = (at.as_secs_f64(), of.as_secs_f64());
                write!(f, "clip {} ends at {at:.1} s of {of:.1} s", clip + 1)?;
                if reason.is_empty() { Ok(()) } else { write!(f, ": {reason}") }
            }
            Self::Behind { clip, from, to } => {
                let (clip, from, to) = (clip + 1, from.as_secs_f64(), to.as_secs_f64());
                write!(
                    f,
                    "clip {clip}: the decoder is too slow; dropped from {from:.1} s to {to:.1} s"
                )
            }
            Self::Unanswered { clip, silence, from, to } => {
                let (clip, silence) = (clip + 1, silence.as_secs_f64());
                let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
                write!(
                    f,
                    "clip {clip}: the display did not answer for {silence:.1} s; dropped from {from:.1} s to {to:.1} s"
                )
            }
            Self::Missing { clip, from, to } => {
                let (clip, from, to) = (clip + 1, from.as_secs_f64(), to.as_secs_f64());
                write!(
                    f,
                    "clip {clip}: the decoder has not delivered the picture from {from:.1} s to {to:.1} s"
                )
            }
            Self::Unseen { clip, from, to } => {
                let (clip, from, to) = (clip + 1, from.as_secs_f64(), to.as_secs_f64());
                write!(
                    f,
                    "clip {clip}: the display has not shown the picture from {from:.1} s to {to:.1} s"
                )
            }
            Self::Unstamped { clip, frames } => write!(
                f,
                "clip {}: {frames} frames have no stamp; they are shown at the times of the container",
                clip + 1
            ),
            Self::Failed(reason) => f.write_str(reason),
            Self::Complained(reason) => write!(f, "the decoder says: {reason}"),
        }
    }
}

/// How far a player is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Where in the clips.
    pub media: MediaTime,
    /// How long the longest clip is; `None` if unknown.
    pub duration: Option<Nanos>,
    /// Wall time until the end; `None` if unknown or paused.
    pub left: Option<Nanos>,
    /// Whether the clock rests.
    pub is_paused: bool,
    /// How fast it runs.
    pub speed: Speed,
    /// How far the clock is behind wall time, in nanoseconds.
    pub slip_ns: i64,
    /// What became of the frames of all clips so far: sums, and the worst of each percentile.
    pub frames: Summary,
}
