//! `tactus play`: the player.

mod commands;
mod explained;
mod folder;
mod keys;
mod show;

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tactus_app::{Error, ErrorKind};
use tactus_clip::{Clip, ClipError, probe};
use tactus_model::format;
use tactus_model::frames::Rate;
use tactus_model::policy::Scheduling;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_playback::{IfLate, MediaTime, Speed};
use tactus_player::{Output, Pace, PlayerError, Spec, Track};
use tactus_sound::alsa::name::NotHardware;
use tactus_sound::{Destination, Peer};
use tactus_stream::SOCKET;

use crate::error::{CommandError, CommandResult};
use crate::quietness::Quietness;
use crate::values::positive;

pub(crate) use self::commands::Commands;
use self::explained::Explaining;
use self::keys::Keys;
use self::show::Show;

/// Play clips, picture and sound in step, with a receipt for each frame.
///
/// ffmpeg decodes, as a process of its own with limits. Sound goes to PipeWire or JACK, whose device
/// drives the clock; without sound, wall time does. Frames go to an X11 display when they are due.
/// Several clips share one clock. docs/play.md describes the figures.
///
/// Keys, in the window and in the terminal: space pauses, left and right jump 5 s, up and down a
/// minute, + and - change the speed, = resets it, q ends.
///
/// With --explain, the kernel's events are recorded meanwhile, and a line says why a frame was late:
/// who delayed the thread that shows it, its decoder or the X server. At the end, a summary of the
/// causes, a page and a recording are left, as by tactus why. It needs root or the rights that tactus
/// record needs.
///
/// A folder opens as a scrolling window of thumbnails: a click or Return plays a clip, q ends.
///
/// With --through, the delivery server shows the frames, in windows that several programs share:
/// tactus streamd --device left=picture::1 --device right=picture::2
///
/// Example: tactus play clip.mkv; tactus play left.mkv right.mkv --display :1 --display :2
#[derive(Args)]
pub(crate) struct PlayArguments {
    /// Clip: any file that ffmpeg decodes; several play in step, with the sound of the first that has any. Or a folder
    #[arg(value_name = "CLIP", required = true)]
    clips: Vec<PathBuf>,
    #[command(flatten)]
    how: HowArguments,
}

/// How clips are played.
#[derive(Args)]
pub(crate) struct HowArguments {
    /// X11 display, Wayland socket, or device of the delivery server: one for all clips, or one for each, in their order [default: DISPLAY; the server's only device that takes frames]
    #[arg(long, value_name = "DISPLAY")]
    display: Vec<String>,
    /// Let the delivery server show the frames, with those of other programs: its socket [default without a value: /run/tactus/streamd.sock]
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true, default_missing_value = SOCKET)]
    through: Option<PathBuf>,
    /// Way of frames to the display
    #[arg(long, value_name = "WAY", default_value = "auto", conflicts_with = "through")]
    transport: Transport,
    /// Where to begin, in the time of the clip
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    start: Nanos,
    /// How much to play, in the time of the clip [default: to the end]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    duration: Option<Nanos>,
    /// Speed, from 0.25 to 4; the pitch stays
    #[arg(long, value_name = "FACTOR", default_value = "1")]
    rate: Speed,
    /// Play no sound: wall time drives the clock
    #[arg(long)]
    mute: bool,
    /// Client of the sound server that gets the sound, or alsa:hw:CARD,DEVICE for a device without a
    /// sound server [default: the device that the server prefers]
    #[arg(long, value_name = "CLIENT", conflicts_with = "mute", value_parser = destination)]
    sound: Option<Destination>,
    /// Show late frames instead of dropping a frame when the next one is due as well
    #[arg(long)]
    show_late: bool,
    /// Policy of the threads that show frames
    #[arg(long, value_name = "POLICY", default_value = "fifo:70")]
    policy: Scheduling,
    /// Policy of decoders
    #[arg(long, value_name = "POLICY", default_value = "other:-10")]
    decoders: Scheduling,
    /// CPU time that is guaranteed to each thread that shows frames, e.g. 5ms/40ms
    #[arg(long, value_name = "CAPACITY", conflicts_with = "policy")]
    reserve: Option<Capacity>,
    /// Explain late and dropped frames
    #[arg(long)]
    explain: bool,
    /// With --explain: time after which a frame that is shown or dropped is late [default: half the time between two frames]
    #[arg(long, value_name = "DURATION", value_parser = positive, requires = "explain")]
    over: Option<Nanos>,
    /// With --explain: file of the recording; the page has the same name with .html [default: tactus-DATE.tactusrec]
    #[arg(short, long, value_name = "FILE", requires = "explain")]
    output: Option<PathBuf>,
    /// Emulate a kernel whose timers expire only at ticks, so many a second: frames are shown at the next tick
    #[arg(long, value_name = "RATE")]
    ticks: Option<Rate>,
    /// Print JSON, one object a line: each frame's receipt; times are in nanoseconds of CLOCK_MONOTONIC
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) quietness: Quietness,
}

/// The way of frames to a display.
#[derive(Clone, Copy, ValueEnum)]
enum Transport {
    /// The best of the display
    Auto,
    /// Shared memory and extension Present: the server's own time stamps
    Present,
    /// Shared memory (MIT-SHM)
    Shm,
    /// The connection carries the pixels
    Socket,
    /// A Wayland compositor, with presentation feedback; auto takes it if there is no DISPLAY
    Wayland,
}

impl Transport {
    /// Where it leads, on a display or the default one.
    fn output(self, display: Option<String>) -> CommandResult<Output> {
        let x11 = |display, transport| Output::X11 { display, transport };
        let kind = match &display {
            Some(name) if matches!(self, Self::Auto) => kind_of(name)?,
            _ => Kind::X11,
        };
        Ok(match self {
            Self::Auto if kind == Kind::Wayland => Output::Wayland { display },
            Self::Wayland => Output::Wayland { display },
            Self::Auto if display.is_none() && !is_set("DISPLAY") && is_set("WAYLAND_DISPLAY") => {
                Output::Wayland { display }
            }
            Self::Auto => x11(display, None),
            Self::Present => x11(display, Some(tactus_player::Transport::Present)),
            Self::Shm => x11(display, Some(tactus_player::Transport::Shm)),
            Self::Socket => x11(display, Some(tactus_player::Transport::Socket)),
        })
    }
}

/// Who serves a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    X11,
    Wayland,
}

/// Who serves a display of this name: X11 has `HOST:NUMBER` and sockets named X0, Wayland has a socket
/// in XDG_RUNTIME_DIR, or anywhere by its path.
fn kind_of(name: &str) -> CommandResult<Kind> {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_default();
    // A name that is a whole path replaces the folder.
    let path = Path::new(&folder).join(name);
    let is_socket = path.metadata().is_ok_and(|found| found.file_type().is_socket());
    let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix('X'));
    let is_of_x11 = number.is_some_and(|number| number.parse::<u32>().is_ok());
    match is_socket {
        true if is_of_x11 => Ok(Kind::X11),
        true => Ok(Kind::Wayland),
        false if name.contains(':') || name.starts_with('/') => Ok(Kind::X11),
        false if name.starts_with("wayland-") => Ok(Kind::Wayland),
        false => {
            let name = format::quoted(name);
            let text = format!("`{name}` is no display: write :0, wayland-0 or a path");
            Err(CommandError::usage(text))
        }
    }
}

/// Where the sound goes.
fn destination(text: &str) -> Result<Destination, NotHardware> {
    match text.strip_prefix("alsa:") {
        Some(hardware) => hardware.parse().map(Destination::Alsa),
        None => Ok(Destination::Server(Peer::Client(text.to_owned()))),
    }
}

/// Whether a variable of the environment has a value.
fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

pub(crate) fn run(arguments: &PlayArguments) -> CommandResult {
    let PlayArguments { clips, how } = arguments;
    let commands = Commands::default();
    // A clip or a display that does not answer delays what follows.
    commands.obey_signals()?;
    match &clips[..] {
        [folder] if folder.is_dir() => folder::run(&commands, folder, how),
        _ => {
            let clips: CommandResult<Vec<Clip>> = clips.iter().map(|path| clip(path)).collect();
            play_by(&commands, clips?, how)
        }
    }
}

fn clip(path: &Path) -> CommandResult<Clip> {
    probe::probe(path).map_err(|error| not_played(error.into()))
}

/// Plays clips in step, by the keys of their windows and of the terminal.
pub(crate) fn play_by(commands: &Commands, clips: Vec<Clip>, how: &HowArguments) -> CommandResult {
    let _keys = Keys::attend(commands.clone());
    play_one(commands, clips, how)
}

/// Plays clips in step, by commands.
fn play_one(commands: &Commands, clips: Vec<Clip>, how: &HowArguments) -> CommandResult {
    let spec = how.spec(clips)?;
    let mut show = Show::new(&spec, how.json, how.quietness);
    let explain = || {
        // The page and the recording are written whenever a signal comes.
        commands.must_finish();
        Explaining::start(&spec, how, show.bar())
    };
    let mut explaining = how.explain.then(explain).transpose()?;
    let attend = |remote| commands.go_to(remote);
    let played = tactus_player::play(spec, attend, |event| {
        explaining.iter_mut().for_each(|explaining| explaining.take(&event));
        show.event(event);
    });
    commands.go_nowhere();
    let shown = show.finish();
    // The page is written even if nobody reads the output any more.
    let explained = explaining.map_or(Ok(()), Explaining::finish);
    shown?;
    played.map_err(not_played).and(explained)
}

impl HowArguments {
    /// Whether there is one display at most, for windows that show one clip after the other.
    fn only_display(&self) -> CommandResult<Option<&str>> {
        match &self.display[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => Err(CommandError::usage("a folder opens on one display")),
        }
    }

    /// Where the picture of a clip is shown.
    fn output(&self, display: Option<String>) -> CommandResult<Output> {
        match &self.through {
            Some(socket) => Ok(Output::Server { socket: socket.clone(), device: display }),
            None => self.transport.output(display),
        }
    }

    fn spec(&self, clips: Vec<Clip>) -> CommandResult<Spec> {
        let longest = clips.iter().map(|clip| clip.duration).max().flatten();
        let is_known = clips.iter().all(|clip| clip.duration.is_some());
        if let Some(longest) = longest.filter(|longest| is_known && self.start >= *longest) {
            let [start, end] = [self.start, longest].map(format::span);
            return Err(CommandError::usage(format!("--start {start}: the clip ends at {end}")));
        }
        let displays = match &self.display[..] {
            [] => vec![None; clips.len()],
            [only] => vec![Some(only.clone()); clips.len()],
            several if several.len() == clips.len() => several.iter().cloned().map(Some).collect(),
            several => {
                let [displays, clips] = [(several.len(), "display"), (clips.len(), "clip")]
                    .map(|(count, noun)| format::counted(count as u64, noun));
                let text = format!("{displays} for {clips}; give one, or one for each");
                return Err(CommandError::usage(text));
            }
        };
        let track = |(clip, display)| Ok(Track { clip, output: self.output(display)? });
        let tracks: CommandResult<_> = clips.into_iter().zip(displays).map(track).collect();
        let sound = match &self.sound {
            _ if self.mute => None,
            Some(to) => Some(to.clone()),
            None => Some(Destination::Server(Peer::Device)),
        };
        Ok(Spec {
            tracks: tracks?,
            from: MediaTime::ZERO.after(self.start),
            length: self.duration,
            speed: self.rate,
            if_late: if self.show_late { IfLate::Show } else { IfLate::Drop },
            sound,
            pace: Pace {
                policy: self.policy,
                reserve: self.reserve,
                decoders: self.decoders,
                ticks: self.ticks,
            },
        })
    }
}

/// The error of a clip that does not play.
pub(crate) fn not_played(error: PlayerError) -> CommandError {
    let kind = match &error {
        PlayerError::Clip(
            ClipError::Open { .. }
            | ClipError::NotAClip { .. }
            | ClipError::Empty(_)
            | ClipError::Large { .. },
        ) => ErrorKind::Usage,
        _ => ErrorKind::Unavailable,
    };
    let hint = error.hint();
    let error = Error::new(kind, error);
    match hint {
        Some(hint) => error.with_hint(hint).into(),
        None => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_is_of_x11_or_wayland_by_its_name() {
        let kind = |name| kind_of(name).ok();
        assert_eq!([":0", "host:1.0", "/no/X0"].map(kind), [Some(Kind::X11); 3]);
        assert_eq!((kind("wayland-nowhere"), kind("foo")), (Some(Kind::Wayland), None));
    }
}
