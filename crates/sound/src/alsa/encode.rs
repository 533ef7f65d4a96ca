//! Samples in the form of a device.

use tactus_sys::pcm::Format;

/// Writes a sample of −1 to 1 at the beginning of a place for it. Louder ones are clipped, and what
/// is not a number is silence.
pub(super) fn encode(sample: f32, format: Format, place: &mut [u8]) {
    match format {
        Format::F32 => put(place, (if sample.is_nan() { 0.0 } else { sample }).to_le_bytes()),
        // Conversions to whole numbers saturate.
        Format::S16 => put(place, ((sample * f32::from(i16::MAX)).round() as i16).to_le_bytes()),
        Format::S32 => {
            put(place, ((f64::from(sample) * f64::from(i32::MAX)).round() as i32).to_le_bytes());
        }
    }
}

fn put<const N: usize>(place: &mut [u8], bytes: [u8; N]) {
    if let Some(place) = place.first_chunk_mut() {
        *place = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_scaled_and_clipped() {
        let encoded = |sample, format: Format| {
            let mut bytes = vec![0xaa; format.bytes()];
            encode(sample, format, &mut bytes);
            bytes
        };
        let s16 = |sample| i16::from_le_bytes(encoded(sample, Format::S16).try_into().unwrap());
        let s32 = |sample| i32::from_le_bytes(encoded(sample, Format::S32).try_into().unwrap());
        assert_eq!([s16(0.0), s16(1.0), s16(-1.0), s16(0.5)], [0, i16::MAX, -i16::MAX, 16384]);
        assert_eq!([s16(7.0), s16(-7.0), s16(f32::NAN)], [i16::MAX, i16::MIN, 0]);
        assert_eq!([s32(1.0), s32(-7.0), s32(f32::NAN)], [i32::MAX, i32::MIN, 0]);
        assert_eq!(encoded(0.25, Format::F32), 0.25_f32.to_le_bytes());
        assert_eq!(encoded(f32::NAN, Format::F32), [0; 4]);
    }
}
