//! `tactus judge`: sound and picture of players, judged from outside.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tactus_app::judge::{self, Wanted};
use tactus_app::{Error, ErrorKind, files};
use tactus_model::format;
use tactus_model::load::Load;
use tactus_model::pixels::Size;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;
use tactus_observer::{Event, Player, PlayerName};
use tactus_report::{room_page, room_text, synchrony_page, synchrony_text};
use tactus_synchrony::judgement::{Judgement, Plan, Playback, Row};
use tactus_synchrony::{Clip, Findings, SignedNanos};

use crate::error::{CommandError, CommandResult, for_any_reader};
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::signals;
use crate::terminal::{say, stdout, table_options};
use crate::values::{positive, seed, whole};

/// Judge players from outside: offset of sound and picture, drift, slip, dropped and repeated frames.
///
/// Each player plays a clip of flashes and tones that the command makes. A photodiode watches the
/// memory of an X server (Xvfb) of its own, a microphone listens to the monitor of a sound server
/// (PipeWire) of its own; neither needs hardware, and neither asks the player. Turns of several players
/// are interleaved, in an order that the seed determines. Blind time of the observers is reported.
/// Offsets are sound − picture: positive if the sound comes after the picture.
///
/// With --load, each clip is played without and beside each load, and with --reserve, tactus plays
/// without and with a reserve; all of these are interleaved too, and stand side by side in the result.
///
/// In a real room, play a clip of --clip, record a microphone and a photodiode in the two channels of
/// a wave file, and judge that with --calibrate.
///
/// Examples: tactus judge --rate 25,30,60 -o players.html; tactus judge -- vlc --play-and-exit {};
/// tactus judge --player tactus,mpv --load compute:2,disk --reserve 6ms/20ms;
/// tactus judge --clip clip.mov --duration 10min; tactus judge --calibrate room.wav
#[derive(Args)]
pub(crate) struct JudgeArguments {
    /// Players, separated by commas: tactus, mpv, ffplay, gstreamer [default: those that are installed]
    #[arg(long, value_name = "PLAYER", value_delimiter = ',')]
    player: Vec<PlayerName>,
    /// Frames a second of the clip, from 10 to 120; several clips for several rates, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "30",
        value_parser = whole(10..=120_u16))]
    rate: Vec<u16>,
    /// Size of the clip and of the screen, from 224x128 to 1920x1080
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1280x720")]
    size: Size,
    /// Duration of the clip in whole seconds, from 3s to 15min
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = positive)]
    duration: Nanos,
    /// Also play beside these loads of `tactus measure`, separated by commas: e.g. compute:2,disk [default: none]
    #[arg(long, value_name = "LOAD", value_delimiter = ',')]
    load: Vec<Load>,
    /// Also play by tactus with a reserve, for the thread that shows the frames and for the X server, e.g. 6ms/20ms [default: none]
    #[arg(long, value_name = "CAPACITY")]
    reserve: Option<Capacity>,
    /// Number of times that each player plays each clip beside each load
    #[arg(short, long, value_name = "N", default_value = "3", value_parser = whole(1..=1000_u16))]
    rounds: u16,
    /// Seed that determines the order of the turns [default: a new one]
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Frames of a cycle of the sound server, at 48 kHz
    #[arg(long, value_name = "N", default_value = "1024", value_parser = whole(32..=8192_u32))]
    quantum: u32,
    /// Time between two looks of the photodiode, from 50us to 5ms
    #[arg(long, value_name = "DURATION", default_value = "250us", value_parser = look)]
    look: Nanos,
    /// Plant an error: shift the sound of the clip, e.g. -40ms for early sound; several clips for several shifts, separated by commas
    #[arg(
        long,
        value_name = "DURATION",
        value_delimiter = ',',
        default_value = "0ms",
        allow_hyphen_values = true
    )]
    shift: Vec<SignedNanos>,
    /// Also write an HTML page
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only write the clip (QuickTime, H.264 and PCM), and judge nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["player", "load", "reserve", "calibrate", "output", "json", "command"])]
    clip: Option<PathBuf>,
    /// Judge a wave file instead: microphone in the first channel, photodiode in the second
    #[arg(long, value_name = "FILE", conflicts_with_all = ["player", "load", "reserve", "command"])]
    calibrate: Option<PathBuf>,
    /// Print one JSON object; durations are in nanoseconds
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
    /// Another player, after `--`: {} stands for the clip; without {}, the clip is the last argument [default: none]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn look(text: &str) -> Result<Nanos, String> {
    let look: Nanos = positive(text)?;
    match (Nanos::from_micros(50)..=Nanos::from_millis(5)).contains(&look) {
        true => Ok(look),
        false => Err(format!("`{text}` is not from 50us to 5ms")),
    }
}

/// The answer, for `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    rows: &'a [Row],
    #[serde(flatten)]
    judgement: &'a Judgement,
}

pub(crate) fn run(arguments: &JudgeArguments) -> CommandResult {
    if let Some(path) = &arguments.calibrate {
        return calibrate(path, arguments);
    }
    arguments.output.as_deref().map_or(Ok(()), files::check)?;
    let clips = arguments.clips()?;
    let is_over = Arc::<AtomicBool>::default();
    let over = Arc::clone(&is_over);
    let quietness = arguments.quietness;
    signals::on_interrupt(move |_| {
        over.store(true, Ordering::Relaxed);
        quietness.note(format_args!("the present turn is not judged"));
    })?;
    let progress = Progress::new(arguments.quietness);
    if let Some(path) = &arguments.clip {
        let [clip] = clips[..] else {
            return Err(CommandError::usage("--clip writes one clip: name one rate and one shift"));
        };
        judge::write_clip(&clip, path, &is_over, &mut |frames, of| progress.made(frames, of))?;
        progress.end();
        quietness.note(format_args!("wrote {}", path.display()));
        return Ok(());
    }
    let wanted = Wanted {
        players: arguments.players(),
        clips,
        loads: arguments.load.clone(),
        reserve: arguments.reserve,
        rounds: arguments.rounds,
        seed: arguments.seed,
        quantum: arguments.quantum,
        look: arguments.look,
    };
    let prepared = judge::prepare(wanted, &is_over, &mut |frames, of| progress.made(frames, of))?;
    progress.begin(&prepared.plan);
    let judgement = prepared.judge(&is_over, &mut |plan, event| progress.show(plan, &event))?;
    progress.end();
    conclude(&judgement, arguments, is_over.load(Ordering::Relaxed))
}

impl JudgeArguments {
    fn clips(&self) -> CommandResult<Vec<Clip>> {
        let Size { width, height } = self.size;
        // Too large a size is refused with the clip.
        let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
        let (width, height) = (side(width), side(height));
        let seconds = self.duration.div_floor(Nanos::from_secs(1));
        if self.duration != Nanos::from_secs(seconds) {
            let duration = self.duration;
            return Err(CommandError::usage(format!("`{duration}` is not a number of seconds")));
        }
        // Too long a duration is refused with the clip.
        let seconds = u16::try_from(seconds).unwrap_or(u16::MAX);
        let clips = self.rate.iter().flat_map(|rate| {
            let clip =
                |shift: &SignedNanos| Clip { width, height, rate: *rate, seconds, shift: *shift };
            self.shift.iter().map(clip)
        });
        Ok(once_each(clips))
    }

    fn players(&self) -> Vec<Player> {
        let known = once_each(self.player.iter().copied()).into_iter().map(Player::Known);
        let command = (!self.command.is_empty()).then(|| Player::Command(self.command.clone()));
        known.chain(command).collect()
    }
}

/// The values without repetitions.
fn once_each<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Prints a judgement, and writes its page.
fn conclude(
    judgement: &Judgement,
    arguments: &JudgeArguments,
    was_interrupted: bool,
) -> CommandResult {
    if let Some(path) = &arguments.output {
        files::write(path, synchrony_page(judgement)?)?;
    }
    for_any_reader(print(judgement, arguments))?;
    let is_empty = |playback: &&Playback| {
        playback.findings.offset.is_none() && playback.findings.frames.is_none()
    };
    let failed = judgement.failed.len() + judgement.playbacks.iter().filter(is_empty).count();
    if was_interrupted {
        let error =
            format!("{} finished", format::counted(judgement.playbacks.len() as u64, "turn"));
        Err(Error::new(ErrorKind::Interrupted, error).into())
    } else if failed > 0 {
        let error = format!("{} gave no result", format::counted(failed as u64, "turn"));
        Err(Error::new(ErrorKind::NoResult, error).into())
    } else {
        Ok(())
    }
}

fn print(judgement: &Judgement, arguments: &JudgeArguments) -> CommandResult {
    if arguments.json {
        return Ok(write_line(&Answer { rows: &judgement.rows(), judgement })?);
    }
    write!(stdout(), "{}", synchrony_text(judgement, &table_options()))?;
    print_page(arguments)
}

fn print_page(arguments: &JudgeArguments) -> CommandResult {
    match &arguments.output {
        Some(path) => Ok(writeln!(stdout(), "\nPage: {}", path.display())?),
        None => Ok(()),
    }
}

/// Judges a recording of a room.
fn calibrate(path: &Path, arguments: &JudgeArguments) -> CommandResult {
    let findings = judge::room(path)?;
    if let Some(output) = &arguments.output {
        files::write(output, room_page(&findings)?)?;
    }
    if arguments.json {
        return Ok(write_line(&findings)?);
    }
    write!(stdout(), "{}", room_text(&findings, &table_options()))?;
    print_page(arguments)
}

/// Shows how far it is: a bar on a terminal, else a line for each turn.
struct Progress {
    bar: ProgressBar,
    quietness: Quietness,
}

/// How long a turn takes besides its clip: servers and players start and end.
const AROUND: Nanos = Nanos::from_secs(3);

impl Progress {
    fn new(quietness: Quietness) -> Self {
        let style = ProgressStyle::with_template("{bar:24} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, quietness.target()).with_style(style);
        Self { bar, quietness }
    }

    /// So many frames of the clips are made.
    fn made(&self, frames: u32, of: u32) {
        self.bar.set_length(of.into());
        self.bar.set_position(frames.into());
        self.bar.set_message("making clips");
    }

    fn begin(&self, plan: &Plan) {
        self.bar.reset();
        let turns = plan.turns();
        self.bar.set_length(turns.len() as u64);
        let left = format::span(remaining(plan, 0));
        let (turns, seed) = (format::counted(turns.len() as u64, "turn"), plan.seed);
        self.line(&format!("{turns}, about {left}; seed {seed}"));
    }

    fn show(&self, plan: &Plan, event: &Event<'_>) {
        match event {
            Event::Started { turn, done, of } => {
                let left = format::span(remaining(plan, *done));
                self.bar.set_position(*done as u64);
                let label = plan.label(*turn);
                self.bar.set_message(format!("{}/{of}  {label}  {left} left", done + 1));
            }
            Event::Finished(playback) => {
                self.line(&format!("  {}: {}", plan.label(playback.turn), outcome(playback)));
            }
            Event::Failed(failed) => {
                self.bar
                    .suspend(|| say!("  {} failed: {}", plan.label(failed.turn), failed.reason));
            }
        }
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| self.quietness.note(format_args!("{text}")));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// How long the turns after the first `done` take.
fn remaining(plan: &Plan, done: usize) -> Nanos {
    let left = plan.turns().into_iter().skip(done);
    left.map(|turn| plan.clips[turn.clip].duration() + AROUND).sum()
}

fn outcome(playback: &Playback) -> String {
    let Findings { offset, frames, .. } = &playback.findings;
    let offset = match offset {
        Some(offset) => format!("sound − picture {}", offset.median),
        None => "no pairs of flash and tone".to_owned(),
    };
    let frames = frames
        .as_ref()
        .map(|frames| format!(", {} of {} frames dropped", frames.dropped, frames.intended));
    let notes: String = playback.notes.iter().map(|note| format!("; {note}")).collect();
    offset + &frames.unwrap_or_default() + &notes
}
