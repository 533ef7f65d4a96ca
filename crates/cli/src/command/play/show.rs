//! What a person or a program sees of a player.

use std::io::Write as _;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tactus_delivery::item::Moment;
use tactus_explain::jobs::{JobExplanation, LateJob};
use tactus_model::format;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_playback::{MediaTime, Speed, Summary};
use tactus_player::event::{Granted, SoundCounts};
use tactus_player::{Event, FrameReceipt, Preparation, Progress, SoundInfo, Spec, WindowInfo};

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::terminal::{say, shortfall_text, stdout};

/// A line of JSON.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Line<'a> {
    Opened(&'a WindowInfo),
    Prepared(&'a Preparation),
    Started {
        at: Moment,
        media: MediaTime,
        speed: Speed,
        sound: Option<&'a SoundInfo>,
    },
    Paused {
        media: MediaTime,
    },
    Frame(&'a FrameReceipt),
    Note(String),
    Shortfall(&'a Shortfall),
    Ended {
        clips: &'a [Summary],
        sound: Option<SoundCounts>,
        decoder_cpu: Nanos,
    },
    /// A frame that was late, as a job.
    Late(&'a LateJob),
    /// The frames of a clip, as jobs of the thread that shows them.
    Explained(&'a JobExplanation),
    /// The files of the explanation, and how many events were lost.
    Explanation {
        recording: Option<&'a Path>,
        page: Option<&'a Path>,
        lost: u64,
    },
}

/// Shows events.
pub(super) struct Show {
    bar: ProgressBar,
    quietness: Quietness,
    json: bool,
    /// The names of the clips.
    names: Vec<String>,
    windows: Vec<WindowInfo>,
    sound: Option<SoundInfo>,
    /// The first write that failed.
    written: std::io::Result<()>,
    ended: Option<(Vec<Summary>, Option<SoundCounts>)>,
}

impl Show {
    pub(super) fn new(spec: &Spec, json: bool, quietness: Quietness) -> Self {
        let style = ProgressStyle::with_template("{bar:24} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, quietness.target()).with_style(style);
        let names = spec.tracks.iter().map(|track| track.clip.name.display().to_string()).collect();
        let (windows, sound, ended) = (Vec::new(), None, None);
        Self { bar, quietness, json, names, windows, sound, written: Ok(()), ended }
    }

    /// The bar that shows progress.
    pub(super) fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Progress(progress) => self.progress(&progress),
            Event::Note(note) => {
                let text = note.to_string();
                self.bar.suspend(|| say!("note: {text}"));
                self.line(&Line::Note(text));
            }
            Event::Shortfall(shortfall) => {
                self.bar.suspend(|| say!("{}", shortfall_text(&shortfall).trim_end()));
                self.line(&Line::Shortfall(&shortfall));
            }
            Event::Opened(info) => {
                self.line(&Line::Opened(&info));
                self.windows.push(info);
            }
            Event::Prepared(preparation) => {
                self.line(&Line::Prepared(&preparation));
                if let Some(granted) = preparation.reserve {
                    let Granted { capacity, rung } = granted;
                    let clip = preparation.clip + 1;
                    self.quietness.note(format_args!(
                        "clip {clip} has a reserve of {capacity} by rung {rung}"
                    ));
                }
            }
            Event::Started { at, media, speed, sound } => {
                self.line(&Line::Started { at, media, speed, sound: sound.as_ref() });
                self.sound = sound;
            }
            Event::Paused { media } => self.line(&Line::Paused { media }),
            Event::Frame(receipt) => self.line(&Line::Frame(&receipt)),
            Event::Ended { summaries, sound, decoder_cpu } => {
                self.bar.finish_and_clear();
                self.line(&Line::Ended { clips: &summaries, sound, decoder_cpu });
                self.ended = Some((summaries, sound));
            }
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        if self.json && self.written.is_ok() {
            self.written = write_line(line);
        }
    }

    fn progress(&self, progress: &Progress) {
        if let Some(duration) = progress.duration {
            self.bar.set_length(duration.as_nanos() / 1_000_000);
            let position = progress.media.since(MediaTime::ZERO);
            self.bar.set_position(position.min(duration).as_nanos() / 1_000_000);
        }
        self.bar.set_message(progress_text(progress));
    }

    /// Prints what became of the clips.
    pub(super) fn finish(self) -> CommandResult {
        self.written?;
        let Some((summaries, counts)) = self.ended.filter(|_| !self.json) else { return Ok(()) };
        let mut out = stdout();
        for (clip, summary) in summaries.iter().enumerate() {
            if let Some(window) = self.windows.iter().find(|window| window.clip == clip) {
                writeln!(out, "{}", clip_text(&self.names[clip], window, summary))?;
            }
        }
        if let Some((sound, counts)) = self.sound.zip(counts) {
            writeln!(out, "{}", sound_text(&sound, &counts))?;
        }
        Ok(())
    }
}

/// The line of progress.
fn progress_text(progress: &Progress) -> String {
    let Progress { media, duration, left, is_paused, speed, slip_ns, frames } = progress;
    let mut text = time(media.since(MediaTime::ZERO));
    if let Some(duration) = duration {
        text.push_str(&format!(" / {}", time(*duration)));
    }
    if let Some(left) = left {
        text.push_str(&format!(", {} left", format::span(*left)));
    }
    if *is_paused {
        text.push_str(", paused");
    }
    if *speed != Speed::ONE {
        text.push_str(&format!(", speed {speed}"));
    }
    let late = format::latency_or_nothing(frames.late_p99_ns);
    let dropped = format::count(frames.dropped);
    text + &format!("; slip {}, {dropped} dropped, late p99 {late}", millis(*slip_ns))
}

fn clip_text(name: &str, window: &WindowInfo, summary: &Summary) -> String {
    let WindowInfo { display, width, height, depth, transport, why, .. } = window;
    let way = transport.word();
    let why = why.as_ref().map(|why| format!(", {why}")).unwrap_or_default();
    let late = |late| format::latency_or_nothing(late);
    let if_any = |count, text: String| if count == 0 { String::new() } else { text };
    let missing = if_any(summary.missing, format!("{} missing, ", format::count(summary.missing)));
    let early = format!(
        "{} early by at most {}, ",
        format::count(summary.early),
        format::latency(summary.early_max_ns)
    );
    format!(
        "{name} on {display} ({width}x{height}, depth {depth}, {way}{why}): {}, {} dropped, {missing}{} \
         repeated; {}late p50 {}, p99 {}, max {}; slip {}",
        format::counted(summary.shown, "frame"),
        format::count(summary.dropped),
        format::count(summary.repeated),
        if_any(summary.early, early),
        late(summary.late_p50_ns),
        late(summary.late_p99_ns),
        late(summary.late_max_ns),
        millis(summary.slip_ns),
    )
}

fn sound_text(sound: &SoundInfo, counts: &SoundCounts) -> String {
    let SoundInfo { client, rate, cycle, .. } = sound;
    let (xruns, jumps) =
        (format::counted(counts.xruns, "xrun"), format::counted(counts.jumps, "jump"));
    let missing = match counts.missing {
        0 => String::new(),
        missing => format!(", {} missing", format::count(missing)),
    };
    format!(
        "sound by {client} ({rate} Hz, cycles of {cycle} samples): {} played, {} cut{missing}; {xruns}, {jumps}",
        format::counted(counts.played, "sample"),
        format::count(counts.cut),
    )
}

/// A signed time in milliseconds.
fn millis(nanos: i64) -> String {
    // Adding zero makes a rounded -0.0 positive.
    format!("{:+.1} ms", (nanos as f64 / 1e5).round() / 10.0 + 0.0)
}

/// A time in a clip: `1:02:03`, `2:03`.
fn time(length: Nanos) -> String {
    let seconds = length.as_nanos() / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_how_it_goes() {
        let frames = Summary {
            dropped: 3,
            late_p99_ns: Some(Nanos::from_micros(812)),
            ..Summary::default()
        };
        let mut progress = Progress {
            media: MediaTime::from_secs_f64(12.4),
            duration: Some(Nanos::from_secs(3630)),
            left: Some(Nanos::from_secs(17)),
            is_paused: false,
            speed: Speed::ONE,
            slip_ns: -40_000,
            frames,
        };
        let text = progress_text(&progress).replace('\u{2009}', " ");
        assert_eq!(
            text,
            "0:12 / 1:00:30, 17\u{202f}s left; slip +0.0 ms, 3 dropped, late p99 812\u{202f}µs"
        );
        (progress.left, progress.is_paused) = (None, true);
        progress.speed = "1.5".parse().unwrap();
        assert!(progress_text(&progress).contains(", paused, speed 1.5; "));
    }
}
