//! The clip, the servers, and the player's process.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tactus_clip::ffmpeg::{self, Ffmpeg, FfmpegError};
use tactus_model::cpus::CpuList;
use tactus_model::frames::{FramesProbe, PlayerKind, Rate};
use tactus_model::policy::Scheduling;
use tactus_model::result::{PlaybackFindings, Shortfall};
use tactus_model::time::{Monotonic, Nanos};
use tactus_sound::PrivateServer;
use tactus_sound::server::SINK;
use tactus_sys::owned_directory::{self, OwnedDirectory};
use tactus_sys::process::die_with_parent;
use tactus_sys::{affinity, clock};
use tactus_wire::{Start, WireError};
use tactus_xserver::patient::PatientConnection;
use tactus_xserver::{Screen, Server};

use super::judge::judged;
use super::line::{Ended, Line, Receipt, Started};
use super::{PlaybackError, Played};

/// The prefix of the names of temporary directories, which have the clip.
const DIRECTORY: &str = "tactus-playback-";
const CLIP: &str = "clip.nut";
const AUTHORITY: &str = "authority";

/// The picture of 1993: 160 × 120 pixels of a byte, 19 200 bytes a frame.
const SCREEN: Screen = Screen { width: 160, height: 120, bytes_per_pixel: 1 };
/// The pixels of such a screen, as ffmpeg calls them: the decoder need not convert them.
const PIXELS: &str = "bgr8";
/// The rate of the sound: 8000 samples of two bytes a second.
const SOUND_RATE: u32 = 8000;
/// The frames of a cycle of the sound server, in 1/48000 s.
const QUANTUM: u32 = 1024;
/// How long the player's end may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the player may report nothing, and how much longer than its clip ffmpeg may take to make it.
const SILENT_MOST: Duration = Duration::from_secs(60);

/// All that a player needs, and the command that plays.
pub(super) struct Site {
    rate: Rate,
    frames: u64,
    command: Command,
    // In this order: the server ends when its last client has left.
    _holder: PatientConnection,
    display: Server,
    _sound: Option<PrivateServer>,
    _folder: OwnedDirectory,
}

/// CPU time that processes had used at an instant.
#[derive(Clone, Copy, Default)]
struct Used {
    player: Nanos,
    display: Nanos,
}

impl Site {
    /// Makes the clip and starts the servers. The calling thread moves to these CPUs.
    pub(super) fn open(
        probe: &FramesProbe,
        window: Nanos,
        scheduling: Scheduling,
        cpus: &CpuList,
    ) -> Result<(Self, Option<Shortfall>), PlaybackError> {
        affinity::set(cpus)?;
        let file = |what| move |error| PlaybackError::File { what, error };
        let place = std::env::temp_dir();
        owned_directory::remove_stale(&place, DIRECTORY);
        let folder = OwnedDirectory::create(&place, DIRECTORY)
            .map_err(file("cannot create a temporary directory"))?;
        let (clip, authority) = (folder.path().join(CLIP), folder.path().join(AUTHORITY));
        let frames = probe.frames().within(window);
        make(probe, frames, window, &clip)?;
        let display = Server::start_true_colour(SCREEN)?;
        let holder = display.connect()?;
        display.write_authority(&authority).map_err(file("cannot write the authority file"))?;
        let (sound, refused) = match PrivateServer::start(QUANTUM) {
            Ok(server) => (Some(server), None),
            Err(error) => (None, Some(no_sound(&error.to_string()))),
        };
        let mut command = player(probe, window, scheduling).map_err(file("cannot find tactus"))?;
        command.arg("--display").arg(display.display()).env("XAUTHORITY", &authority);
        match &sound {
            Some(server) => {
                command.envs(server.variables()).env("PIPEWIRE_NODE", SINK);
                command.args(["--sound", SINK])
            }
            None => command.arg("--mute"),
        };
        command.arg(&clip);
        let (rate, _holder, _sound, _folder) = (probe.frame_rate, holder, sound, folder);
        Ok((Self { rate, frames, command, _holder, display, _sound, _folder }, refused))
    }

    /// Plays the clip to its end.
    pub(super) fn play(self) -> Result<Played, PlaybackError> {
        let start = Start::new(self.command).dies_with_this_thread().keeps_last_words();
        let failed = |reason: String| PlaybackError::Player(reason);
        let (player, mut lines) = start.start().map_err(|error| failed(error.to_string()))?;
        let used = || Used {
            player: clock::cpu_time_of_process(player.id().cast_signed()),
            display: self.display.cpu_time(),
        };
        let mut started: Option<(Started, Used)> = None;
        let mut receipts: Vec<Receipt> = Vec::new();
        let ended: Result<(Ended, Used), WireError> = loop {
            let line = match lines.read_within::<Line>(SILENT_MOST) {
                Ok(line) => line,
                Err(error) => break Err(error),
            };
            if let Some(found) = line.started {
                started.get_or_insert_with(|| (found, used()));
            }
            receipts.extend(line.frame);
            if let Some(ended) = line.ended {
                break Ok((ended, used()));
            }
        };
        let now = clock::now::<Monotonic>();
        let said = player.end(PATIENCE);
        let (ended, after) = ended.map_err(|error| failed(format!("{error}; {said}")))?;
        let (started, before) = started.ok_or_else(|| failed(said))?;
        let found = judged(self.rate, self.frames, &receipts, now - started.at);
        let findings = PlaybackFindings {
            decoder_cpu: ended.decoder_cpu,
            player_cpu: after.player - before.player,
            display_cpu: after.display - before.display,
            sound: ended.sound,
            ..found.findings
        };
        Ok(Played { findings, ..found })
    }
}

/// The command of the player, without its display, sound and clip.
fn player(probe: &FramesProbe, window: Nanos, scheduling: Scheduling) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["play", "--json", "--quiet", "--policy", &scheduling.to_string()]);
    let transport = if probe.player == PlayerKind::PlaySocket { "socket" } else { "shm" };
    command.args(["--transport", transport]);
    if let Some(ticks) = probe.sweeping_ticks(window) {
        command.args(["--ticks", &ticks.to_string()]);
    }
    // The player must not find servers of the user.
    for variable in [
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "PULSE_SERVER",
        "PIPEWIRE_REMOTE",
        "DBUS_SESSION_BUS_ADDRESS",
    ] {
        command.env_remove(variable);
    }
    Ok(command)
}

fn no_sound(reason: &str) -> Shortfall {
    Shortfall {
        asked: "sound".to_owned(),
        granted: "a clip that is played without sound: wall time drives the player's clock"
            .to_owned(),
        reason: reason.to_owned(),
        fix: Some("apt-get install pipewire pipewire-bin pipewire-jack".to_owned()),
    }
}

/// Makes the clip: a moving test picture and a tone, both as they are, with exact time stamps.
fn make(probe: &FramesProbe, frames: u64, window: Nanos, file: &Path) -> Result<(), PlaybackError> {
    let mut command = encoder(probe, frames, window, file);
    die_with_parent(&mut command);
    let made = Ffmpeg::start(&mut command)
        .and_then(|encoder| encoder.finish(SILENT_MOST + Duration::from(window)));
    made.map_err(|error| match error {
        FfmpegError::NotInstalled => PlaybackError::NotInstalled,
        error => PlaybackError::Clip(error.to_string()),
    })
}

fn encoder(probe: &FramesProbe, frames: u64, window: Nanos, file: &Path) -> Command {
    let Screen { width, height, .. } = SCREEN;
    let picture = format!("testsrc2=size={width}x{height}:rate={}", probe.frame_rate);
    let sound = format!("sine=frequency=440:sample_rate={SOUND_RATE}");
    let mut command = ffmpeg::command();
    command
        .args(["-y", "-f", "lavfi", "-i", &picture, "-f", "lavfi", "-i", &sound])
        .args(["-frames:v", &frames.to_string(), "-t", &window.as_secs_f64().to_string()])
        .args(["-c:v", "rawvideo", "-pix_fmt", PIXELS, "-c:a", "pcm_s16le", "-f", "nut"])
        .arg(file);
    command
}
