//! `tactus mail record`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tactus_app::{Error, ErrorKind};
use tactus_clip::FfmpegError;
use tactus_mail::pictures::{PictureError, SIDES, Size};
use tactus_mail::record::{LENGTH_MAX, RecordError, SourceError};
use tactus_mail::sound::NoSound;
use tactus_mail::timing::beside;
use tactus_mail::{PictureSource, Plan, Progress, Recorded, Recorder, SoundSource, Timing};
use tactus_model::format;
use tactus_model::frames::Rate;
use tactus_model::pixels::NotASize;
use tactus_model::time::Nanos;
use tactus_sound::SoundError;

use super::size_text;
use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::signals;
use crate::terminal::stdout;
use crate::values::positive;

/// Record a clip, with a stamp for each picture and each block of sound.
///
/// Ctrl-C ends the clip, and so does a source that ends, such as a display that closes. The stamps
/// are in CLIP.timing.json. A recorder that is killed leaves CLIP.part, which can be sent and played
/// too.
///
/// The stamp of a picture from the screen is in the middle of its copy; the pointer is not in the
/// picture. The stamp of a picture from a camera is that of its driver, and the clip begins when the
/// camera does.
///
/// Example: tactus mail record hello.webm --picture synthetic --sound synthetic --duration 10s
#[derive(Args)]
pub(super) struct RecordArguments {
    /// File to write: WebM with VP8 and Opus
    #[arg(value_name = "CLIP")]
    clip: PathBuf,
    /// Source of pictures: screen, camera:DEVICE, synthetic (a test pattern that flashes each second), or none
    #[arg(long, value_name = "SOURCE", default_value = "screen")]
    picture: PictureSource,
    /// X display of the source `screen` [default: that of DISPLAY]
    #[arg(long, value_name = "DISPLAY")]
    display: Option<String>,
    /// Size of pictures in pixels; the source `screen` has its own
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "640x480", value_parser = size)]
    size: Size,
    /// Pictures a second, from 1 to 120
    #[arg(long, value_name = "RATE", default_value = "25", value_parser = rate)]
    rate: Rate,
    /// Source of sound: microphone, microphone:CLIENT (a client of the sound server), synthetic (a tone each second), or none
    #[arg(long, value_name = "SOURCE", default_value = "microphone")]
    sound: SoundSource,
    /// How long to record, at most 1h [default: until Ctrl-C]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    duration: Option<Nanos>,
    /// Print the summary as JSON; durations are in nanoseconds
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
}

fn size(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error: NotASize| error.to_string())?;
    let (least, most) = (SIDES.start(), SIDES.end());
    match size.is_within(&SIDES) {
        true => Ok(size),
        false => Err(format!("`{text}`: each side must have {least} to {most} pixels")),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    let rate: Option<Rate> = text.parse().ok();
    rate.filter(|rate| (1.0..=120.0).contains(&rate.as_f64()))
        .ok_or_else(|| format!("`{text}` is not a rate from 1 to 120 pictures a second"))
}

pub(super) fn run(arguments: &RecordArguments) -> CommandResult {
    let RecordArguments { clip, duration, quietness, .. } = arguments;
    if duration.is_some_and(|duration| duration > LENGTH_MAX) {
        return Err(CommandError::usage("a clip has at most 1h"));
    }
    if let Some(webm) = named_otherwise(clip) {
        let [clip, webm] = [clip.display(), webm.display()];
        return Err(CommandError::usage(format!("{clip}: a clip is WebM; name it {webm}")));
    }
    let plan = Plan {
        picture: arguments.picture.clone(),
        display: arguments.display.clone(),
        size: arguments.size,
        rate: arguments.rate,
        sound: arguments.sound.clone(),
        duration: *duration,
    };
    let (stop, is_open) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (stopped, has_opened) = (Arc::clone(&stop), Arc::clone(&is_open));
    signals::on_interrupt(move |request| {
        // A display or a sound server that is stopped takes long to open, and there is no file yet.
        if !has_opened.load(Ordering::SeqCst) {
            std::process::exit(signals::code_of(request.signal).into());
        }
        stopped.store(true, Ordering::Relaxed);
    })?;
    let recorder = Recorder::open(&plan).map_err(failed)?;
    is_open.store(true, Ordering::SeqCst);
    let bar = bar(*quietness, *duration);
    let recorded = recorder.record(clip, &stop, &mut |progress| show(&bar, *duration, progress));
    bar.finish_and_clear();
    let Recorded { timing, ended } = recorded.map_err(failed)?;
    let summary = Summary::of(clip.clone(), &timing);
    match arguments.json {
        true => write_line(&summary)?,
        false => writeln!(stdout(), "{}", summary.text())?,
    }
    match ended {
        None => Ok(()),
        Some(error) => Err(Error::new(ErrorKind::NoResult, error).into()),
    }
}

/// The right name of a clip whose name is that of another format.
fn named_otherwise(clip: &Path) -> Option<PathBuf> {
    const OTHERS: [&str; 17] = [
        "mp4", "m4v", "mov", "avi", "mpg", "mpeg", "ts", "ogg", "ogv", "flv", "wmv", "gif", "wav",
        "mp3", "m4a", "opus", "eml",
    ];
    let ending = clip.extension()?.to_str()?.to_ascii_lowercase();
    OTHERS.contains(&ending.as_str()).then(|| clip.with_extension("webm"))
}

fn failed(error: RecordError) -> CommandError {
    let kind = match &error {
        RecordError::Nothing => ErrorKind::Usage,
        RecordError::Empty | RecordError::Lost(_) | RecordError::Cut { .. } => ErrorKind::NoResult,
        RecordError::Source(_) | RecordError::Encoder(_) | RecordError::Write { .. } => {
            ErrorKind::Unavailable
        }
    };
    let hint = match &error {
        RecordError::Nothing => Some("use --picture or --sound"),
        RecordError::Encoder(FfmpegError::NotInstalled) => Some("apt-get install ffmpeg"),
        RecordError::Source(SourceError::Picture(PictureError::Display { .. })) => {
            Some("set DISPLAY, or use --display or --picture synthetic")
        }
        RecordError::Source(SourceError::Sound(NoSound::Capture(SoundError::Peer(_)))) => {
            Some("use --sound none, or microphone:NAME (a client, such as the monitor of a sink)")
        }
        RecordError::Source(SourceError::Sound(_)) => {
            Some("start PipeWire or JACK, or use --sound none")
        }
        _ => None,
    };
    Error::new(kind, error).with_hint_if_any(hint.map(str::to_owned)).into()
}

/// How often the bar is drawn at most.
const DRAWS: u8 = 4;

fn bar(quietness: Quietness, duration: Option<Nanos>) -> ProgressBar {
    let target = match quietness.is_quiet() {
        true => quietness.target(),
        false => indicatif::ProgressDrawTarget::stderr_with_hz(DRAWS),
    };
    let template = if duration.is_some() { "{bar:24} {msg}" } else { "{msg}" };
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let length = duration.map(|duration| Duration::from(duration).as_millis() as u64);
    ProgressBar::with_draw_target(length, target).with_style(style)
}

fn show(bar: &ProgressBar, duration: Option<Nanos>, progress: &Progress) {
    let Progress { elapsed, pictures, missing, bytes, is_over } = progress;
    bar.set_position(Duration::from(*elapsed).as_millis() as u64);
    let left = match duration {
        _ if *is_over => "the encoder completes the clip".to_owned(),
        Some(duration) => format!("{} left", format::span(duration.saturating_sub(*elapsed))),
        None => "Ctrl-C ends it".to_owned(),
    };
    bar.set_message(format!(
        "{}, {} ({} missing), {}; {left}",
        format::span(*elapsed),
        format::counted(*pictures, "picture"),
        format::count(missing.0),
        size_text(*bytes),
    ));
}

/// What was recorded.
#[derive(Serialize)]
struct Summary {
    clip: PathBuf,
    stamps: PathBuf,
    bytes: u64,
    length: Nanos,
    pictures: Option<Pictures>,
    sound: Option<Sound>,
}

#[derive(Serialize)]
struct Pictures {
    source: String,
    width: u32,
    height: u32,
    count: u64,
    missing: u64,
    /// Each was taken within this time of its stamp.
    within: Nanos,
}

#[derive(Serialize)]
struct Sound {
    source: String,
    rate: u32,
    samples: u64,
    missing: u64,
}

impl Summary {
    fn of(clip: PathBuf, timing: &Timing) -> Self {
        let pictures = timing.picture.as_ref().map(|picture| Pictures {
            source: picture.source.clone(),
            width: picture.width,
            height: picture.height,
            count: picture.stamps.len() as u64,
            missing: picture.missing,
            within: picture.within,
        });
        let sound = timing.sound.as_ref().map(|sound| Sound {
            source: sound.source.clone(),
            rate: sound.rate,
            samples: sound.blocks.iter().map(|block| u64::from(block.1)).sum(),
            missing: sound.missing,
        });
        let bytes = timing.video.as_ref().map_or(0, |video| video.bytes);
        Self { stamps: beside(&clip), clip, bytes, length: timing.length(), pictures, sound }
    }

    fn text(&self) -> String {
        let clip = self.clip.display();
        let mut text = format!("{clip}: {}", format::span(self.length));
        if let Some(Pictures { source, width, height, count, missing, within }) = &self.pictures {
            text.push_str(&format!(
                ", {} of {source} at {width}x{height} ({} missing)",
                format::counted(*count, "picture"),
                format::count(*missing),
            ));
            if *within > Nanos::ZERO {
                let within = format::latency(*within);
                text.push_str(&format!(", each within {within} of its stamp"));
            }
        }
        if let Some(Sound { source, rate, samples, missing }) = &self.sound {
            text.push_str(&format!(
                ", sound of {source}: {} at {rate} Hz ({} missing)",
                format::counted(*samples, "sample"),
                format::count(*missing),
            ));
        }
        text + &format!(", {}", size_text(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_has_no_name_of_another_format() {
        let right = |name| named_otherwise(Path::new(name));
        assert_eq!(right("a.MP4"), Some(PathBuf::from("a.webm")));
        assert_eq!(["a.webm", "a.mkv", "a", "mp4"].map(right), [None, None, None, None]);
    }
}
