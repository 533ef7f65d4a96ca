//! Reading memory at full speed, and copying it past the caches.

use crate::error::{Errno, SysError};

/// The alignment of the destination of [`streaming`].
pub const ALIGNMENT: usize = 16;

/// Copies `source` to `destination` by stores that bypass the caches: `MOVNTDQ` of SSE2.
///
/// Bytes beyond the last whole 16 are copied by ordinary stores.
///
/// # Errors
/// `EINVAL`: the lengths differ, or the destination is not aligned to [`ALIGNMENT`]. `ENOSYS`: not
/// implemented for this architecture.
#[doc(alias = "MOVNTDQ")]
pub fn streaming(destination: &mut [u8], source: &[u8]) -> Result<(), SysError> {
    let aligned = destination.as_ptr().addr().is_multiple_of(ALIGNMENT);
    if destination.len() != source.len() || !aligned {
        return Err(SysError::new("memcpy", Errno::INVAL));
    }
    streamed(destination, source)
}

#[cfg(target_arch = "x86_64")]
fn streamed(destination: &mut [u8], source: &[u8]) -> Result<(), SysError> {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    let whole = destination.len() / ALIGNMENT * ALIGNMENT;
    for at in (0..whole).step_by(ALIGNMENT) {
        // SAFETY: both slices have 16 bytes from `at`; the caller has checked that the destination
        // is aligned, and the load needs no alignment. SSE2 is part of x86-64.
        unsafe {
            let word = _mm_loadu_si128(source.as_ptr().add(at).cast::<__m128i>());
            _mm_stream_si128(destination.as_mut_ptr().add(at).cast::<__m128i>(), word);
        }
    }
    // Such stores are weakly ordered; what follows must find them done.
    // SAFETY: SSE is part of x86-64.
    unsafe { _mm_sfence() };
    destination[whole..].copy_from_slice(&source[whole..]);
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn streamed(_destination: &mut [u8], _source: &[u8]) -> Result<(), SysError> {
    Err(SysError::new("memcpy", Errno::NOSYS))
}

/// The words that a step of [`read`] adds: enough for as many independent sums as hide the latency of
/// an addition, whatever the width of a vector.
const WORDS: usize = 32;

/// Reads every byte once, in vectors (of AVX2 where an x86-64 CPU has it), and returns a sum that
/// depends on each of them.
// Inline, so that debug builds of the measured loops, which are optimised, contain it.
#[inline]
pub fn read(bytes: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has AVX2.
            return unsafe { read_avx2(bytes) };
        }
    }
    sum(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn read_avx2(bytes: &[u8]) -> u64 {
    sum(bytes)
}

/// The loop, which the compiler turns into vectors of the caller's width.
#[inline(always)]
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let (steps, few) = words.as_chunks::<WORDS>();
    let mut sums = [0_u64; WORDS];
    for step in steps {
        for (sum, word) in sums.iter_mut().zip(step) {
            *sum = sum.wrapping_add(u64::from_ne_bytes(*word));
        }
    }
    let words = few.iter().map(|word| u64::from_ne_bytes(*word));
    let bytes = rest.iter().map(|byte| u64::from(*byte));
    sums.into_iter().chain(words).chain(bytes).fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Mapping;

    #[test]
    fn every_byte_is_read() {
        let bytes: Vec<u8> = (0..3001_u32).map(|place| (place * 37 % 251) as u8).collect();
        for (first, last) in [(0, 0), (0, 7), (1, 9), (3, 515), (0, 512), (5, 3001)] {
            let bytes = &bytes[first..last];
            let (words, rest) = bytes.as_chunks::<8>();
            let words = words.iter().map(|word| u64::from_ne_bytes(*word));
            let expected = words.chain(rest.iter().map(|byte| u64::from(*byte)));
            let expected = expected.fold(0, u64::wrapping_add);
            assert_eq!((read(bytes), sum(bytes)), (expected, expected), "{first}..{last}");
        }
    }

    #[test]
    fn every_byte_is_copied() {
        let source: Vec<u8> = (0..=255).cycle().take(1003).collect();
        let mut mapping = Mapping::new(1003).unwrap();
        match streaming(mapping.bytes(), &source) {
            Ok(()) => assert_eq!(mapping.bytes(), source),
            Err(error) => assert_eq!(error.errno, Errno::NOSYS),
        }
        assert!(streaming(&mut mapping.bytes()[1..], &source[1..]).is_err());
    }
}
