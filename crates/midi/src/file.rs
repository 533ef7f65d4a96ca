//! Files of timed messages: standard MIDI files, and text.

use std::str;

use midly::{Format, Fps, MetaMessage, Smf, Timing, TrackEventKind};
use tactus_model::time::{Instant, Nanos};

use crate::message::{Message, SYSTEM_EXCLUSIVE};
use crate::parser::{Parsed, Parser};
use crate::text::NotAMessage;

/// The most bytes of a file.
pub const FILE_BYTES_MAX: usize = 16 << 20;

/// The most messages, and changes of tempo, of a file: a day of ten a second.
pub const MESSAGES_MAX: usize = 1 << 20;

/// A message, and when it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// How long after the beginning.
    pub at: Nanos,
    /// The message.
    pub message: Message,
}

/// The messages of a file, in the order of their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedMessages {
    /// The messages.
    pub messages: Vec<Timed>,
    /// Pieces of bytes in the file that are no messages, and are left out.
    pub left_out: usize,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NotAFile {
    /// It is too long.
    #[error("the file has more than {FILE_BYTES_MAX} bytes, which is the limit")]
    TooLong(usize),
    /// It has too many messages.
    #[error("the file has more than {MESSAGES_MAX} messages, which is the limit")]
    TooMany,
    /// It says that it is a standard MIDI file, and is damaged.
    #[error("the standard MIDI file is damaged: {0}")]
    Damaged(#[from] midly::Error),
    /// Its tracks are songs of their own.
    #[error(
        "the tracks of a standard MIDI file of format 2 are songs of their own; save it as format 0 or 1"
    )]
    Songs,
    /// Its frame rate is none of those that are defined.
    #[error("the standard MIDI file has 128 frames a second; 24, 25, 29 and 30 are defined")]
    FrameRate,
    /// Its header gives no duration of a tick.
    #[error("the standard MIDI file has 0 ticks in a beat")]
    NoTicks,
    /// It is neither a standard MIDI file nor text.
    #[error("the file is neither a standard MIDI file nor text")]
    NotText,
    /// A line of a text has no time.
    #[error(
        "line {line}: `{text}` is not a time; write a duration from the beginning, e.g. 1.5s note-on 1 60 100"
    )]
    Time {
        /// The number of the line.
        line: usize,
        /// Its first word.
        text: String,
    },
    /// A line of a text has no message.
    #[error("line {line}: {reason}")]
    Message {
        /// The number of the line.
        line: usize,
        /// What is wrong.
        reason: NotAMessage,
    },
}

/// Reads a standard MIDI file, or a text with a time and a [message](crate::text) on each line.
/// What follows a `#` is a comment.
///
/// # Errors
/// Says what is wrong, and where.
pub fn read(bytes: &[u8]) -> Result<TimedMessages, NotAFile> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(NotAFile::TooLong(bytes.len()));
    }
    if bytes.starts_with(b"MThd") {
        // midly negates the rate, and i8::MIN has no opposite.
        if bytes.get(12) == Some(&0x80) {
            return Err(NotAFile::FrameRate);
        }
        return standard(&Smf::parse(bytes)?);
    }
    text(str::from_utf8(bytes).map_err(|_| NotAFile::NotText)?)
}

fn text(text: &str) -> Result<TimedMessages, NotAFile> {
    let mut messages = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let (time, message) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let wrong_time = |_| NotAFile::Time { line, text: time.chars().take(60).collect() };
        let at = time.parse().map_err(wrong_time)?;
        let wrong = |reason| NotAFile::Message { line, reason };
        messages.push(Timed { at, message: message.parse().map_err(wrong)? });
        check_count(messages.len())?;
    }
    messages.sort_by_key(|timed| timed.at);
    Ok(TimedMessages { messages, left_out: 0 })
}

/// The messages of all tracks, with the tempo of all.
fn standard(file: &Smf<'_>) -> Result<TimedMessages, NotAFile> {
    if file.header.format == Format::Sequential && file.tracks.len() > 1 {
        return Err(NotAFile::Songs);
    }
    let mut left_out = 0;
    let mut events: Vec<(u64, Event)> = Vec::new();
    for track in &file.tracks {
        let (mut tick, mut parser) = (0, Parser::default());
        for event in track {
            tick += u64::from(event.delta.as_int());
            check_count(events.len())?;
            let mut keep = |parsed| match parsed {
                Parsed::Message { message, .. } if events.len() <= MESSAGES_MAX => {
                    events.push((tick, Event::Message(message)));
                }
                Parsed::Message { .. } => {}
                Parsed::Problem { .. } => left_out += 1,
            };
            match &event.kind {
                TrackEventKind::Meta(MetaMessage::Tempo(tempo)) => {
                    events.push((tick, Event::Tempo(tempo.as_int())));
                }
                TrackEventKind::Meta(_) => {}
                TrackEventKind::Midi { .. } => {
                    let mut bytes = Vec::with_capacity(3);
                    if let Some(event) = event.kind.as_live_event()
                        && event.write_std(&mut bytes).is_ok()
                    {
                        feed(&mut parser, &bytes, &mut keep);
                    }
                }
                // A message may be in several parts; the first has lost its status byte.
                TrackEventKind::SysEx(data) => {
                    feed(&mut parser, &[SYSTEM_EXCLUSIVE], &mut keep);
                    feed(&mut parser, data, &mut keep);
                }
                TrackEventKind::Escape(data) => feed(&mut parser, data, &mut keep),
            }
        }
        parser.finish(|_| left_out += 1);
    }
    check_count(events.len())?;
    // The order within a tick is that of the tracks, and tempo comes first.
    events.sort_by_key(|(tick, event)| (*tick, !matches!(event, Event::Tempo(_))));
    let mut clock = TickClock::new(file.header.timing)?;
    let mut messages = Vec::new();
    for (tick, event) in events {
        match event {
            Event::Tempo(micros) => clock.set_tempo(tick, micros),
            Event::Message(message) => messages.push(Timed { at: clock.at(tick), message }),
        }
    }
    Ok(TimedMessages { messages, left_out })
}

fn check_count(messages: usize) -> Result<(), NotAFile> {
    if messages <= MESSAGES_MAX { Ok(()) } else { Err(NotAFile::TooMany) }
}

enum Event {
    Message(Message),
    /// Microseconds of a quarter note.
    Tempo(u32),
}

fn feed(parser: &mut Parser, bytes: &[u8], mut keep: impl FnMut(Parsed)) {
    bytes.iter().for_each(|byte| parser.push(*byte, Instant::from_nanos(0), &mut keep));
}

/// The time of ticks. It keeps numerators, so nothing is rounded before the end.
struct TickClock {
    /// Ticks of a quarter note, or of a second; more than 0.
    ticks: u128,
    /// Nanoseconds of these ticks.
    span: u128,
    /// Whether the tempo changes it.
    is_metrical: bool,
    /// The tick of the last change, and the nanoseconds until then, times `ticks`.
    last: (u64, u128),
}

impl TickClock {
    /// Until a file sets the tempo, a quarter note has half a second.
    const SPAN: u128 = 500_000_000;

    fn new(timing: Timing) -> Result<Self, NotAFile> {
        let (ticks, span, is_metrical) = match timing {
            Timing::Metrical(ticks) => (ticks.as_int().into(), Self::SPAN, true),
            // 29.97 frames a second are 30 000 in 1001 seconds.
            Timing::Timecode(Fps::Fps29, parts) => {
                (30_000 * u128::from(parts), 1_001_000_000_000, false)
            }
            Timing::Timecode(fps, parts) => {
                (u128::from(fps.as_int()) * u128::from(parts), 1_000_000_000, false)
            }
        };
        if ticks == 0 {
            return Err(NotAFile::NoTicks);
        }
        Ok(Self { ticks, span, is_metrical, last: (0, 0) })
    }

    fn numerator(&self, tick: u64) -> u128 {
        self.last.1 + u128::from(tick - self.last.0) * self.span
    }

    fn set_tempo(&mut self, tick: u64, micros: u32) {
        if self.is_metrical {
            self.last = (tick, self.numerator(tick));
            self.span = u128::from(micros) * 1000;
        }
    }

    fn at(&self, tick: u64) -> Nanos {
        let nanos = self.numerator(tick) / self.ticks;
        Nanos::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<String> {
        let found = read(bytes).unwrap().messages;
        found.iter().map(|timed| format!("{} {}", timed.at, timed.message)).collect()
    }

    /// A standard MIDI file of these tracks.
    fn standard(format: u8, timing: [u8; 2], tracks: &[&[u8]]) -> Vec<u8> {
        let mut bytes = b"MThd\0\0\0\x06\0".to_vec();
        bytes.extend([format, 0, tracks.len() as u8, timing[0], timing[1]]);
        for track in tracks {
            bytes.extend(b"MTrk\0\0\0");
            bytes.push(track.len() as u8 + 4);
            bytes.extend(*track);
            bytes.extend([0, 0xFF, 0x2F, 0]);
        }
        bytes
    }

    #[test]
    fn a_file_of_a_million_messages_in_few_bytes_is_refused() {
        let mut file = b"MThd\0\0\0\x06\0\0\0\x01\0\x60MTrk".to_vec();
        // One escape of clock bytes: a variable length of four bytes.
        let (count, mut track) = (MESSAGES_MAX + 1, vec![0, 0xF7]);
        track.extend([21, 14, 7].map(|shift| 0x80 | (count >> shift) as u8 & 0x7F));
        track.push((count & 0x7F) as u8);
        track.resize(track.len() + count, 0xF8);
        file.extend((track.len() as u32).to_be_bytes());
        file.extend(track);
        assert!(matches!(read(&file), Err(NotAFile::TooMany)));
    }

    #[test]
    fn text_has_a_time_and_a_message_on_each_line() {
        let text =
            "# a chord\n\n1s note-off 1 60 0  # its end\n0ms note-on 1 60 100\n0.5s  90 40 64\n";
        let wanted = ["0ns note-on 1 60 100", "500ms note-on 1 64 100", "1s note-off 1 60 0"];
        assert_eq!(texts(text.as_bytes()), wanted);
    }

    #[test]
    fn a_frame_rate_that_cannot_be_negated_is_refused() {
        let refused = read(&standard(1, [0x80, 40], &[])).unwrap_err();
        assert!(matches!(refused, NotAFile::FrameRate), "{refused}");
    }

    #[test]
    fn errors_name_the_line() {
        let said = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert!(said("\nsoon clock").starts_with("line 2: `soon` is not a time"));
        assert!(said("1s clocks").contains("did you mean `clock`?"));
        assert!(said("1s").starts_with("line 1: unknown message"));
        assert!(matches!(read(&[0xFF, 0xFE]), Err(NotAFile::NotText)));
        assert!(matches!(read(b"MThd\0\0"), Err(NotAFile::Damaged(_))));
        assert!(matches!(read(&standard(1, [0, 0], &[])), Err(NotAFile::NoTicks)));
        assert!(matches!(read(&standard(2, [0, 96], &[&[], &[]])), Err(NotAFile::Songs)));
    }

    #[test]
    fn tempo_changes_of_one_track_hold_for_all() {
        let tempo = [0, 0xFF, 0x51, 3, 0x0F, 0x42, 0x40, 3, 0xFF, 0x51, 3, 0, 0, 3];
        let notes = [1, 0x90, 60, 100, 2, 60, 0, 1, 0x90, 61, 1];
        // 1 s a beat of 3 ticks, then 3 µs from tick 3 on.
        let found = texts(&standard(1, [0, 3], &[&tempo, &notes]));
        let wanted =
            ["333333.333us note-on 1 60 100", "1s note-on 1 60 0", "1000.001ms note-on 1 61 1"];
        assert_eq!(found, wanted);
    }

    #[test]
    fn time_code_needs_no_tempo() {
        // 25 frames a second, 40 ticks a frame: a millisecond a tick.
        let tempo_is_ignored = [0, 0xFF, 0x51, 3, 0, 0, 3];
        let found =
            texts(&standard(0, [0xE7, 40], &[&[&tempo_is_ignored[..], &[9, 0xC0, 5]].concat()]));
        assert_eq!(found, ["9ms program 1 5"]);
    }

    #[test]
    fn exclusive_messages_may_come_in_parts_and_the_rest_is_counted() {
        let whole = [0, 0xF0, 3, 1, 2, 0xF7];
        let parts = [0, 0xF0, 2, 1, 2, 0, 0xF7, 2, 3, 0xF7];
        let escaped = [0, 0xF7, 1, 0xF8];
        let torn = [0, 0xF0, 1, 9];
        let track = [&whole[..], &parts, &escaped, &torn].concat();
        let found = read(&standard(0, [0, 96], &[&track])).unwrap();
        let texts: Vec<String> =
            found.messages.iter().map(|timed| timed.message.to_string()).collect();
        assert_eq!(texts, ["exclusive 01 02", "exclusive 01 02 03", "clock"]);
        assert_eq!(found.left_out, 1);
    }
}
