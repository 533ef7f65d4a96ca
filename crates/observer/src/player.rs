//! Players as commands.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tactus_model::reserve::Capacity;
use tactus_sound::server::SINK;
use tactus_synchrony::Clip;
use tactus_sys::process::die_with_parent;
use tactus_wire::LastWords;

/// Stands for the file of the clip in a command.
pub const PLACE: &str = "{}";

/// The most bytes that are read of what a player says about its version.
const VERSION_MOST: u64 = 4096;
/// How long it may take to say that.
const VERSION_PATIENCE: Duration = Duration::from_secs(30);
/// The most characters of a version.
const VERSION_SHOWN: usize = 60;

/// A player that is known by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlayerName {
    /// `tactus play`
    Tactus,
    /// [mpv](https://mpv.io)
    Mpv,
    /// [ffplay](https://ffmpeg.org/ffplay.html)
    Ffplay,
    /// [GStreamer](https://gstreamer.freedesktop.org), by `gst-launch-1.0`
    Gstreamer,
}

/// The text is the name of no player.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a known player; known are tactus, mpv, ffplay and gstreamer, and any other is a command after `--`"
)]
pub struct NotAPlayer(String);

impl PlayerName {
    /// All of them, ours first.
    pub const ALL: [Self; 4] = [Self::Tactus, Self::Mpv, Self::Ffplay, Self::Gstreamer];

    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tactus => "tactus",
            Self::Mpv => "mpv",
            Self::Ffplay => "ffplay",
            Self::Gstreamer => "gstreamer",
        }
    }

    /// The program that runs.
    const fn program(self) -> &'static str {
        match self {
            // The file of this program may have been replaced since it started.
            Self::Tactus => "/proc/self/exe",
            Self::Mpv => "mpv",
            Self::Ffplay => "ffplay",
            Self::Gstreamer => "gst-launch-1.0",
        }
    }

    /// How to get it.
    pub const fn fix(self) -> Option<&'static str> {
        match self {
            Self::Tactus => None,
            Self::Mpv => Some("apt-get install mpv"),
            Self::Ffplay => Some("apt-get install ffmpeg"),
            Self::Gstreamer => Some(
                "apt-get install gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-libav gstreamer1.0-x gstreamer1.0-pipewire",
            ),
        }
    }

    /// What it says about its version, in a line; `None` if it is not installed.
    pub fn version(self) -> Option<String> {
        let argument = if self == Self::Ffplay { "-version" } else { "--version" };
        let mut command = Command::new(self.program());
        command.arg(argument).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        die_with_parent(&mut command);
        let mut process = command.spawn().ok()?;
        let output = process.stdout.take().map(|output| output.take(VERSION_MOST));
        let output = output.and_then(|output| LastWords::listen(output).ok());
        let said = output.map(|output| output.take(VERSION_PATIENCE)).unwrap_or_default();
        // It has said everything, or hangs.
        let _ = process.kill();
        let _ = process.wait();
        let line = said.lines().next().unwrap_or_default();
        // What follows is about copyright.
        let line = line.split(" Copyright").next().unwrap_or_default().trim();
        Some(line.chars().take(VERSION_SHOWN).collect())
    }

    /// The arguments that play a file once in a window at the corner of the screen, and end.
    fn arguments(self, clip: &Clip, reserve: Option<Capacity>) -> Vec<String> {
        let Clip { width, height, .. } = clip;
        let texts: &[&str] = match self {
            Self::Tactus => &["play", "--quiet", "--sound", SINK],
            Self::Mpv => &[
                "--no-config",
                "--really-quiet",
                "--vo=x11",
                "--hwdec=no",
                "--ao=pipewire",
                "--no-border",
                "--no-osc",
                "--osd-level=0",
            ],
            Self::Ffplay => &[
                "-loglevel",
                "error",
                "-nostats",
                "-autoexit",
                "-noborder",
                "-left",
                "0",
                "-top",
                "0",
            ],
            Self::Gstreamer => &["-q", "playbin", "video-sink=ximagesink"],
        };
        let mut arguments: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        match self {
            Self::Tactus => {
                arguments.extend(reserve.map(|capacity| format!("--reserve={capacity}")));
            }
            Self::Mpv => arguments.extend([
                format!("--audio-device=pipewire/{SINK}"),
                format!("--geometry={width}x{height}+0+0"),
            ]),
            Self::Ffplay => arguments.extend([
                "-x".to_owned(),
                width.to_string(),
                "-y".to_owned(),
                height.to_string(),
            ]),
            Self::Gstreamer => {
                arguments.push(format!("audio-sink=pipewiresink target-object={SINK}"))
            }
        }
        arguments.push(match self {
            Self::Gstreamer => format!("uri=file://{PLACE}"),
            _ => PLACE.to_owned(),
        });
        arguments
    }

    /// The variables of its environment.
    const fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            // SDL draws by OpenGL otherwise, which an Xvfb computes.
            Self::Ffplay => &[
                ("SDL_VIDEODRIVER", "x11"),
                ("SDL_RENDER_DRIVER", "software"),
                ("SDL_AUDIODRIVER", "pipewire"),
            ],
            Self::Tactus | Self::Mpv | Self::Gstreamer => &[],
        }
    }
}

impl fmt::Display for PlayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for PlayerName {
    type Err = NotAPlayer;

    fn from_str(text: &str) -> Result<Self, NotAPlayer> {
        let found = Self::ALL.into_iter().find(|name| name.word() == text);
        found.ok_or_else(|| NotAPlayer(text.to_owned()))
    }
}

/// A player that is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Player {
    /// A known one.
    Known(PlayerName),
    /// Any command: its words, in which [`PLACE`] stands for the file; without one, the file
    /// follows.
    Command(Vec<String>),
}

impl Player {
    /// Its name: that of the program for a command.
    pub fn name(&self) -> String {
        match self {
            Self::Known(name) => name.word().to_owned(),
            Self::Command(words) => {
                let program = words.first().map(Path::new).and_then(Path::file_name);
                program.unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }

    /// How to get it.
    pub const fn fix(&self) -> Option<&'static str> {
        match self {
            Self::Known(name) => name.fix(),
            Self::Command(_) => None,
        }
    }

    /// Whether it takes a reserve.
    pub fn takes_reserve(&self) -> bool {
        *self == Self::Known(PlayerName::Tactus)
    }

    /// The command that plays a file with a clip, and ends with the calling thread. A player that
    /// takes no reserve plays without.
    pub fn command(&self, clip: &Clip, file: &Path, reserve: Option<Capacity>) -> Command {
        let (program, arguments) = match self {
            Self::Known(name) => (name.program().to_owned(), name.arguments(clip, reserve)),
            Self::Command(words) => {
                let mut words = words.clone();
                if !words.iter().any(|word| word.contains(PLACE)) {
                    words.push(PLACE.to_owned());
                }
                let program = words.remove(0);
                (program, words)
            }
        };
        let file = file.to_string_lossy();
        let mut command = Command::new(program);
        command.args(arguments.iter().map(|argument| argument.replace(PLACE, &file)));
        if let Self::Known(name) = self {
            command.envs(name.variables().iter().copied());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        die_with_parent(&mut command);
        command
    }
}

#[cfg(test)]
mod tests {
    use tactus_synchrony::SignedNanos;

    use super::*;

    const CLIP: Clip =
        Clip { width: 640, height: 360, rate: 25, seconds: 3, shift: SignedNanos::ZERO };

    fn words(player: &Player) -> Vec<String> {
        let reserve = "5ms/40ms".parse().unwrap();
        let command = player.command(&CLIP, Path::new("/tmp/c.mov"), Some(reserve));
        let program = [command.get_program()].into_iter();
        program.chain(command.get_args()).map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in PlayerName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        let error = "vlc".parse::<PlayerName>().unwrap_err().to_string();
        assert!(error.contains("`vlc`") && error.contains("gstreamer"), "{error}");
    }

    #[test]
    fn a_command_gets_the_file_at_its_place_or_at_its_end() {
        let command =
            |words: &[&str]| Player::Command(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(words(&command(&["/bin/vlc", "-I"])), ["/bin/vlc", "-I", "/tmp/c.mov"]);
        let placed = command(&["sh", "-c", "play '{}' --loud"]);
        assert_eq!(words(&placed), ["sh", "-c", "play '/tmp/c.mov' --loud"]);
        assert_eq!(command(&["/bin/vlc"]).name(), "vlc");
    }

    #[test]
    fn only_ours_takes_a_reserve() {
        let takes = |name| words(&Player::Known(name)).contains(&"--reserve=5ms/40ms".to_owned());
        assert_eq!(PlayerName::ALL.map(takes), [true, false, false, false]);
    }

    #[test]
    fn known_players_cover_the_screen() {
        let mpv = words(&Player::Known(PlayerName::Mpv));
        assert!(mpv.contains(&"--geometry=640x360+0+0".to_owned()), "{mpv:?}");
        assert_eq!(mpv.last().unwrap(), "/tmp/c.mov");
        let gstreamer = words(&Player::Known(PlayerName::Gstreamer));
        assert_eq!(gstreamer.last().unwrap(), "uri=file:///tmp/c.mov");
    }
}
