//! Raw pictures and samples with their stamps, as the encoder reads them: the few elements of
//! Matroska ([RFC 9559](https://www.rfc-editor.org/rfc/rfc9559)) that this takes.
//!
//! Formats for raw pictures have a fixed rate and no stamps. Matroska has a stamp for each block,
//! here in microseconds, and needs no index, so that it can go through a pipe.

use std::io::{self, Write};

use tactus_model::time::Nanos;

/// The pixels of pictures: blue, green, red and a byte without meaning.
pub(crate) const PIXEL: usize = 4;
/// The identifier of a cluster, as a file has it: its blocks are the content of a clip.
pub(crate) const CLUSTER: [u8; 4] = id::CLUSTER.to_be_bytes();
/// A format of four bytes, as ffmpeg calls it: `BGR` and a zero.
const PIXELS: &[u8; 4] = b"BGR\0";

/// What a track contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Track {
    /// Pictures of this width and height.
    Picture(u32, u32),
    /// Samples at this rate, 32-bit floating point, in channels that alternate.
    Sound(u32, u16),
}

/// Element IDs of RFC 9559, section 5.
mod id {
    pub(super) const EBML: u32 = 0x1A45_DFA3;
    pub(super) const DOC_TYPE: u32 = 0x4282;
    pub(super) const SEGMENT: u32 = 0x1853_8067;
    pub(super) const INFO: u32 = 0x1549_A966;
    pub(super) const TIMESTAMP_SCALE: u32 = 0x2A_D7B1;
    pub(super) const MUXING_APP: u32 = 0x4D80;
    pub(super) const WRITING_APP: u32 = 0x5741;
    pub(super) const TRACKS: u32 = 0x1654_AE6B;
    pub(super) const TRACK_ENTRY: u32 = 0xAE;
    pub(super) const TRACK_NUMBER: u32 = 0xD7;
    pub(super) const TRACK_UID: u32 = 0x73C5;
    pub(super) const TRACK_TYPE: u32 = 0x83;
    pub(super) const CODEC_ID: u32 = 0x86;
    pub(super) const VIDEO: u32 = 0xE0;
    pub(super) const PIXEL_WIDTH: u32 = 0xB0;
    pub(super) const PIXEL_HEIGHT: u32 = 0xBA;
    pub(super) const COLOUR_SPACE: u32 = 0x2E_B524;
    pub(super) const AUDIO: u32 = 0xE1;
    pub(super) const SAMPLING_FREQUENCY: u32 = 0xB5;
    pub(super) const CHANNELS: u32 = 0x9F;
    pub(super) const BIT_DEPTH: u32 = 0x6264;
    pub(super) const CLUSTER: u32 = 0x1F43_B675;
    pub(super) const TIMESTAMP: u32 = 0xE7;
    pub(super) const SIMPLE_BLOCK: u32 = 0xA3;
}

/// A size of eight bytes that is not known: the segment ends with the pipe.
const UNKNOWN: [u8; 8] = [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
/// A block that can be decoded alone.
const KEY: u8 = 0x80;

/// Writes the beginning. Tracks are numbered from 1, in this order.
pub(crate) fn write_header(out: &mut impl Write, tracks: &[Track]) -> io::Result<()> {
    let mut header = element(id::EBML, &element(id::DOC_TYPE, b"matroska"));
    header.extend(bytes_of(id::SEGMENT));
    header.extend(UNKNOWN);
    let info = [
        number(id::TIMESTAMP_SCALE, 1000),
        element(id::MUXING_APP, b"tactus"),
        element(id::WRITING_APP, b"tactus"),
    ];
    header.extend(element(id::INFO, &info.concat()));
    let entries = (1..).zip(tracks).map(|(number, track)| entry(number, *track));
    header.extend(element(id::TRACKS, &entries.collect::<Vec<_>>().concat()));
    out.write_all(&header)
}

/// Writes a picture or a block of samples of track `track`, counted from 1.
pub(crate) fn write_block(
    out: &mut impl Write,
    track: u8,
    at: Nanos,
    content: &[u8],
) -> io::Result<()> {
    let timestamp = number(id::TIMESTAMP, micros(at));
    // The track as a number of one byte, no time after that of the cluster, and the flags.
    let head = [0x80 | track, 0, 0, KEY];
    let size = head.len() + content.len();
    let mut cluster = bytes_of(id::CLUSTER);
    let block = [bytes_of(id::SIMPLE_BLOCK), size_of_content(size)].concat();
    cluster.extend(size_of_content(timestamp.len() + block.len() + size));
    out.write_all(&[cluster, timestamp, block].concat())?;
    out.write_all(&head)?;
    out.write_all(content)
}

/// A stamp in the unit of the file, rounded to the nearest.
pub(crate) const fn micros(at: Nanos) -> u64 {
    at.as_nanos().saturating_add(500) / 1000
}

fn entry(track: u64, content: Track) -> Vec<u8> {
    let (kind, codec, details): (u64, &[u8], Vec<u8>) = match content {
        Track::Picture(width, height) => {
            let size =
                [number(id::PIXEL_WIDTH, width.into()), number(id::PIXEL_HEIGHT, height.into())];
            let video = [size.concat(), element(id::COLOUR_SPACE, PIXELS)].concat();
            (1, b"V_UNCOMPRESSED", element(id::VIDEO, &video))
        }
        Track::Sound(rate, channels) => {
            let audio = [
                element(id::SAMPLING_FREQUENCY, &f64::from(rate).to_be_bytes()),
                number(id::CHANNELS, channels.into()),
                number(id::BIT_DEPTH, 32),
            ];
            (2, b"A_PCM/FLOAT/IEEE", element(id::AUDIO, &audio.concat()))
        }
    };
    let entry = [
        number(id::TRACK_NUMBER, track),
        number(id::TRACK_UID, track),
        number(id::TRACK_TYPE, kind),
        element(id::CODEC_ID, codec),
        details,
    ];
    element(id::TRACK_ENTRY, &entry.concat())
}

fn number(id: u32, value: u64) -> Vec<u8> {
    element(id, &value.to_be_bytes())
}

fn element(id: u32, content: &[u8]) -> Vec<u8> {
    [bytes_of(id), size_of_content(content.len()), content.to_vec()].concat()
}

/// An ID contains its own length.
fn bytes_of(id: u32) -> Vec<u8> {
    let bytes = id.to_be_bytes();
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

/// A size in eight bytes: `01` and seven bytes of it. Nothing here is as long as 2⁵⁶ bytes.
fn size_of_content(size: usize) -> Vec<u8> {
    (1 << 56 | size as u64).to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_their_id_their_size_and_their_content() {
        assert_eq!(element(id::DOC_TYPE, b"x"), [0x42, 0x82, 1, 0, 0, 0, 0, 0, 0, 1, b'x']);
        assert_eq!(number(id::CHANNELS, 2)[9..], [0, 0, 0, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn a_block_fills_its_cluster_exactly() {
        let mut out = Vec::new();
        write_block(&mut out, 1, Nanos::from_nanos(40_000_500), &[7; 5]).unwrap();
        let size = u64::from_be_bytes(out[4..12].try_into().unwrap()) & ((1 << 56) - 1);
        assert_eq!(size as usize, out.len() - 12);
        assert_eq!(out[out.len() - 9..], [0x81, 0, 0, KEY, 7, 7, 7, 7, 7]);
        let stamp = u64::from_be_bytes(out[21..29].try_into().unwrap());
        assert_eq!(stamp, 40_001);
    }
}
