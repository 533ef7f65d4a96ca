//! The streams of a file, as ffprobe reports them.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tactus_model::time::Nanos;
use tactus_playback::MediaTime;
use tactus_sys::regular_file;

use crate::error::ClipError;
use crate::process::{self, Output};

/// The most pixels of a side.
pub const SIDE_MOST: u32 = 8192;
/// The most bytes of what ffprobe reports; a stream takes about 2 KB.
const REPORT_BYTES_MOST: usize = 1 << 20;
/// What ffprobe says of an MP4 or MOV without its index, which most writers put at the end.
const NO_INDEX: &str = "] moov atom not found";
/// The frame rate of a stream that has none.
const PERIOD_USUAL: Nanos = Nanos::from_millis(40);

/// A clip.
#[derive(Clone, Debug, PartialEq)]
pub struct Clip {
    /// The file.
    pub path: PathBuf,
    /// What messages and windows name: the file, or the mail that it is from.
    pub name: PathBuf,
    /// When it begins by the time stamps of the file: media time 0.
    pub begins: MediaTime,
    /// Its duration; `None` if the file does not say.
    pub duration: Option<Nanos>,
    /// The first picture stream that is not a cover.
    pub picture: Option<Picture>,
    /// The first sound stream.
    pub sound: Option<Sound>,
    /// The exact times of frames by the time stamps of the file, in their order, if they are known
    /// from elsewhere: containers round them, WebM to a millisecond. Empty otherwise.
    pub stamps: Vec<MediaTime>,
}

/// A picture stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Its number in the file.
    pub index: u32,
    /// The name of its codec.
    pub codec: String,
    /// Its pixel format.
    pub pixel_format: String,
    /// The width to show it with: pixels that are not square and rotation are considered.
    pub width: u32,
    /// The height to show it with.
    pub height: u32,
    /// How long a frame is shown; of a variable rate, on average.
    pub period: Nanos,
    /// When it begins.
    pub begins: MediaTime,
}

/// A sound stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sound {
    /// Its number in the file.
    pub index: u32,
    /// The name of its codec.
    pub codec: String,
    /// Frames a second.
    pub rate: u32,
    /// Its channels.
    pub channels: u32,
    /// When it begins.
    pub begins: MediaTime,
}

/// Reads what a file contains.
///
/// # Errors
/// It cannot be read, is no clip, or has a stream without a decoder.
pub fn probe(path: &Path) -> Result<Clip, ClipError> {
    // ffprobe would say less about why, and would wait for the writer of a pipe.
    let open = |error| ClipError::Open { path: path.to_owned(), error };
    let file = regular_file::open(path).map_err(open)?;
    if file.metadata().map_err(open)?.is_dir() {
        return Err(open(std::io::ErrorKind::IsADirectory.into()));
    }
    let mut command = process::inspect(path);
    command.args(["-print_format", "json", "-show_format", "-show_streams"]);
    let Output { bytes, errors, is_success } = process::output(command, REPORT_BYTES_MOST)?;
    let not_a_clip = |reason: &str| {
        // The message begins with the name of the file.
        let reason = reason.rsplit_once(": ").map_or(reason, |(_, reason)| reason).trim();
        ClipError::NotAClip { path: path.to_owned(), reason: reason.to_owned() }
    };
    if let Some(format) = refused_format(&errors) {
        let path = path.to_owned();
        return Err(match is_image(&format) {
            true => ClipError::Image { path, format },
            false => ClipError::Format { path, format },
        });
    }
    if errors.contains(NO_INDEX) {
        return Err(ClipError::NoIndex(path.to_owned()));
    }
    if !is_success {
        return Err(not_a_clip(errors.lines().last().unwrap_or("ffprobe does not know why")));
    }
    understand(path, &String::from_utf8_lossy(&bytes))
}

/// The format that ffprobe has recognised and may not read: `[hls @ 0x55] Format not on whitelist '…'`.
fn refused_format(errors: &str) -> Option<String> {
    let (before, _) = errors.split_once("] Format not on whitelist")?;
    let (_, name) = before.rsplit_once('[')?;
    Some(name.split_whitespace().next()?.to_owned())
}

/// Whether a format of ffmpeg is that of still images: `image2`, `png_pipe`.
fn is_image(format: &str) -> bool {
    format == "image2" || format.ends_with("_pipe")
}

/// Reads the report of ffprobe (`-print_format json -show_format -show_streams`) about a file.
///
/// # Errors
/// The report has another form, or a stream has no decoder.
pub fn understand(path: &Path, report: &str) -> Result<Clip, ClipError> {
    let not_a_clip = |error: serde_json::Error| ClipError::NotAClip {
        path: path.to_owned(),
        reason: format!("ffprobe: {error}"),
    };
    serde_json::from_str::<Report>(report).map_err(not_a_clip)?.clip(path)
}

/// The report of ffprobe, of which we need a small part.
#[derive(Debug, Deserialize)]
struct Report {
    #[serde(default)]
    streams: Vec<Stream>,
    #[serde(default)]
    format: Format,
}

#[derive(Debug, Default, Deserialize)]
struct Format {
    start_time: Option<String>,
    duration: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stream {
    index: u32,
    codec_type: String,
    codec_name: Option<String>,
    codec_tag_string: String,
    width: u32,
    height: u32,
    pix_fmt: Option<String>,
    sample_aspect_ratio: Option<String>,
    avg_frame_rate: Option<String>,
    r_frame_rate: Option<String>,
    start_time: Option<String>,
    sample_rate: Option<String>,
    channels: u32,
    disposition: Disposition,
    side_data_list: Vec<SideData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Disposition {
    attached_pic: u8,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SideData {
    rotation: Option<f64>,
}

impl Report {
    fn clip(&self, path: &Path) -> Result<Clip, ClipError> {
        let begins = time(&self.format.start_time).unwrap_or(MediaTime::ZERO);
        let of_kind = |kind: &str| {
            let is_wanted = |stream: &&Stream| {
                stream.codec_type == kind && stream.disposition.attached_pic == 0
            };
            self.streams.iter().find(is_wanted)
        };
        let picture = of_kind("video").map(|stream| stream.picture(path, begins)).transpose()?;
        let sound = of_kind("audio").map(|stream| stream.sound(path, begins)).transpose()?;
        if picture.is_none() && sound.is_none() {
            return Err(ClipError::Empty(path.to_owned()));
        }
        let duration = time(&self.format.duration).map(|duration| duration.since(MediaTime::ZERO));
        let [path, name] = [path.to_owned(), path.to_owned()];
        Ok(Clip { path, name, begins, duration, picture, sound, stamps: Vec::new() })
    }
}

impl Stream {
    fn picture(&self, path: &Path, begins: MediaTime) -> Result<Picture, ClipError> {
        let codec = self.codec(path, "picture")?;
        let (width, height) = self.shown_size();
        if width > SIDE_MOST || height > SIDE_MOST {
            return Err(ClipError::Large { path: path.to_owned(), width, height });
        }
        if width == 0 || height == 0 {
            return Err(self.no_codec(path, "picture"));
        }
        // A rate beyond this is a mistake of the file, or the unit of its time stamps.
        let believed = |rate: &f64| (0.01..1000.0).contains(rate);
        let rate = ratio(&self.avg_frame_rate).filter(believed);
        let rate = rate.or_else(|| ratio(&self.r_frame_rate).filter(believed));
        let period = rate.map_or(PERIOD_USUAL, |rate| Nanos::from_nanos((1e9 / rate) as u64));
        Ok(Picture {
            index: self.index,
            codec,
            pixel_format: self.pix_fmt.clone().unwrap_or_default(),
            width,
            height,
            period,
            begins: self.begins(begins),
        })
    }

    fn sound(&self, path: &Path, begins: MediaTime) -> Result<Sound, ClipError> {
        let codec = self.codec(path, "sound")?;
        let rate = self.sample_rate.as_deref().and_then(|rate| rate.parse().ok()).unwrap_or(0);
        if rate == 0 || self.channels == 0 {
            return Err(self.no_codec(path, "sound"));
        }
        let (index, channels, begins) = (self.index, self.channels, self.begins(begins));
        Ok(Sound { index, codec, rate, channels, begins })
    }

    /// When it begins, relative to the file.
    fn begins(&self, file: MediaTime) -> MediaTime {
        let begins = time(&self.start_time).unwrap_or(file);
        MediaTime::from_nanos(begins.as_nanos().saturating_sub(file.as_nanos()))
    }

    fn codec(&self, path: &Path, kind: &'static str) -> Result<String, ClipError> {
        let known = self.codec_name.clone().filter(|name| name != "none" && name != "unknown");
        known.ok_or_else(|| self.no_codec(path, kind))
    }

    fn no_codec(&self, path: &Path, kind: &'static str) -> ClipError {
        let name = self.codec_name.clone().unwrap_or_else(|| self.codec_tag_string.clone());
        let codec = if name.is_empty() { "unknown".to_owned() } else { name };
        ClipError::NoCodec { path: path.to_owned(), kind, index: self.index, codec }
    }

    /// The size with square pixels, after rotation.
    fn shown_size(&self) -> (u32, u32) {
        let aspect = self.sample_aspect_ratio.as_deref().and_then(|text| ratio_by(text, ':'));
        let aspect = aspect.filter(|aspect| (0.1..=10.0).contains(aspect)).unwrap_or(1.0);
        let width = (f64::from(self.width) * aspect).round() as u32;
        let rotation = self.side_data_list.iter().find_map(|data| data.rotation).unwrap_or(0.0);
        let is_turned = (rotation.rem_euclid(180.0) - 90.0).abs() < 45.0;
        if is_turned { (self.height, width) } else { (width, self.height) }
    }
}

/// A time in seconds. Times beyond a year are mistakes of the file.
fn time(text: &Option<String>) -> Option<MediaTime> {
    const YEAR: f64 = 366.0 * 24.0 * 3600.0;
    let seconds: f64 = text.as_deref()?.parse().ok()?;
    (seconds.abs() <= YEAR).then(|| MediaTime::from_secs_f64(seconds))
}

fn ratio(text: &Option<String>) -> Option<f64> {
    ratio_by(text.as_deref()?, '/')
}

fn ratio_by(text: &str, sign: char) -> Option<f64> {
    let (above, below) = text.split_once(sign)?;
    let (above, below): (f64, f64) = (above.parse().ok()?, below.parse().ok()?);
    (above > 0.0 && below > 0.0).then_some(above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(report: &str) -> Result<Clip, String> {
        understand(Path::new("x.mkv"), report).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_picture_and_sound_are_read_with_their_start_times() {
        let clip = clip(
            r#"{"streams": [
                {"index": 0, "codec_type": "video", "codec_name": "png", "width": 9, "height": 9,
                 "disposition": {"attached_pic": 1}},
                {"index": 1, "codec_type": "video", "codec_name": "h264", "width": 720,
                 "height": 576, "pix_fmt": "yuv420p", "sample_aspect_ratio": "16:15",
                 "avg_frame_rate": "30000/1001", "start_time": "1.480000",
                 "side_data_list": [{"rotation": -90}]},
                {"index": 2, "codec_type": "audio", "codec_name": "aac", "sample_rate": "44100",
                 "channels": 2, "start_time": "1.400000"}],
               "format": {"start_time": "1.400000", "duration": "60.5"}}"#,
        );
        let clip = clip.unwrap();
        let picture = clip.picture.unwrap();
        assert_eq!((picture.index, picture.width, picture.height), (1, 576, 768));
        assert_eq!(picture.begins, MediaTime::from_secs_f64(0.08));
        assert_eq!(picture.period, Nanos::from_nanos(33_366_666));
        assert_eq!(clip.begins, MediaTime::from_secs_f64(1.4));
        assert_eq!(clip.duration, Some(Nanos::from_millis(60_500)));
        let sound = clip.sound.unwrap();
        assert_eq!((sound.rate, sound.channels, sound.begins), (44_100, 2, MediaTime::ZERO));
    }

    #[test]
    fn a_format_that_names_other_files_is_recognised() {
        let errors =
            "[hls @ 0x55] Format not on whitelist 'wav,flac'; file:a.m3u8: Invalid argument";
        assert_eq!(refused_format(errors).as_deref(), Some("hls"));
        assert_eq!(refused_format("a.mkv: Invalid data"), None);
        assert_eq!(
            ["hls", "concat", "png_pipe", "image2"].map(is_image),
            [false, false, true, true]
        );
    }

    #[test]
    fn what_cannot_be_played_is_an_error() {
        let said = |report: &str| clip(report).unwrap_err();
        assert_eq!(said("{}"), "x.mkv has neither picture nor sound");
        let none =
            r#"{"streams": [{"index": 3, "codec_type": "audio", "codec_tag_string": "abcd"}]}"#;
        assert!(said(none).contains("no decoder for the sound (stream 3, codec abcd)"));
        let large = r#"{"streams": [{"codec_type": "video", "codec_name": "x", "width": 99999,
            "height": 9}]}"#;
        assert!(said(large).contains("99999x9"));
        // Numbers that no clip has are not believed.
        let wild = r#"{"streams": [{"codec_type": "video", "codec_name": "x", "width": 9,
            "height": 9, "avg_frame_rate": "1/0", "start_time": "1e300"}],
            "format": {"start_time": "nan", "duration": "-5"}}"#;
        let clip = clip(wild).unwrap();
        assert_eq!((clip.begins, clip.duration), (MediaTime::ZERO, Some(Nanos::ZERO)));
        assert_eq!(clip.picture.unwrap().period, PERIOD_USUAL);
    }
}
