//! Recordings of rooms, and the screens of X servers.

use tactus_synchrony::clip::SAMPLE_RATE;
use tactus_synchrony::{Clip, SignedNanos, wave};
use tactus_xserver::framebuffer::{HEADER, Header};

/// Three seconds of a clip at a sixth of its rate: the least with enough marks is longer, but small
/// inputs are mutated more thoroughly.
pub(crate) fn wave_seeds() -> Vec<Vec<u8>> {
    const EVERY: u32 = 6;
    let clip = Clip { width: 320, height: 180, rate: 25, seconds: 5, shift: SignedNanos::ZERO };
    let rate = SAMPLE_RATE / EVERY;
    let samples = (0..clip.samples()).step_by(EVERY as usize).flat_map(|position| {
        let number = position / (SAMPLE_RATE / u32::from(clip.rate));
        let light = if clip.is_bright(number as u16) { 100_u8 } else { 20 };
        [(128.0 + clip.sample(position) * 100.0) as u8, light + 100]
    });
    let samples: Vec<u8> = samples.collect();
    let length = samples.len() as u32;
    let head = [
        b"RIFF".to_vec(),
        (36 + length).to_le_bytes().to_vec(),
        b"WAVEfmt \x10\0\0\0\x01\0\x02\0".to_vec(),
        rate.to_le_bytes().to_vec(),
        (rate * 2).to_le_bytes().to_vec(),
        b"\x02\0\x08\0data".to_vec(),
        length.to_le_bytes().to_vec(),
    ];
    vec![[head.concat(), samples].concat()]
}

/// A recording is as long as its file permits, and has at most as many pairs as flashes.
pub(crate) fn wave(bytes: &[u8]) {
    let Ok(recording) = wave::read(bytes) else { return };
    assert!(recording.microphone.len() + recording.photodiode.len() <= bytes.len());
    if let Ok(findings) = recording.findings() {
        assert!(findings.offset.is_none_or(|offset| offset.count == findings.pairs.len()));
    }
}

/// The header of the screen of an Xvfb with 640 times 360 pixels, and the length of its file.
pub(crate) fn screen_seeds() -> Vec<Vec<u8>> {
    let mut numbers = [0_u32; HEADER / 4];
    numbers[..13].copy_from_slice(&[160, 7, 2, 24, 640, 360, 0, 0, 32, 0, 32, 32, 2560]);
    numbers[14..18].copy_from_slice(&[0xff_0000, 0xff00, 0xff, 8]);
    numbers[18..21].copy_from_slice(&[256, 256, 640]);
    let length = 160 + 256 * 12 + 2560 * 360_u64;
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    bytes.extend(length.to_le_bytes());
    vec![bytes]
}

/// The pixels of a screen are within its file.
pub(crate) fn screen(bytes: &[u8]) {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return };
    let length = rest.first_chunk::<8>().map_or(0, |length| u64::from_le_bytes(*length));
    if let Ok(header) = Header::parse(header, length) {
        let pixels = u64::from(header.width) * u64::from(header.height);
        assert!(pixels > 0 && pixels * 3 <= length);
    }
}
